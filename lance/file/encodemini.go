// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

const (
	// maxMiniValues is the largest number of values readers expect.
	maxMiniValues = 4096
	// softChunkLevels is the number of levels at which a chunk is cut, if it has
	// more than one value; null and empty lists add levels without values. Two
	// buffers of them, bitpacked to 8 bits, and the values stay below
	// maxMiniBytes.
	softChunkLevels = 8192
	// maxChunkLevels is what the 16 bits of a chunk header can count.
	maxChunkLevels = math.MaxUint16
	// maxMiniBytes is what 12 bits of 8-byte words can say.
	maxMiniBytes = 32 << 10
	// miniHeaderBytes bounds the header of a chunk and all padding in it.
	miniHeaderBytes = 64
)

// miniEncoder writes the chunks of one mini-block page.
type miniEncoder struct {
	e              *pageEncoder
	a              *accum
	values         chunkEncoder
	lv             pageLevelsOut
	repBits        int
	defBits        int
	value, level   int // next value and next level
	rows, leftover []uint64
}

// mini encodes a mini-block page; ok is false when a run of levels without
// values does not fit a chunk.
func (e *pageEncoder) mini(a *accum, values chunkEncoder, lv pageLevelsOut) (p encodedPage, ok bool) {
	m := miniEncoder{e: e, a: a, values: values, lv: lv, repBits: widthOf(uint64(lv.maxRep)), defBits: widthOf(uint64(lv.maxDef))}
	if m.repBits > 8 || m.defBits > 8 {
		return encodedPage{}, false
	}
	e.data, e.meta = e.data[:0], e.meta[:0]
	if need := a.bytes() + a.bytes()/16; cap(e.data) < need {
		e.data = make([]byte, 0, need)
	}
	for m.value < a.n {
		if !m.chunk() {
			return encodedPage{}, false
		}
	}
	layout := m.layout()
	p = encodedPage{
		layout:  &enc21pb.PageLayout{Layout: &enc21pb.PageLayout_MiniBlockLayout{MiniBlockLayout: layout}},
		buffers: [][]byte{e.meta, e.data},
	}
	if lv.rep != nil {
		p.buffers = append(p.buffers, m.index())
	}
	return p, true
}

func (m *miniEncoder) layout() *enc21pb.MiniBlockLayout {
	l := &enc21pb.MiniBlockLayout{Layers: m.lv.layers, NumItems: uint64(m.a.n)}
	if m.lv.rep != nil {
		l.RepCompression, l.RepetitionIndexDepth = levelEncoding(m.repBits), 1
	}
	if m.lv.def != nil {
		l.DefCompression = levelEncoding(m.defBits)
	}
	l.ValueCompression, l.NumBuffers = m.values.encoding(), uint64(m.values.count())
	return l
}

// chunk writes the next chunk, or reports that none fits.
func (m *miniEncoder) chunk() bool {
	for n := m.size(); ; n = pow2Below(n) {
		last := m.value+n == m.a.n
		if levels, ok := m.levelsFor(n, last); ok && m.put(n, levels, last) {
			return true
		}
		if n == 1 {
			return false
		}
	}
}

// put writes a chunk of n values, unless it gets too large.
func (m *miniEncoder) put(n, levels int, last bool) bool {
	start := len(m.e.data)
	m.write(n, levels)
	size := len(m.e.data) - start
	if size > maxMiniBytes {
		m.e.data = m.e.data[:start]
		return false
	}
	word := uint16(size/miniAlign-1) << 4
	if !last {
		word |= uint16(bits.TrailingZeros(uint(n)))
	}
	m.e.meta = binary.LittleEndian.AppendUint16(m.e.meta, word)
	m.countRows(levels)
	m.value += n
	m.level += levels
	return true
}

// pow2Below is the largest power of two less than n.
func pow2Below(n int) int { return 1 << (bits.Len(uint(n-1)) - 1) }

// size is the number of values that fit a chunk by their size: all that are
// left, or a power of two.
func (m *miniEncoder) size() int {
	left := m.a.n - m.value
	if left <= maxMiniValues && m.values.fits(m.value, left) {
		return left
	}
	n := maxMiniValues
	for n > 1 && (n >= left || !m.values.fits(m.value, n)) {
		n /= 2
	}
	return n
}

// levelsFor is the number of levels of the next n values. The last chunk takes
// all that are left.
func (m *miniEncoder) levelsFor(n int, last bool) (int, bool) {
	if m.lv.rep == nil {
		return n, true
	}
	most := softChunkLevels
	if n == 1 {
		most = m.maxLevels()
	}
	if last {
		left := m.a.entries - m.level
		return left, left <= most
	}
	if m.lv.def == nil {
		return n, true
	}
	for i, d := range m.lv.def[m.level:] {
		if i == most {
			break
		}
		if d <= m.lv.visible {
			if n--; n == 0 {
				return i + 1, true
			}
		}
	}
	return 0, false
}

// maxLevels is the number of levels that fit a chunk of one value.
func (m *miniEncoder) maxLevels() int {
	room := maxMiniBytes - miniHeaderBytes
	for _, b := range m.values.buffers(m.value, 1) {
		room -= len(b)
	}
	return maxLevelsIn(room, m.repBits+m.defBits)
}

// maxLevelsIn is the number of levels, packed to width bits in whole blocks,
// that fit some bytes and the count of a header.
func maxLevelsIn(room, width int) int {
	blocks := max(0, room) / packedBytes(max(1, width))
	return min(maxChunkLevels, blocks*packBlock)
}

// write appends a chunk of n values and their levels.
func (m *miniEncoder) write(n, levels int) {
	le := binary.LittleEndian
	b := m.e.data
	hasLevels := m.lv.rep != nil || m.lv.def != nil
	if hasLevels {
		b = le.AppendUint16(b, uint16(levels))
	} else {
		b = le.AppendUint16(b, 0)
	}
	if m.lv.rep != nil {
		m.e.rep = packLevels(m.e.rep[:0], m.repBits, m.lv.rep[m.level:m.level+levels])
		b = le.AppendUint16(b, uint16(len(m.e.rep)))
	}
	if m.lv.def != nil {
		m.e.def = packLevels(m.e.def[:0], m.defBits, m.lv.def[m.level:m.level+levels])
		b = le.AppendUint16(b, uint16(len(m.e.def)))
	}
	values := m.values.buffers(m.value, n)
	for _, v := range values {
		b = le.AppendUint16(b, uint16(min(len(v), math.MaxUint16)))
	}
	b = padTo(b, miniAlign)
	if m.lv.rep != nil {
		b = padTo(append(b, m.e.rep...), miniAlign)
	}
	if m.lv.def != nil {
		b = padTo(append(b, m.e.def...), miniAlign)
	}
	for _, v := range values {
		b = padTo(append(b, v...), miniAlign)
	}
	m.e.data = b
}

// packLevels packs levels to width bits in blocks of 1024. A tail that would
// not get smaller stays as it is; the reader tells by the length, so a tail of
// equal length must not be packed either.
func packLevels(b []byte, width int, levels []uint16) []byte {
	whole := len(levels) / packBlock * packBlock
	tail := len(levels) - whole
	if tail > packBlock*width/16 {
		whole, tail = len(levels), 0
	}
	b = packFixed(b, width, levels[:whole])
	return append(b, bytesOf(levels[len(levels)-tail:])...)
}

// padTo pads with a filler byte other implementations use too.
func padTo(b []byte, align int) []byte {
	for len(b)%align != 0 {
		b = append(b, 0xFE)
	}
	return b
}

// appendBits appends n bits of another bitmap, from byte to byte.
func appendBits(b, from []byte, off, n int) []byte {
	at := len(b)
	b = growBytes(b, at+(n+7)/8)
	bitutil.CopyBitmap(from, off, n, b[at:], 0)
	return b
}

// countRows notes how many rows end in the next levels and how many levels lie
// behind the last end.
func (m *miniEncoder) countRows(levels int) {
	if m.lv.rep == nil {
		return
	}
	ended, since := uint64(0), uint64(0)
	for i := m.level; i < m.level+levels; i++ {
		since++
		if i+1 == len(m.lv.rep) || m.lv.rep[i+1] == m.lv.maxRep {
			ended++
			since = 0
		}
	}
	m.rows = append(m.rows, ended)
	m.leftover = append(m.leftover, since)
}

func (m *miniEncoder) index() []byte {
	b := m.e.side[:0]
	for i, n := range m.rows {
		b = binary.LittleEndian.AppendUint64(b, n)
		b = binary.LittleEndian.AppendUint64(b, m.leftover[i])
	}
	m.e.side = b
	return b
}
