// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// packBlock is the number of values packed together.
//
// The layout is that of FastLanes: a block of 1024 values of T bits is a matrix
// of 1024/T lanes and T rows. The rows of a lane are packed one behind the
// other into words of T bits, and word k of all lanes lies side by side, so
// that one step handles a word of every lane. Row r of lane l is value
// rowStart(r) + l.
const packBlock = 1024

var laneOrder = [8]int{0, 4, 2, 6, 1, 5, 3, 7}

func rowStart(row int) int { return laneOrder[row/8]*16 + row%8*128 }

type word interface {
	uint8 | uint16 | uint32 | uint64
}

func wordBits[T word]() int { return int(unsafe.Sizeof(T(0))) * 8 }

// packedBytes is the size of a packed block.
func packedBytes(width int) int { return packBlock / 8 * width }

// unpack reads a block of values of width bits; width must be at most the bits
// of T and in must have packedBytes(width) bytes.
func unpack[T word](width int, in []T, out *[packBlock]T) {
	t := wordBits[T]()
	lanes := packBlock / t
	switch {
	case width == 0:
		clear(out[:])
		return
	case width == t:
		for row := range t {
			copy(out[rowStart(row):][:lanes], in[row*lanes:][:lanes])
		}
		return
	}
	mask := T(1)<<width - 1
	for row := range t {
		at, shift := row*width/t, row*width%t
		dst := out[rowStart(row):][:lanes]
		src := in[at*lanes:][:lanes]
		if shift+width <= t {
			for i, v := range src {
				dst[i] = v >> shift & mask
			}
			continue
		}
		next := in[(at+1)*lanes:][:lanes]
		for i, v := range src {
			dst[i] = (v>>shift | next[i]<<(t-shift)) & mask
		}
	}
}

// pack is the inverse of unpack; out must be zeroed.
func pack[T word](width int, in *[packBlock]T, out []T) {
	t := wordBits[T]()
	lanes := packBlock / t
	for row := range t {
		at, shift := row*width/t, row*width%t
		src := in[rowStart(row):][:lanes]
		if width == 0 {
			return
		}
		dst := out[at*lanes:][:lanes]
		for i, v := range src {
			dst[i] |= v << shift
		}
		if shift+width > t {
			next := out[(at+1)*lanes:][:lanes]
			for i, v := range src {
				next[i] |= v >> (t - shift)
			}
		}
	}
}

// words views bytes as words, copying only what is not aligned.
func words[T word](b []byte) []T {
	size := int(unsafe.Sizeof(T(0)))
	n := len(b) / size
	if n == 0 {
		return nil
	}
	if uintptr(unsafe.Pointer(&b[0]))%uintptr(size) != 0 {
		out := make([]T, n)
		copy(bytesOf(out), b)
		return out
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}

// bytesOf views words as bytes.
func bytesOf[T word](w []T) []byte {
	if len(w) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&w[0])), len(w)*int(unsafe.Sizeof(w[0])))
}

// unpackInline decodes n ≤ 1024 values packed behind a word with their width.
func unpackInline[T word](b []byte, n int, out []T) error {
	size := wordBits[T]() / 8
	if n > packBlock || len(b) < size {
		return corrupt("bitpacked block of %d values in %d bytes", n, len(b))
	}
	var head [8]byte
	copy(head[:], b[:size])
	width := binary.LittleEndian.Uint64(head[:])
	if width > uint64(size*8) || len(b)-size < packedBytes(int(width)) {
		return corrupt("bitpacked block of width %d in %d bytes", width, len(b))
	}
	unpackTo(int(width), words[T](b[size:]), n, out)
	return nil
}

// unpackTo decodes one block into the first n ≤ 1024 values of out.
func unpackTo[T word](width int, in []T, n int, out []T) {
	if n == packBlock {
		unpack(width, in, (*[packBlock]T)(out))
		return
	}
	var block [packBlock]T
	unpack(width, in, &block)
	copy(out[:n], block[:])
}

// unpackFixed decodes n values packed with one width. The last block is packed
// in full or, when that would be larger, stored as plain values; the length of
// the buffer tells.
func unpackFixed[T word](width int, b []byte, n int, out []T) error {
	return unpackBlocks(width, b, n, out, true)
}

// unpackBlocks is unpackFixed where a tail of plain values may be ruled out.
func unpackBlocks[T word](width int, b []byte, n int, out []T, rawTail bool) error {
	t := wordBits[T]()
	if width < 0 || width > t {
		return corrupt("bitpacked values of %d bits in words of %d", width, t)
	}
	in := words[T](b)
	perBlock := packBlock * width / t
	whole, tail := n/packBlock, n%packBlock
	raw := rawTail && tail > 0 && len(in) == whole*perBlock+tail
	blocks := whole
	if tail > 0 && !raw {
		blocks++
	}
	if len(in) < blocks*perBlock {
		return corrupt("%d bitpacked values of %d bits in %d bytes", n, width, len(b))
	}
	for i := range whole {
		unpackTo(width, in[i*perBlock:], packBlock, out[i*packBlock:])
	}
	if raw {
		copy(out[whole*packBlock:n], in[whole*perBlock:])
	} else if tail > 0 {
		unpackTo(width, in[whole*perBlock:], tail, out[whole*packBlock:])
	}
	return nil
}

// packFixed appends n values with one width, the last block padded with zeros.
func packFixed(b []byte, width int, values []uint16) []byte {
	var block [packBlock]uint16
	packed := make([]uint16, packBlock*width/16)
	for len(values) > 0 {
		n := copy(block[:], values)
		clear(block[n:])
		clear(packed)
		pack(width, &block, packed)
		b = append(b, bytesOf(packed)...)
		values = values[n:]
	}
	return b
}

// widthOf is the number of bits that hold every value up to v.
func widthOf(v uint64) int { return bits.Len64(v) }
