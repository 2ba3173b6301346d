// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"bytes"
	"errors"
	"io"
)

// Source is an immutable object to read from. ReadAt may be called from
// several goroutines at once.
type Source interface {
	io.ReaderAt
	// Size is the length of the object in bytes.
	Size() int64
}

// Mapped is a [Source] that is whole in memory, such as a memory mapped file.
type Mapped interface {
	Source
	// Bytes returns the object, Size bytes long. The bytes must not change and
	// stay valid until the owner closes the source, which must be after the
	// last batch read from it was released.
	Bytes() []byte
}

// Joining is a [Source] that says how reads of it are joined.
type Joining interface {
	Source
	// JoinGap is how many bytes apart two ranges may lie to be read in one piece:
	// what the source reads in the time of one more request. Default: 64 KiB,
	// which suits stores behind a network; a local file wants much less.
	JoinGap() uint64
}

// Bytes returns a mapped source over b.
func Bytes(b []byte) Mapped { return byteSource{bytes.NewReader(b), b} }

type byteSource struct {
	*bytes.Reader
	b []byte
}

func (s byteSource) Bytes() []byte { return s.b }
func (s byteSource) Size() int64   { return int64(len(s.b)) }

// input gives checked access to the ranges of a source.
type input struct {
	src  Source
	size uint64
	mem  []byte // the whole object when the source is mapped
	gap  uint64 // see Joining
}

func newInput(src Source) (*input, error) {
	size := src.Size()
	if size < 0 {
		return nil, invalid("the source has size %d", size)
	}
	in := &input{src: src, size: uint64(size), gap: aheadGap}
	if j, ok := src.(Joining); ok {
		in.gap = j.JoinGap()
	}
	if m, ok := src.(Mapped); ok {
		in.mem = m.Bytes()
		if uint64(len(in.mem)) != in.size {
			return nil, invalid("the source maps %d of %d bytes", len(in.mem), in.size)
		}
	}
	return in, nil
}

// bytes returns length bytes at off: a view of a mapped source, else a copy on
// the Go heap.
func (in *input) bytes(off, length uint64) ([]byte, error) {
	if in.mem != nil && off <= in.size && length <= in.size-off {
		return in.mem[off : off+length : off+length], nil
	}
	var b []byte
	err := in.read(off, length, func() []byte { b = make([]byte, length); return b })
	return b, err
}

// read reads length bytes at off into the memory room makes, which it asks for
// only when the range lies inside the source.
func (in *input) read(off, length uint64, room func() []byte) error {
	if off > in.size || length > in.size-off {
		return corrupt("range of %d bytes at %d is outside the %d bytes of the file", length, off, in.size)
	}
	if length == 0 {
		return nil
	}
	b := room()
	n, err := in.src.ReadAt(b, int64(off))
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}
