// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"

	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

const (
	zipDataBuffer  = 0 // control words and values
	zipIndexBuffer = 1 // the start of each row, and the end
)

// zipPage reads a full-zip page: for each entry a control word with its levels
// and, where there is a value, its length if that varies and the value. Without
// levels there are no control words, and fixed-width values are a plain array.
type zipPage struct {
	bufs   *pageBuffers
	leaf   *leaf
	levels pageLevels
	rows   uint64

	bitsDef  uint
	hasRep   bool
	hasDef   bool
	word     int // bytes of a control word
	indexLen int // bytes of an entry of the row index, 0 without one

	fixed    fixedLayout
	lenBytes int // bytes of the length of a variable value, else 0
	codec    *varCodec
	packed   *packedCodec // instead of codec

	rep, def []uint16
}

func openZip(x *enc21pb.FullZipLayout, bufs *pageBuffers, rows uint64, l *leaf) (*zipPage, error) {
	z := &zipPage{bufs: bufs, leaf: l, rows: rows}
	var err error
	if z.levels, err = l.levels.parseLayers(x.GetLayers()); err != nil {
		return nil, err
	}
	if err := z.setControl(x); err != nil {
		return nil, err
	}
	if err := z.setValues(x); err != nil {
		return nil, err
	}
	return z, z.setIndex()
}

func (z *zipPage) setControl(x *enc21pb.FullZipLayout) error {
	rep, def := x.GetBitsRep(), x.GetBitsDef()
	if rep > 16 || def > 16 {
		return corrupt("control words of %d and %d bits", rep, def)
	}
	z.hasRep, z.hasDef, z.bitsDef = rep > 0, def > 0, uint(def)
	if z.hasRep != (z.leaf.levels.maxRep > 0) {
		return corrupt("%d bits of repetition, lists in the column: %d", rep, z.leaf.levels.maxRep)
	}
	z.word = controlWordBytes(rep + def)
	return nil
}

func (z *zipPage) setValues(x *enc21pb.FullZipLayout) error {
	t := z.leaf.value
	e := x.GetValueCompression()
	switch d := x.GetDetails().(type) {
	case *enc21pb.FullZipLayout_BitsPerValue:
		var err error
		z.fixed, err = newFixedLayout(e, uint64(d.BitsPerValue), t)
		return err
	case *enc21pb.FullZipLayout_BitsPerOffset:
		if t.kind != variableValues && t.kind != packedValues || d.BitsPerOffset != 32 && d.BitsPerOffset != 64 {
			return corrupt("lengths of %d bits, which does not fit the type of the column", d.BitsPerOffset)
		}
		z.lenBytes = int(d.BitsPerOffset / 8)
		var err error
		if t.kind == packedValues {
			z.packed, err = newPackedCodec(e, t, 0)
			return err
		}
		z.codec, err = newVarCodec(e)
		return err
	}
	return corrupt("a full-zip page without the width of its values")
}

// setIndex finds the width of the row index, which is needed unless every row
// takes the same number of bytes.
func (z *zipPage) setIndex() error {
	if !z.hasRep && z.lenBytes == 0 {
		if need, ok := mulRows(z.rows, z.word+z.fixed.width); !ok || need > z.bufs.size(zipDataBuffer) {
			return corrupt("%d rows of %d bytes in a buffer of %d", z.rows, z.word+z.fixed.width, z.bufs.size(zipDataBuffer))
		}
		return nil
	}
	size := z.bufs.size(zipIndexBuffer)
	if z.rows >= size || size%(z.rows+1) != 0 {
		return corrupt("row index of %d bytes for %d rows", size, z.rows)
	}
	switch n := size / (z.rows + 1); n {
	case 1, 2, 4, 8:
		z.indexLen = int(n)
		return nil
	default:
		return corrupt("row index with entries of %d bytes", n)
	}
}

// maxWholeIndex is the largest row index that is read in whole for the sake of
// some rows.
const maxWholeIndex = 8 << 20

func (z *zipPage) prepare() int {
	if z.indexLen == 0 || z.bufs.size(zipIndexBuffer) > maxWholeIndex {
		return -1
	}
	return zipIndexBuffer
}

func (z *zipPage) span(from, to uint64) (buffer int, off, n uint64, err error) {
	if to > z.rows || from > to {
		return 0, 0, 0, corrupt("rows %d to %d of a page with %d", from, to, z.rows)
	}
	if z.indexLen == 0 {
		size := uint64(z.word + z.fixed.width)
		return zipDataBuffer, from * size, (to - from) * size, nil
	}
	start, err := z.indexEntry(from)
	if err != nil {
		return 0, 0, 0, err
	}
	end, err := z.indexEntry(to)
	if err != nil {
		return 0, 0, 0, err
	}
	if end < start {
		return 0, 0, 0, corrupt("row index decreases from %d to %d", start, end)
	}
	return zipDataBuffer, start, end - start, nil
}

func (z *zipPage) indexEntry(row uint64) (uint64, error) {
	b, err := z.bufs.part(zipIndexBuffer, row*uint64(z.indexLen), uint64(z.indexLen))
	if err != nil {
		return 0, err
	}
	return index(b, z.indexLen, 0), nil
}

func (z *zipPage) read(from, to uint64, out *leafBatch) error {
	_, off, n, err := z.span(from, to)
	if err != nil {
		return err
	}
	b, own, err := z.bufs.owned(zipDataBuffer, off, n)
	if err != nil {
		return err
	}
	if z.word == 0 && z.lenBytes == 0 && z.fixed.plain() && z.leaf.value.kind == fixedValues {
		out.levels.appendValues(int(to - from))
		out.values.appendItemsValid(nil, nil, 0, int(to-from))
		out.values.borrow(int(to-from), b, own)
		return nil
	}
	out.values.expect(int(to-from), len(b))
	if z.word+z.fixed.width+z.lenBytes == 0 { // lists of nothing but nulls
		for range to - from {
			z.fixed.append(nil, out.values)
		}
		out.levels.appendValues(int(to - from))
		return nil
	}
	return z.readEntries(b, int(to-from), out)
}

// readEntries walks the entries of rows one by one.
func (z *zipPage) readEntries(b []byte, rows int, out *leafBatch) error {
	z.rep, z.def = z.rep[:0], z.def[:0]
	entries, started := 0, 0
	for len(b) > 0 {
		rep, def, rest, err := z.control(b)
		if err != nil {
			return err
		}
		b = rest
		entries++
		if !z.hasRep || rep == z.leaf.levels.maxRep {
			started++
		}
		if z.hasRep && started == 0 {
			return corrupt("a row does not begin where the index says")
		}
		if b, err = z.value(b, def, out); err != nil {
			return err
		}
	}
	if started != rows {
		return corrupt("%d rows where the index has %d", started, rows)
	}
	rep, def := z.rep, z.def
	if !z.hasRep {
		rep = nil
	}
	if !z.hasDef {
		def = nil
	}
	return out.levels.append(entries, rep, def, &z.levels)
}

// controlWordBytes is the size of a control word that holds so many bits of
// repetition and definition levels.
func controlWordBytes(bits uint32) int {
	switch {
	case bits == 0:
		return 0
	case bits <= 8:
		return 1
	case bits <= 16:
		return 2
	}
	return 4
}

// control reads a control word and records its levels.
func (z *zipPage) control(b []byte) (rep, def uint16, rest []byte, err error) {
	if len(b) < z.word {
		return 0, 0, nil, corrupt("control word of %d bytes in %d bytes", z.word, len(b))
	}
	var w uint32
	switch z.word {
	case 0:
		return 0, 0, b, nil
	case 1:
		w = uint32(b[0])
	case 2:
		w = uint32(binary.LittleEndian.Uint16(b))
	default:
		w = binary.LittleEndian.Uint32(b)
	}
	rep, def = uint16(w>>z.bitsDef), uint16(w&(1<<z.bitsDef-1))
	if z.hasRep {
		z.rep = append(z.rep, rep)
	}
	if z.hasDef {
		z.def = append(z.def, def)
	}
	return rep, def, b[z.word:], nil
}

// value appends the value of an entry, if it has one. Null fixed values take
// their place in the file, null variable ones do not.
func (z *zipPage) value(b []byte, def uint16, out *leafBatch) ([]byte, error) {
	if def > z.levels.visible {
		return b, nil
	}
	if z.lenBytes == 0 {
		return z.fixedValue(b, out)
	}
	if def != 0 {
		out.values.skip(1)
		return b, nil
	}
	v, rest, err := lengthPrefixed(b, z.lenBytes)
	switch {
	case err != nil:
	case z.packed != nil:
		err = z.packed.value(v, out.values)
	default:
		err = z.codec.value(v, out.values)
	}
	return rest, err
}

func (z *zipPage) fixedValue(b []byte, out *leafBatch) ([]byte, error) {
	if len(b) < z.fixed.width {
		return nil, corrupt("value of %d bytes in %d bytes", z.fixed.width, len(b))
	}
	z.fixed.append(b, out.values)
	return b[z.fixed.width:], nil
}
