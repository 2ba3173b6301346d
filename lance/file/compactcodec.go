// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"math/bits"

	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

// packedChunks stores integers in blocks of up to 1024, each packed to the bits
// of its largest value.
type packedChunks struct {
	width  int // bytes of a value
	values []byte
	out    [1][]byte
}

func (p *packedChunks) encoding() *enc21pb.CompressiveEncoding {
	b := &enc21pb.InlineBitpacking{UncompressedBitsPerValue: uint64(p.width * 8)}
	return &enc21pb.CompressiveEncoding{Compression: &enc21pb.CompressiveEncoding_InlineBitpacking{InlineBitpacking: b}}
}

func (p *packedChunks) count() int           { return 1 }
func (p *packedChunks) fits(_, n int) bool   { return n <= packBlock }
func (p *packedChunks) part(i, n int) []byte { return p.values[i*p.width : (i+n)*p.width] }

func (p *packedChunks) buffers(from, n int) [][]byte {
	b := p.part(from, n)
	switch p.width {
	case 1:
		p.out[0] = packInline(p.out[0][:0], b)
	case 2:
		p.out[0] = packInline(p.out[0][:0], words[uint16](b))
	case 4:
		p.out[0] = packInline(p.out[0][:0], words[uint32](b))
	default:
		p.out[0] = packInline(p.out[0][:0], words[uint64](b))
	}
	return p.out[:]
}

// packInline appends a word with the number of bits and a block of up to 1024
// values.
func packInline[T word](b []byte, values []T) []byte {
	width, size := usedBits(values), wordBits[T]()/8
	at := len(b)
	b = growBytes(b, at+size+packedBytes(width))
	b[at] = byte(width)
	var block, packed [packBlock]T
	copy(block[:], values)
	words := packed[:packBlock*width/(size*8)]
	pack(width, &block, words)
	copy(b[at+size:], bytesOf(words))
	return b
}

// usedBits is the number of bits that hold all values.
func usedBits[T word](values []T) int {
	var all T
	for _, v := range values {
		all |= v
	}
	return bits.Len64(uint64(all))
}

// packedSize is the size of values in packedChunks.
func packedSize(width int, values []byte) int {
	total := 0
	for step := packBlock * width; len(values) > 0; {
		n := min(step, len(values))
		total += width + packedBytes(usedBitsOf(width, values[:n])) + miniAlign
		values = values[n:]
	}
	return total
}

func usedBitsOf(width int, b []byte) int {
	switch width {
	case 1:
		return usedBits(b)
	case 2:
		return usedBits(words[uint16](b))
	case 4:
		return usedBits(words[uint32](b))
	}
	return usedBits(words[uint64](b))
}

// runChunks stores runs: values and, beside them, lengths of one byte.
type runChunks struct {
	width  int // bytes of a value
	values []byte
	out    [2][]byte
}

func (r *runChunks) encoding() *enc21pb.CompressiveEncoding {
	x := &enc21pb.Rle{Values: flatEncoding(r.width * 8), RunLengths: flatEncoding(8)}
	return &enc21pb.CompressiveEncoding{Compression: &enc21pb.CompressiveEncoding_Rle{Rle: x}}
}

func (r *runChunks) count() int { return 2 }

// fits keeps a chunk below the limit even where every run is one value.
func (r *runChunks) fits(_, n int) bool { return n*(r.width+1) <= miniTargetFixed+miniTargetFixed/4 }

func (r *runChunks) buffers(from, n int) [][]byte {
	values, lengths := r.out[0][:0], r.out[1][:0]
	b := r.values[from*r.width : (from+n)*r.width]
	for len(b) > 0 {
		k := runLength(b, r.width)
		values = append(values, b[:r.width]...)
		lengths = append(lengths, byte(k))
		b = b[k*r.width:]
	}
	r.out = [2][]byte{values, lengths}
	return r.out[:]
}

// maxRun is the longest run that one length can say.
const maxRun = 255

// runLength is the number of equal values b begins with, at most maxRun.
func runLength(b []byte, width int) int {
	k := 1
	for k < maxRun && (k+1)*width <= len(b) && sameValue(b, b[k*width:], width) {
		k++
	}
	return k
}

func sameValue(a, b []byte, width int) bool {
	switch width {
	case 1:
		return a[0] == b[0]
	case 2:
		return binary.LittleEndian.Uint16(a) == binary.LittleEndian.Uint16(b)
	case 4:
		return binary.LittleEndian.Uint32(a) == binary.LittleEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint64(a) == binary.LittleEndian.Uint64(b)
}

// runsSize is the size of values in runChunks, or limit if that is not less.
func runsSize(width int, values []byte, limit int) int {
	total := 0
	for len(values) > 0 && total < limit {
		total += width + 1
		values = values[runLength(values, width)*width:]
	}
	return min(total, limit)
}

// splitChunks stores values byte position by byte position. It is of use below
// a general compression only.
type splitChunks struct {
	width  int
	values []byte
	out    [1][]byte
}

func (s *splitChunks) encoding() *enc21pb.CompressiveEncoding {
	x := &enc21pb.ByteStreamSplit{Values: flatEncoding(s.width * 8)}
	return &enc21pb.CompressiveEncoding{Compression: &enc21pb.CompressiveEncoding_ByteStreamSplit{ByteStreamSplit: x}}
}

func (s *splitChunks) count() int         { return 1 }
func (s *splitChunks) fits(_, n int) bool { return n*s.width <= miniTargetFixed }

func (s *splitChunks) buffers(from, n int) [][]byte {
	b := s.values[from*s.width : (from+n)*s.width]
	out := sized(s.out[0], len(b))
	for j := range s.width {
		stream := out[j*n : (j+1)*n]
		for i := range stream {
			stream[i] = b[i*s.width+j]
		}
	}
	s.out[0] = out
	return s.out[:]
}

// deflated compresses the first buffer of each chunk of another encoder.
type deflated struct {
	chunkEncoder
	scheme scheme
	out    [][]byte
	first  []byte
}

func (d *deflated) encoding() *enc21pb.CompressiveEncoding {
	x := &enc21pb.General{Compression: d.scheme.describe(), Values: d.chunkEncoder.encoding()}
	return &enc21pb.CompressiveEncoding{Compression: &enc21pb.CompressiveEncoding_General{General: x}}
}

func (d *deflated) buffers(from, n int) [][]byte {
	in := d.chunkEncoder.buffers(from, n)
	d.first = d.scheme.deflate(d.first[:0], in[0])
	d.out = append(append(d.out[:0], d.first), in[1:]...)
	return d.out
}
