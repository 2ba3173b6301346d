// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

// plain stores fixed values without levels: the page is the array.
func (e *pageEncoder) plain(a *accum, lv pageLevelsOut) encodedPage {
	layout := &enc21pb.FullZipLayout{
		Details:          &enc21pb.FullZipLayout_BitsPerValue{BitsPerValue: uint32(e.leaf.value.width * 8)},
		NumItems:         uint32(a.n),
		NumVisibleItems:  uint32(a.n),
		ValueCompression: valueEncoding(e.leaf.value, false),
		Layers:           lv.layers,
	}
	return zipLayout(layout, a.fixed)
}

func zipLayout(l *enc21pb.FullZipLayout, buffers ...[]byte) encodedPage {
	return encodedPage{
		layout:  &enc21pb.PageLayout{Layout: &enc21pb.PageLayout_FullZipLayout{FullZipLayout: l}},
		buffers: buffers,
	}
}

// zip stores control word and value of each entry side by side, with an index
// of the rows unless all entries take the same space.
func (e *pageEncoder) zip(a *accum, lv pageLevelsOut) encodedPage {
	z := zipper{e: e, a: a, lv: lv, t: e.leaf.value}
	layout := &enc21pb.FullZipLayout{Layers: lv.layers, NumItems: uint32(a.entries), NumVisibleItems: uint32(a.n)}
	if lv.rep != nil {
		layout.BitsRep = uint32(widthOf(uint64(lv.maxRep)))
	}
	if lv.def != nil {
		layout.BitsDef = uint32(widthOf(uint64(lv.maxDef)))
	}
	z.bitsDef, z.word = layout.BitsDef, controlWordBytes(layout.BitsRep+layout.BitsDef)
	z.describe(layout)
	z.run()
	if z.t.kind == fixedValues && lv.rep == nil {
		return zipLayout(layout, e.data)
	}
	return zipLayout(layout, e.data, z.index())
}

// zipper writes the entries of one full-zip page to e.data.
type zipper struct {
	e  *pageEncoder
	a  *accum
	lv pageLevelsOut
	t  valueType

	word      int
	bitsDef   uint32
	lenBytes  int
	itemValid int
	starts    []uint64
	next      int // value
}

func (z *zipper) describe(l *enc21pb.FullZipLayout) {
	if z.t.kind == variableValues {
		bits := 32
		if z.t.wide {
			bits = 64
		}
		z.lenBytes = bits / 8
		l.Details = &enc21pb.FullZipLayout_BitsPerOffset{BitsPerOffset: uint32(bits)}
		l.ValueCompression = variableEncoding(bits)
		return
	}
	if z.a.itemNull {
		z.itemValid = (z.t.items + 7) / 8
	}
	l.Details = &enc21pb.FullZipLayout_BitsPerValue{BitsPerValue: uint32((z.t.width + z.itemValid) * 8)}
	l.ValueCompression = valueEncoding(z.t, z.a.itemNull)
}

func (z *zipper) run() {
	b := z.e.data[:0]
	for i := range z.a.entries {
		var rep, def uint16
		if z.lv.rep != nil {
			rep = z.lv.rep[i]
		}
		if z.lv.def != nil {
			def = z.lv.def[i]
		}
		if z.lv.rep == nil || rep == z.lv.maxRep {
			z.starts = append(z.starts, uint64(len(b)))
		}
		b = z.control(b, uint32(rep)<<z.bitsDef|uint32(def))
		if def <= z.lv.visible {
			b = z.value(b, def == 0)
			z.next++
		}
	}
	z.starts = append(z.starts, uint64(len(b)))
	z.e.data = b
}

func (z *zipper) control(b []byte, w uint32) []byte {
	switch z.word {
	case 1:
		return append(b, byte(w))
	case 2:
		return binary.LittleEndian.AppendUint16(b, uint16(w))
	case 4:
		return binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// value appends value number z.next. Null values take space only when all
// values are of one width.
func (z *zipper) value(b []byte, valid bool) []byte {
	if z.t.kind == fixedValues {
		if z.itemValid > 0 {
			at := len(b)
			b = growBytes(b, at+z.itemValid)
			bitutil.CopyBitmap(z.a.itemValid, z.next*z.t.items, z.t.items, b[at:], 0)
		}
		return append(b, z.a.fixed[z.next*z.t.width:(z.next+1)*z.t.width]...)
	}
	if !valid {
		return b
	}
	v := z.a.data[z.a.valueStart(z.next):z.a.offsets[z.next]]
	if z.lenBytes == 4 {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(v)))
	} else {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(v)))
	}
	return append(b, v...)
}

// index packs the start of each row, and the end, to the fewest bytes of 1, 2,
// 4 and 8.
func (z *zipper) index() []byte {
	b := z.e.side[:0]
	last := z.starts[len(z.starts)-1]
	for _, s := range z.starts {
		switch {
		case last <= math.MaxUint8:
			b = append(b, byte(s))
		case last <= math.MaxUint16:
			b = binary.LittleEndian.AppendUint16(b, uint16(s))
		case last <= math.MaxUint32:
			b = binary.LittleEndian.AppendUint32(b, uint32(s))
		default:
			b = binary.LittleEndian.AppendUint64(b, s)
		}
	}
	z.e.side = b
	return b
}
