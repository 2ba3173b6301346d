// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// accum is the page of one leaf under construction: plain values and levels in
// the numbering of the scheme. It copies what it takes, so that input batches
// are not kept alive.
type accum struct {
	leaf *leaf
	page int // bytes of a full page
	rows int

	entries  int
	rep, def []uint16 // def is empty while every entry is a value

	n       int      // values, null ones included
	fixed   []byte   // fixed values, or bits of booleans
	offsets []uint64 // ends of variable values, relative to data
	data    []byte
	maxLen  int // longest variable value

	itemNull  bool
	itemValid []byte // bits of the items of fixed size lists, all of them
}

func (a *accum) reset() {
	a.rows, a.entries, a.n, a.maxLen, a.itemNull = 0, 0, 0, 0, false
	a.rep, a.def = a.rep[:0], a.def[:0]
	a.fixed, a.offsets, a.data, a.itemValid = a.fixed[:0], a.offsets[:0], a.data[:0], a.itemValid[:0]
}

// bytes is the size that counts against the page limit.
func (a *accum) bytes() int {
	return len(a.fixed) + len(a.data) + 4*len(a.offsets) + 2*(len(a.rep)+len(a.def))
}

// add appends the entries of a shredder and the elements of the leaf array
// they stand for.
func (a *accum) add(s *shredder, rows int, arr arrow.Array) {
	a.rows += rows
	a.rep = append(a.rep, s.rep...)
	if s.def != nil {
		if len(a.def) < a.entries {
			a.def = extend(a.def, a.entries-len(a.def))
		}
		a.def = append(a.def, s.def...)
	} else if len(a.def) > 0 {
		a.def = extend(a.def, s.n)
	}
	a.entries += s.n
	for _, e := range s.elements {
		a.values(arr, e.from, e.to)
	}
}

// values appends elements [from, to) of the leaf array. Null elements get a
// value of zeros, so that nothing that happens to lie in memory is written.
func (a *accum) values(arr arrow.Array, from, to int) {
	d := arr.Data()
	off := d.Offset()
	switch t := a.leaf.value; t.kind {
	case boolValues:
		a.bits(d.Buffers()[1].Bytes(), off+from, to-from)
	case variableValues:
		a.variable(arr, from, to)
	case fixedValues:
		raw := d
		if t.items > 0 {
			for _, dim := range t.dims {
				raw = raw.Children()[0]
				off = off*dim + raw.Offset()
			}
			a.items(raw, off, from, to)
		}
		a.copyFixed(raw.Buffers()[1].Bytes(), off*t.itemWidth, from, to)
		a.zeroNulls(arr, from, to)
	}
	a.n += to - from
}

func (a *accum) copyFixed(b []byte, base, from, to int) {
	w := a.leaf.value.width
	a.fixed = append(a.room(a.fixed, (to-from)*w), b[base+from*w:base+to*w]...)
}

// room makes room for n more bytes. A buffer that outgrows the first steps gets
// the size of a page at once, since it is likely to need it.
func (a *accum) room(b []byte, n int) []byte {
	const firstSteps = 128 << 10
	if cap(b)-len(b) >= n || len(b)+n < firstSteps {
		return b
	}
	grown := make([]byte, len(b), max(a.page+a.page/8, len(b)+n))
	copy(grown, b)
	return grown
}

func (a *accum) zeroNulls(arr arrow.Array, from, to int) {
	if arr.NullN() == 0 {
		return
	}
	w := a.leaf.value.width
	tail := a.fixed[len(a.fixed)-(to-from)*w:]
	for i := from; i < to; i++ {
		if arr.IsNull(i) {
			clear(tail[(i-from)*w : (i-from+1)*w])
		}
	}
}

func (a *accum) bits(b []byte, off, n int) {
	a.fixed = growBytes(a.fixed, int(bitutil.BytesForBits(int64(a.n+n))))
	bitutil.CopyBitmap(b, off, n, a.fixed, a.n)
}

// growBytes extends b with zeros to n bytes.
func growBytes(b []byte, n int) []byte {
	at := len(b)
	if cap(b) < n {
		grown := make([]byte, at, max(n, 2*cap(b)))
		copy(grown, b)
		b = grown
	}
	b = b[:n]
	clear(b[at:])
	return b
}

// items records the validity of list items, from the first null item on.
func (a *accum) items(raw arrow.ArrayData, off, from, to int) {
	items := a.leaf.value.items
	hasNulls := raw.NullN() != 0 && raw.Buffers()[0] != nil
	if !hasNulls && !a.itemNull {
		return
	}
	have, more := a.n*items, (to-from)*items
	a.itemValid = growBytes(a.itemValid, int(bitutil.BytesForBits(int64(have+more))))
	if !a.itemNull {
		a.itemNull = true
		bitutil.SetBitsTo(a.itemValid, 0, int64(have), true)
	}
	if !hasNulls {
		bitutil.SetBitsTo(a.itemValid, int64(have), int64(more), true)
		return
	}
	bitutil.CopyBitmap(raw.Buffers()[0].Bytes(), off+from*items, more, a.itemValid, have)
}

func (a *accum) variable(arr arrow.Array, from, to int) {
	d := arr.Data()
	if d.Buffers()[1] == nil { // an array without values may lack buffers
		a.emptyValues(to - from)
		return
	}
	var data []byte
	if b := d.Buffers()[2]; b != nil {
		data = b.Bytes()
	}
	offs := d.Buffers()[1].Bytes()
	if a.leaf.value.wide {
		appendVariable(a, arr, sliceOf[int64](offs)[d.Offset():], data, from, to)
	} else {
		appendVariable(a, arr, sliceOf[int32](offs)[d.Offset():], data, from, to)
	}
}

func sliceOf[T int32 | int64](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(T(0))))
}

func (a *accum) emptyValues(n int) {
	for range n {
		a.offsets = append(a.offsets, uint64(len(a.data)))
	}
}

func appendVariable[T int32 | int64](a *accum, arr arrow.Array, offs []T, data []byte, from, to int) {
	if arr.NullN() == 0 {
		first := offs[from]
		base := uint64(len(a.data)) - uint64(first)
		prev := first
		for _, o := range offs[from+1 : to+1] {
			a.offsets = append(a.offsets, uint64(o)+base)
			a.maxLen = max(a.maxLen, int(o-prev))
			prev = o
		}
		a.data = append(a.room(a.data, int(offs[to]-first)), data[first:offs[to]]...)
		return
	}
	a.data = a.room(a.data, int(offs[to]-offs[from]))
	for i := from; i < to; i++ {
		if arr.IsValid(i) {
			a.maxLen = max(a.maxLen, int(offs[i+1]-offs[i]))
			a.data = append(a.data, data[offs[i]:offs[i+1]]...)
		}
		a.offsets = append(a.offsets, uint64(len(a.data)))
	}
}

// valueStart is where variable value i begins.
func (a *accum) valueStart(i int) uint64 {
	if i == 0 {
		return 0
	}
	return a.offsets[i-1]
}

// descend walks from a root array to the leaf, one field number per struct on
// the way, and shreds rows [from, to).
func descend(s *shredder, arr arrow.Array, path []int, from, to int) arrow.Array {
	s.start(from, to)
	for {
		switch x := arr.(type) {
		case *array.Struct:
			s.items(x)
			arr = x.Field(path[0])
			path = path[1:]
		case *array.List:
			s.lists(x)
			arr = x.ListValues()
		case *array.LargeList:
			s.lists(x)
			arr = x.ListValues()
		default:
			s.items(x)
			return x
		}
	}
}
