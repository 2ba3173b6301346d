// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"math"
	"sort"

	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

const (
	miniMetaBuffer = 0 // a word per chunk: its size and its number of values
	miniDataBuffer = 1 // the chunks
	miniAlign      = 8
	// maxChunkValues bounds the one count that is not a power of two of at
	// most 2^15, that of the last chunk.
	maxChunkValues = 1 << 18
)

// miniPage reads a mini-block page.
//
// A chunk is a header with the number of levels and the size of each buffer,
// then the buffers: repetition levels, definition levels, values. Header and
// buffers are padded to 8 bytes. All chunks but the last hold a power of two of
// values. Where there are lists, a chunk has more levels than values, since
// null and empty lists have none; rows may begin in one chunk and end in
// another, and the repetition index says how many of them do.
type miniPage struct {
	bufs   *pageBuffers
	leaf   *leaf
	levels pageLevels
	values chunkValues

	repEnc, defEnc *enc21pb.CompressiveEncoding
	valueBufs      int
	large          bool

	byteStart  []uint64 // per chunk, and the end
	valueStart []uint64 // per chunk, and the end
	rowStart   []uint64 // with lists: rows that start before the chunk, and all

	chunk    miniChunk
	parsed   int  // number of the chunk in chunk, or -1
	decoded  bool // its levels are in rep and def
	rep, def []uint16
}

func openMini(x *enc21pb.MiniBlockLayout, bufs *pageBuffers, rows uint64, l *leaf) (*miniPage, error) {
	m := &miniPage{bufs: bufs, leaf: l, repEnc: x.GetRepCompression(), defEnc: x.GetDefCompression(), large: x.GetHasLargeChunk(), parsed: -1}
	var err error
	if m.levels, err = l.levels.parseLayers(x.GetLayers()); err != nil {
		return nil, err
	}
	if (m.repEnc != nil) != (l.levels.maxRep > 0) {
		return nil, corrupt("repetition levels present: %t, lists in the column: %d", m.repEnc != nil, l.levels.maxRep)
	}
	if err := m.readMeta(x.GetNumItems()); err != nil {
		return nil, err
	}
	if err := m.openValues(x); err != nil {
		return nil, err
	}
	if m.repEnc == nil {
		if rows > x.GetNumItems() {
			return nil, corrupt("a page of %d rows has %d items", rows, x.GetNumItems())
		}
		return m, nil
	}
	index := miniDataBuffer + 1
	if x.GetDictionary() != nil {
		index++
	}
	return m, m.readRepIndex(index, x.GetRepetitionIndexDepth(), rows)
}

// readMeta reads the sizes of all chunks.
func (m *miniPage) readMeta(items uint64) error {
	meta, err := m.bufs.whole(miniMetaBuffer)
	if err != nil {
		return err
	}
	size := 2
	if m.large {
		size = 4
	}
	n := len(meta) / size
	m.byteStart = make([]uint64, n+1)
	m.valueStart = make([]uint64, n+1)
	for i := range n {
		var w uint64
		if m.large {
			w = uint64(binary.LittleEndian.Uint32(meta[i*4:]))
		} else {
			w = uint64(binary.LittleEndian.Uint16(meta[i*2:]))
		}
		m.byteStart[i+1] = m.byteStart[i] + (w>>4+1)*miniAlign
		m.valueStart[i+1] = m.valueStart[i] + 1<<(w&15)
	}
	if n == 0 {
		if items != 0 {
			return corrupt("no chunks for %d items", items)
		}
		return nil
	}
	return m.fixLast(n, items)
}

// fixLast sets the number of values of the last chunk from the page's total.
func (m *miniPage) fixLast(n int, items uint64) error {
	before := m.valueStart[n-1]
	if items < before || items-before > maxChunkValues {
		return corrupt("%d chunks with %d values before the last for %d items", n, before, items)
	}
	m.valueStart[n] = items
	if end := m.byteStart[n]; end > m.bufs.size(miniDataBuffer) {
		return corrupt("chunks of %d bytes in a buffer of %d", end, m.bufs.size(miniDataBuffer))
	}
	return nil
}

func (m *miniPage) openValues(x *enc21pb.MiniBlockLayout) error {
	var err error
	if m.values, err = newChunkValues(x.GetValueCompression(), m.leaf.value, x.GetDictionary() != nil); err != nil {
		return err
	}
	m.valueBufs = m.values.buffers()
	if x.GetNumBuffers() != uint64(m.valueBufs) {
		return corrupt("%d value buffers per chunk, the encoding has %d", x.GetNumBuffers(), m.valueBufs)
	}
	if x.GetDictionary() == nil {
		return nil
	}
	b, err := m.bufs.whole(miniDataBuffer + 1)
	if err != nil {
		return err
	}
	n := x.GetNumDictionaryItems()
	if n > x.GetNumItems() && n > uint64(len(b))*64 {
		return corrupt("dictionary of %d items in %d bytes", n, len(b))
	}
	m.values.dict, err = parseDictionary(x.GetDictionary(), b, n, m.leaf.value)
	return err
}

// readRepIndex reads, for each chunk, the number of rows that end in it and of
// levels behind the last end.
func (m *miniPage) readRepIndex(buffer int, depth uint32, rows uint64) error {
	if depth == 0 || depth > 64 {
		return unsupported("repetition index of depth %d", depth)
	}
	b, err := m.bufs.whole(buffer)
	if err != nil {
		return err
	}
	chunks := len(m.byteStart) - 1
	stride := (int(depth) + 1) * 8
	if len(b) < chunks*stride {
		return corrupt("repetition index of %d bytes for %d chunks", len(b), chunks)
	}
	m.rowStart = make([]uint64, chunks+1)
	var ended uint64
	for i := range chunks {
		n := binary.LittleEndian.Uint64(b[i*stride:])
		if n > rows-ended {
			return corrupt("repetition index counts more than the %d rows of the page", rows)
		}
		ended += n
		m.rowStart[i+1] = ended
		if binary.LittleEndian.Uint64(b[i*stride+stride-8:]) > 0 {
			m.rowStart[i+1]++
		}
	}
	if m.rowStart[chunks] != rows {
		return corrupt("repetition index counts %d rows of %d", m.rowStart[chunks], rows)
	}
	return nil
}

// chunksOf returns the first and the last chunk with a part of rows [from, to).
func (m *miniPage) chunksOf(from, to uint64) (first, last int, err error) {
	starts := m.valueStart
	if m.rowStart != nil {
		starts = m.rowStart
	}
	n := len(starts) - 1
	if n == 0 || to > starts[n] {
		return 0, 0, corrupt("row %d of a page with %d", to, starts[n])
	}
	first = sort.Search(n, func(i int) bool { return starts[i+1] > from })
	last = n - 1
	if m.rowStart == nil {
		last = sort.Search(n, func(i int) bool { return starts[i+1] >= to })
	} else if to < starts[n] {
		// The end of row to-1 may lie in the chunk where row to starts.
		last = sort.Search(n, func(i int) bool { return starts[i+1] > to })
	}
	return first, last, nil
}

func (m *miniPage) prepare() int { return -1 }

func (m *miniPage) span(from, to uint64) (buffer int, off, n uint64, err error) {
	first, last, err := m.chunksOf(from, to)
	if err != nil {
		return 0, 0, 0, err
	}
	return miniDataBuffer, m.byteStart[first], m.byteStart[last+1] - m.byteStart[first], nil
}

func (m *miniPage) read(from, to uint64, out *leafBatch) error {
	first, last, err := m.chunksOf(from, to)
	if err != nil {
		return err
	}
	m.expect(first, last, from, to, out.values)
	for c := first; c <= last; c++ {
		if err := m.parseChunk(c); err != nil {
			return err
		}
		if m.rowStart != nil {
			err = m.readRows(c, from, to, out)
		} else {
			err = m.readItems(c, from, to, out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// expect tells the sink what the chunks may hold: all their values, and the
// bytes of plain variable ones. Compressed ones grow the sink as they come.
func (m *miniPage) expect(first, last int, from, to uint64, out *sink) {
	values := m.valueStart[last+1] - m.valueStart[first]
	if m.rowStart == nil {
		values = to - from
	}
	bytes := m.byteStart[last+1] - m.byteStart[first]
	if all := m.valueStart[last+1] - m.valueStart[first]; values < all {
		bytes = bytes / all * values // a part of the chunks
	}
	if size, ok := mulRows(values, max(1, out.t.width)); !ok || size > bytes*64+1<<20 {
		return // do not trust a count that the bytes do not bear out
	}
	if m.values.variable != nil {
		bytes -= min(bytes, values*uint64(out.offsetSize()))
	}
	out.expect(int(values), int(bytes))
}

// readItems appends the part of a chunk in rows [from, to), one value per row.
func (m *miniPage) readItems(c int, from, to uint64, out *leafBatch) error {
	start, end := m.valueStart[c], m.valueStart[c+1]
	n := int(end - start)
	skip := int(max(from, start) - start)
	count := int(min(to, end)-start) - skip
	if m.defEnc == nil {
		out.levels.appendValues(count)
	} else {
		if m.chunk.levels != n {
			return corrupt("chunk with %d levels for %d values", m.chunk.levels, n)
		}
		if err := m.decodeLevels(); err != nil {
			return err
		}
		if err := out.levels.append(count, nil, m.def[skip:skip+count], &m.levels); err != nil {
			return err
		}
	}
	return m.values.append(m.chunk.values, n, skip, count, out.values)
}

// readRows appends the part of a chunk in rows [from, to) where rows are lists.
func (m *miniPage) readRows(c int, from, to uint64, out *leafBatch) error {
	if err := m.decodeLevels(); err != nil {
		return err
	}
	lo, hi, starts := cutRows(m.rep, m.leaf.levels.maxRep, m.rowStart[c], from, to)
	if starts != m.rowStart[c+1]-m.rowStart[c] {
		return corrupt("chunk with %d row starts, the index has %d", starts, m.rowStart[c+1]-m.rowStart[c])
	}
	skip, count, rest := lo, hi-lo, len(m.rep)-hi
	var def []uint16
	if m.defEnc != nil {
		skip = m.levels.countVisible(m.def[:lo])
		count = m.levels.countVisible(m.def[lo:hi])
		rest = m.levels.countVisible(m.def[hi:])
		def = m.def[lo:hi]
	}
	n := int(m.valueStart[c+1] - m.valueStart[c])
	if skip+count+rest != n {
		return corrupt("levels for %d values in a chunk of %d", skip+count+rest, n)
	}
	if err := out.levels.append(hi-lo, m.rep[lo:hi], def, &m.levels); err != nil {
		return err
	}
	return m.values.append(m.chunk.values, n, skip, count, out.values)
}

// cutRows finds the levels of rows [from, to) in levels before which `before`
// rows start. It also counts the starts in all levels.
func cutRows(rep []uint16, start uint16, before, from, to uint64) (lo, hi int, starts uint64) {
	lo, hi = len(rep), len(rep)
	if before > from {
		lo = 0
	}
	if before > to {
		hi = 0
	}
	row := before // the next row to start
	for i, r := range rep {
		if r != start {
			continue
		}
		if row == from {
			lo = i
		}
		if row == to {
			hi = i
		}
		row++
	}
	return min(lo, hi), hi, row - before
}

func (p *pageLevels) countVisible(def []uint16) int {
	n := 0
	for _, d := range def {
		if d <= p.visible {
			n++
		}
	}
	return n
}

// miniChunk is one chunk taken apart.
type miniChunk struct {
	levels   int
	rep, def []byte
	values   [][]byte
}

func (m *miniPage) parseChunk(c int) error {
	if m.parsed == c {
		return nil
	}
	m.parsed, m.decoded = -1, false
	b, err := m.bufs.part(miniDataBuffer, m.byteStart[c], m.byteStart[c+1]-m.byteStart[c])
	if err != nil {
		return err
	}
	p := chunkParser{b: b}
	m.chunk.levels = p.u16()
	repSize, defSize := 0, 0
	if m.repEnc != nil {
		repSize = p.u16()
	}
	if m.defEnc != nil {
		defSize = p.u16()
	}
	var sizes [4]int
	for i := range m.valueBufs {
		if m.large {
			sizes[i] = p.u32()
		} else {
			sizes[i] = p.u16()
		}
	}
	p.pad()
	if m.repEnc != nil {
		m.chunk.rep = p.take(repSize)
	}
	if m.defEnc != nil {
		m.chunk.def = p.take(defSize)
	}
	m.chunk.values = m.chunk.values[:0]
	for _, n := range sizes[:m.valueBufs] {
		m.chunk.values = append(m.chunk.values, p.take(n))
	}
	if p.short {
		return corrupt("buffers of chunk %d exceed its %d bytes", c, len(b))
	}
	m.parsed = c
	return nil
}

// chunkParser reads a chunk front to back; short stays set after a read beyond
// the end.
type chunkParser struct {
	b     []byte
	at    int
	short bool
}

func (p *chunkParser) take(n int) []byte {
	if n > len(p.b)-p.at {
		p.short = true
		return nil
	}
	out := p.b[p.at : p.at+n]
	p.at += n
	p.pad()
	return out
}

// pad moves to the next multiple of 8; the padding of the last buffer may be
// cut off.
func (p *chunkParser) pad() { p.at = min((p.at+miniAlign-1)&^(miniAlign-1), len(p.b)) }

func (p *chunkParser) u16() int {
	if len(p.b)-p.at < 2 {
		p.short = true
		return 0
	}
	p.at += 2
	return int(binary.LittleEndian.Uint16(p.b[p.at-2:]))
}

func (p *chunkParser) u32() int {
	if len(p.b)-p.at < 4 {
		p.short = true
		return 0
	}
	p.at += 4
	v := binary.LittleEndian.Uint32(p.b[p.at-4:])
	if v > math.MaxInt32 {
		p.short = true
		return 0
	}
	return int(v)
}

// decodeLevels decodes the levels of the parsed chunk to m.rep and m.def.
func (m *miniPage) decodeLevels() error {
	if m.decoded {
		return nil
	}
	n := m.chunk.levels
	if m.repEnc != nil {
		m.rep = sizedLevels(m.rep, n)
		if err := blockLevels(m.repEnc, m.chunk.rep, n, m.rep); err != nil {
			return err
		}
	}
	if m.defEnc != nil {
		m.def = sizedLevels(m.def, n)
		if err := blockLevels(m.defEnc, m.chunk.def, n, m.def); err != nil {
			return err
		}
	}
	m.decoded = true
	return nil
}

func sizedLevels(b []uint16, n int) []uint16 {
	if cap(b) < n {
		return make([]uint16, n)
	}
	return b[:n]
}
