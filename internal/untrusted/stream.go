// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package untrusted

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
)

// continuation is the marker that messages begin with since Arrow 0.15; before,
// they began with the length.
const continuation = 0xffffffff

// NewReader decodes an Arrow IPC stream in the size bytes that r yields, one
// message in memory at a time. Every message is checked before it is decoded;
// the arrays are not: see [Check]. What is wrong with the stream is
// lake.Invalid, here or in the reader's Err.
func NewReader(r io.Reader, size int64, opts ...ipc.Option) (*ipc.Reader, error) {
	return ipc.NewReaderFromMessageReader(&stream{r: r, left: size}, opts...)
}

// DecodeSchema decodes the schema of an Arrow IPC stream, as Flight carries
// schemas. What follows the schema is not looked at. Bytes that are no such
// stream are lake.Invalid.
func DecodeSchema(wire []byte) (*arrow.Schema, error) {
	r, err := NewReader(bytes.NewReader(wire), int64(len(wire)))
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "not an Arrow IPC stream with a schema: %w", err)
	}
	defer r.Release()
	return r.Schema(), nil
}

// stream implements ipc.MessageReader. Its messages' memory is the garbage
// collector's.
type stream struct {
	r    io.Reader
	left int64
	err  error

	inspector Inspector
}

// Retain does nothing.
func (s *stream) Retain() {}

// Release does nothing.
func (s *stream) Release() {}

// Message implements ipc.MessageReader. After an error it stays there.
func (s *stream) Message() (*ipc.Message, error) {
	if s.err != nil {
		return nil, s.err
	}
	var m *ipc.Message
	m, s.err = s.message()
	return m, s.err
}

func (s *stream) message() (*ipc.Message, error) {
	size, err := s.length()
	if err != nil {
		return nil, err
	}
	if size < 0 || size > maxHeader || size > s.left {
		return nil, lake.Errorf(lake.Invalid, "a message claims metadata of %d bytes where %d are left", size, s.left)
	}
	header, err := s.take(size)
	if err != nil {
		return nil, err
	}
	info, err := s.inspector.Inspect(header)
	if err == nil {
		err = checkMessage(info, s.left)
	}
	if err != nil {
		return nil, err
	}
	body, err := s.take(info.Body)
	if err == nil {
		err = checkCompressed(header, info, bytes.NewReader(body))
	}
	if err != nil {
		return nil, err
	}
	return ipc.NewMessage(memory.NewBufferBytes(header), memory.NewBufferBytes(body)), nil
}

// length reads what comes before a message's metadata; io.EOF at the end of
// the stream, which may be marked or not.
func (s *stream) length() (int64, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	size, err := s.word()
	if err == nil && size == continuation {
		size, err = s.word()
	}
	if err == nil && size == 0 {
		err = io.EOF
	}
	return int64(size), err
}

func (s *stream) word() (uint32, error) {
	b, err := s.take(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (s *stream) take(n int64) ([]byte, error) {
	if n > s.left {
		return nil, lake.Errorf(lake.Invalid, "cut off: %d bytes more are needed and %d are left", n, s.left)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(s.r, b); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, lake.Errorf(lake.Invalid, "cut off in %d bytes", n)
	} else if err != nil {
		return nil, err
	}
	s.left -= n
	return b, nil
}
