// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

const (
	// miniTarget is the size of the values of a chunk. Larger chunks scan
	// faster, smaller ones cost less to take one row from.
	miniTargetFixed    = 16 << 10
	miniTargetVariable = 8 << 10
	// maxMiniValues is the largest number of values readers expect.
	maxMiniValues = 4096
	// maxChunkLevels bounds the levels of a chunk; null and empty lists add
	// levels without values. Two buffers of them, bitpacked to 8 bits, and the
	// values stay below maxMiniBytes.
	maxChunkLevels = 8192
	// maxMiniBytes is what 12 bits of 8-byte words can say.
	maxMiniBytes = 32 << 10
)

// miniEncoder writes the chunks of one mini-block page.
type miniEncoder struct {
	e              *pageEncoder
	a              *accum
	lv             pageLevelsOut
	repBits        int
	defBits        int
	value, level   int // next value and next level
	rows, leftover []uint64
}

// mini encodes a mini-block page; ok is false when a run of levels without
// values does not fit a chunk.
func (e *pageEncoder) mini(a *accum, lv pageLevelsOut) (p encodedPage, ok bool) {
	m := miniEncoder{e: e, a: a, lv: lv, repBits: widthOf(uint64(lv.maxRep)), defBits: widthOf(uint64(lv.maxDef))}
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
	l := &enc21pb.MiniBlockLayout{Layers: m.lv.layers, NumBuffers: 1, NumItems: uint64(m.a.n)}
	if m.lv.rep != nil {
		l.RepCompression, l.RepetitionIndexDepth = levelEncoding(m.repBits), 1
	}
	if m.lv.def != nil {
		l.DefCompression = levelEncoding(m.defBits)
	}
	if m.e.leaf.value.kind == variableValues {
		l.ValueCompression = variableEncoding(m.offsetBytes() * 8)
		return l
	}
	l.ValueCompression = m.e.valueEncoding(m.a.itemNull)
	if m.a.itemNull {
		l.NumBuffers = 2
	}
	return l
}

// chunk writes the next chunk, or reports that none fits.
func (m *miniEncoder) chunk() bool {
	n := m.size()
	last := m.value+n == m.a.n
	var levels int
	for {
		var ok bool
		if levels, ok = m.levelsFor(n, last); ok {
			break
		}
		if n == 1 {
			return false
		}
		n, last = pow2Below(n), false
	}
	start := len(m.e.data)
	m.write(n, levels)
	size := len(m.e.data) - start
	if size > maxMiniBytes {
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
	if m.fits(left) {
		return left
	}
	n := maxMiniValues
	for n > 1 && (n >= left || !m.fits(n)) {
		n /= 2
	}
	return n
}

func (m *miniEncoder) fits(n int) bool {
	if n > maxMiniValues {
		return false
	}
	switch t := m.e.leaf.value; t.kind {
	case boolValues:
		return true
	case variableValues:
		size := m.a.offsets[m.value+n-1] - m.a.valueStart(m.value)
		return size+uint64((n+1)*m.offsetBytes()) <= miniTargetVariable
	default:
		return n*t.width <= miniTargetFixed
	}
}

// levelsFor is the number of levels of the next n values. The last chunk takes
// all that are left.
func (m *miniEncoder) levelsFor(n int, last bool) (int, bool) {
	if m.lv.rep == nil {
		return n, true
	}
	if last {
		left := m.a.entries - m.level
		return left, left <= maxChunkLevels
	}
	if m.lv.def == nil {
		return n, true
	}
	for i, d := range m.lv.def[m.level:] {
		if i == maxChunkLevels {
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
	sizes := m.valueSizes(n)
	for _, s := range sizes {
		b = le.AppendUint16(b, uint16(s))
	}
	b = padTo(b, miniAlign)
	if m.lv.rep != nil {
		b = padTo(append(b, m.e.rep...), miniAlign)
	}
	if m.lv.def != nil {
		b = padTo(append(b, m.e.def...), miniAlign)
	}
	m.e.data = padTo(m.values(b, n), miniAlign)
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

// valueSizes are the sizes of the value buffers of the next n values.
func (m *miniEncoder) valueSizes(n int) []int {
	t := m.e.leaf.value
	switch {
	case t.kind == boolValues:
		return []int{(n + 7) / 8}
	case t.kind == variableValues:
		size := int(m.a.offsets[m.value+n-1] - m.a.valueStart(m.value))
		o := m.offsetBytes()
		return []int{(size + (n+1)*o + o - 1) / o * o}
	case m.a.itemNull:
		return []int{(n*t.items + 7) / 8, n * t.width}
	}
	return []int{n * t.width}
}

// values appends the value buffers of the next n values.
func (m *miniEncoder) values(b []byte, n int) []byte {
	t := m.e.leaf.value
	switch t.kind {
	case boolValues:
		return appendBits(b, m.a.fixed, m.value, n)
	case variableValues:
		return m.variable(b, n)
	}
	if m.a.itemNull {
		b = padTo(appendBits(b, m.a.itemValid, m.value*t.items, n*t.items), miniAlign)
	}
	return append(b, m.a.fixed[m.value*t.width:(m.value+n)*t.width]...)
}

func appendBits(b, from []byte, off, n int) []byte {
	at := len(b)
	b = growBytes(b, at+(n+7)/8)
	bitutil.CopyBitmap(from, off, n, b[at:], 0)
	return b
}

// offsetBytes is the width of value offsets in a chunk: that of the type, since
// other readers keep it.
func (m *miniEncoder) offsetBytes() int {
	if m.e.leaf.value.wide {
		return 8
	}
	return 4
}

// variable appends offsets from the start of the buffer, then the bytes, padded
// to the width of an offset.
func (m *miniEncoder) variable(b []byte, n int) []byte {
	o := m.offsetBytes()
	from, to := m.a.valueStart(m.value), m.a.offsets[m.value+n-1]
	base := uint64((n+1)*o) - from
	at := len(b)
	b = growBytes(b, at+(n+1)*o)
	dst := b[at:]
	ends := m.a.offsets[m.value : m.value+n]
	if o == 4 {
		binary.LittleEndian.PutUint32(dst, uint32(from+base))
		for i, end := range ends {
			binary.LittleEndian.PutUint32(dst[i*4+4:], uint32(end+base))
		}
	} else {
		binary.LittleEndian.PutUint64(dst, from+base)
		for i, end := range ends {
			binary.LittleEndian.PutUint64(dst[i*8+8:], end+base)
		}
	}
	b = append(b, m.a.data[from:to]...)
	return growBytes(b, at+(len(b)-at+o-1)/o*o)
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
