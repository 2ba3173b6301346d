// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"

	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

// chunkEncoder encodes the values of a page in chunks of a mini-block layout.
type chunkEncoder interface {
	// encoding describes the values.
	encoding() *enc21pb.CompressiveEncoding
	// count is the number of buffers of a chunk.
	count() int
	// fits tells whether n values, from the given one on, make a chunk of no
	// more than the size aimed at. One value always does.
	fits(from, n int) bool
	// buffers encodes n values, from the given one on. The result is valid until
	// the next call.
	buffers(from, n int) [][]byte
}

const (
	// miniTarget is the size of the values of a chunk. Larger chunks scan
	// faster, smaller ones cost less to take one row from.
	miniTargetFixed    = 16 << 10
	miniTargetVariable = 8 << 10
)

// plainBits stores booleans as they are.
type plainBits struct {
	a   *accum
	out [1][]byte
}

func (p *plainBits) encoding() *enc21pb.CompressiveEncoding { return flatEncoding(1) }
func (p *plainBits) count() int                             { return 1 }
func (p *plainBits) fits(int, int) bool                     { return true }

func (p *plainBits) buffers(from, n int) [][]byte {
	p.out[0] = appendBits(p.out[0][:0], p.a.fixed, from, n)
	return p.out[:]
}

// plainFixed stores fixed values as they are, behind the validity of the items
// of fixed size lists if there is any.
type plainFixed struct {
	a     *accum
	valid []byte
	out   [2][]byte
}

func (p *plainFixed) encoding() *enc21pb.CompressiveEncoding {
	return valueEncoding(p.a.leaf.value, p.a.itemNull)
}

func (p *plainFixed) count() int {
	if p.a.itemNull {
		return 2
	}
	return 1
}

func (p *plainFixed) fits(_, n int) bool { return n*p.a.leaf.value.width <= miniTargetFixed }

func (p *plainFixed) buffers(from, n int) [][]byte {
	t := p.a.leaf.value
	values := p.a.fixed[from*t.width : (from+n)*t.width]
	if !p.a.itemNull {
		p.out[0] = values
		return p.out[:1]
	}
	p.valid = appendBits(p.valid[:0], p.a.itemValid, from*t.items, n*t.items)
	p.out = [2][]byte{p.valid, values}
	return p.out[:]
}

// plainVariable stores offsets from the start of the buffer, then the bytes,
// padded to the width of an offset. That width is the one of the type, since
// other readers keep it.
type plainVariable struct {
	a      *accum
	target int
	out    [1][]byte
}

func (p *plainVariable) width() int {
	if p.a.leaf.value.wide {
		return 8
	}
	return 4
}

func (p *plainVariable) encoding() *enc21pb.CompressiveEncoding {
	return variableEncoding(p.width() * 8)
}

func (p *plainVariable) count() int { return 1 }

func (p *plainVariable) fits(from, n int) bool {
	size := p.a.offsets[from+n-1] - p.a.valueStart(from)
	return size+uint64((n+1)*p.width()) <= uint64(p.target)
}

func (p *plainVariable) buffers(from, n int) [][]byte {
	first, last := p.a.valueStart(from), p.a.offsets[from+n-1]
	head := (n + 1) * p.width()
	b := growBytes(p.out[0][:0], head)
	p.offsets(b, from, n, uint64(head)-first)
	b = append(b, p.a.data[first:last]...)
	p.out[0] = growBytes(b, (len(b)+p.width()-1)/p.width()*p.width())
	return p.out[:]
}

// offsets writes where n values begin and the last one ends, moved by base.
func (p *plainVariable) offsets(dst []byte, from, n int, base uint64) {
	ends, start := p.a.offsets[from:from+n], p.a.valueStart(from)+base
	if p.width() == 8 {
		binary.LittleEndian.PutUint64(dst, start)
		for i, end := range ends {
			binary.LittleEndian.PutUint64(dst[i*8+8:], end+base)
		}
		return
	}
	binary.LittleEndian.PutUint32(dst, uint32(start))
	for i, end := range ends {
		binary.LittleEndian.PutUint32(dst[i*4+4:], uint32(end+base))
	}
}
