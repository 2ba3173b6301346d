// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slotwire

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

// Region says where a batch lies in a shared segment and what its bytes mean.
type Region struct {
	Pos, Size int
	// Rows is the number of rows, and Shape what Pack wrote: for each array in
	// pre-order its length, offset, null count and buffers.
	Rows  int
	Shape []byte
}

// Append writes the region into a frame's body.
func (g Region) Append() []byte {
	w := writer{b: make([]byte, 0, 32+len(g.Shape))}
	g.append(&w)
	return w.b
}

func (g Region) append(w *writer) {
	w.uint(uint64(g.Pos))
	w.uint(uint64(g.Size))
	w.uint(uint64(g.Rows))
	w.bytes(g.Shape)
}

func (r *reader) region(segment int) Region {
	g := Region{Pos: r.within(uint64(segment)), Size: r.within(uint64(segment)), Rows: r.within(maxNumber), Shape: r.bytes()}
	if g.Pos+g.Size > segment {
		r.fail()
	}
	return g
}

// ReadRegion reads a region of a segment of that many bytes.
func ReadRegion(b []byte, segment int) (Region, error) {
	r := reader{b: b}
	g := r.region(segment)
	return g, r.err("batch")
}

// ScanBatch is a batch of a scan.
type ScanBatch struct {
	Scan uint32
	Region
}

// Append writes the frame's body.
func (s ScanBatch) Append() []byte {
	w := writer{b: make([]byte, 0, 40+len(s.Shape))}
	w.uint(uint64(s.Scan))
	s.append(&w)
	return w.b
}

// ReadScanBatch reads what the replica sent.
func ReadScanBatch(b []byte, segment int) (s ScanBatch, err error) {
	r := reader{b: b}
	s.Scan = uint32(r.within(maxNumber))
	s.Region = r.region(segment)
	return s, r.err("batch of a scan")
}

// packed is a batch ready to be copied.
type packed struct {
	shape  writer
	copies []piece
	size   int
}

// piece is one buffer, or the part of it that the batch uses.
type piece struct {
	at  int
	src []byte
	// width and base rewrite offsets of width bytes that do not begin at 0.
	width int
	base  int64
}

// Pack lays a batch out. The result's size is what it needs; it holds parts of
// the batch's buffers.
func pack(batch arrow.RecordBatch) (*packed, error) {
	p := &packed{}
	for i, c := range batch.Columns() {
		d := c.Data()
		if err := p.array(d, d.DataType(), d.Offset(), d.Len()); err != nil {
			return nil, lake.Wrap("column "+batch.ColumnName(i), err)
		}
	}
	return p, nil
}

// Pack copies a batch into a region that alloc provides, and returns where it
// is.
func Pack(batch arrow.RecordBatch, alloc func(size int) (pos int, mem []byte, err error)) (Region, error) {
	p, err := pack(batch)
	if err != nil {
		return Region{}, err
	}
	pos, mem, err := alloc(p.size)
	if err != nil {
		return Region{}, err
	}
	for _, c := range p.copies {
		c.copyTo(mem[c.at:])
	}
	return Region{Pos: pos, Size: p.size, Rows: int(batch.NumRows()), Shape: p.shape.b}, nil
}

func (c piece) copyTo(dst []byte) {
	switch {
	case c.base == 0:
		copy(dst, c.src)
	case c.width == 4:
		for i := 0; i+4 <= len(c.src); i += 4 {
			binary.NativeEndian.PutUint32(dst[i:], binary.NativeEndian.Uint32(c.src[i:])-uint32(c.base))
		}
	default:
		for i := 0; i+8 <= len(c.src); i += 8 {
			binary.NativeEndian.PutUint64(dst[i:], binary.NativeEndian.Uint64(c.src[i:])-uint64(c.base))
		}
	}
}

// array lays out count elements of an array from element from on, both counted
// from the begin of its buffers. What is copied begins at a multiple of 8
// elements, so that bitmaps need no shifting; the rest of from is the offset.
func (p *packed) array(d arrow.ArrayData, dt arrow.DataType, from, count int) error {
	offset := from % 8
	start, end := from-offset, from+count
	nulls := -1
	if d.NullN() == 0 || from == d.Offset() && count == d.Len() {
		nulls = d.NullN()
	}
	p.shape.uint(uint64(count))
	p.shape.uint(uint64(offset))
	p.shape.int(int64(nulls))
	plan := planOf(dt)
	if plan.kind == unsupported {
		return lake.Errorf(lake.Unsupported, "SQL has no type for Arrow %s", dt)
	}
	if plan.kind != nothing {
		if err := p.validity(d, nulls, start, end); err != nil {
			return err
		}
	}
	switch plan.kind {
	case bitmap:
		return p.buffer(d, 1, start/8, (end+7)/8)
	case fixed:
		return p.buffer(d, 1, start*plan.width, end*plan.width)
	case dictionary:
		if err := p.buffer(d, 1, start*plan.width, end*plan.width); err != nil {
			return err
		}
		dict := d.Dictionary()
		return p.array(dict, plan.children[0], dict.Offset(), dict.Len())
	case text:
		first, last, err := p.offsets(d, plan.width, start, end)
		if err != nil {
			return err
		}
		return p.buffer(d, 2, int(first), int(last))
	}
	return p.children(d, plan, start, end)
}

func (p *packed) children(d arrow.ArrayData, plan plan, start, end int) error {
	from, to := int64(start), int64(end)
	switch plan.kind {
	case list:
		var err error
		if from, to, err = p.offsets(d, plan.width, start, end); err != nil {
			return err
		}
	case fixedList:
		from, to = from*int64(plan.width), to*int64(plan.width)
	}
	kids := d.Children()
	if len(kids) < len(plan.children) {
		return lake.Errorf(lake.Corrupt, "an array has %d children where its type has %d", len(kids), len(plan.children))
	}
	for i, dt := range plan.children {
		k := kids[i]
		if from < 0 || to < from || to > int64(k.Len()) {
			return lake.Errorf(lake.Corrupt, "a child of %d elements where %d..%d are needed", k.Len(), from, to)
		}
		if err := p.array(k, dt, k.Offset()+int(from), int(to-from)); err != nil {
			return err
		}
	}
	return nil
}

// add places bytes; none is a buffer of length 0.
func (p *packed) add(c piece) {
	c.at = (p.size + Align - 1) / Align * Align
	p.shape.uint(uint64(c.at))
	p.shape.uint(uint64(len(c.src)))
	if len(c.src) > 0 {
		p.size = c.at + len(c.src)
		p.copies = append(p.copies, c)
	}
}

func (p *packed) validity(d arrow.ArrayData, nulls, start, end int) error {
	if bufs := d.Buffers(); nulls == 0 || len(bufs) == 0 || bufs[0] == nil || bufs[0].Len() == 0 {
		p.add(piece{})
		return nil
	}
	return p.buffer(d, 0, start/8, (end+7)/8)
}

// buffer places bytes from..to of a buffer.
func (p *packed) buffer(d arrow.ArrayData, index, from, to int) error {
	b, err := part(d, index, from, to)
	p.add(piece{src: b})
	return err
}

func part(d arrow.ArrayData, index, from, to int) ([]byte, error) {
	if from == to {
		return nil, nil
	}
	var b []byte
	if bufs := d.Buffers(); index < len(bufs) && bufs[index] != nil {
		b = bufs[index].Bytes()
	}
	if from < 0 || to < from || to > len(b) {
		return nil, lake.Errorf(lake.Corrupt, "a buffer has %d bytes where %d..%d are needed", len(b), from, to)
	}
	return b[from:to], nil
}

// offsets places the offsets of elements start..end, made to begin at 0, and
// returns what they had pointed to.
func (p *packed) offsets(d arrow.ArrayData, width, start, end int) (first, last int64, err error) {
	if start == end {
		p.add(piece{}) // an empty array may come without offsets
		return 0, 0, nil
	}
	b, err := part(d, 1, start*width, (end+1)*width)
	if err != nil {
		return 0, 0, err
	}
	first, last = offsetAt(b, width, 0), offsetAt(b, width, end-start)
	p.add(piece{src: b, width: width, base: first})
	return first, last, nil
}

func offsetAt(b []byte, width, i int) int64 {
	if width == 4 {
		return int64(int32(binary.NativeEndian.Uint32(b[4*i:])))
	}
	return int64(binary.NativeEndian.Uint64(b[8*i:]))
}

// layout is how the arrays of a type lie in memory.
type layout uint8

const (
	unsupported layout = iota
	nothing            // no buffers: every value is null
	bitmap             // one bit a value
	fixed              // width bytes a value
	text               // offsets of width bytes, and the bytes they lead to
	list               // offsets of width bytes, and a child
	fixedList          // width elements of a child each
	fields             // children side by side
	dictionary         // an index of width bytes into a child
)

type plan struct {
	kind     layout
	width    int
	children []arrow.DataType
}

// planOf knows the types that a table or a result can have.
func planOf(dt arrow.DataType) plan {
	switch t := dt.(type) {
	case *arrow.NullType:
		return plan{kind: nothing}
	case *arrow.BooleanType:
		return plan{kind: bitmap}
	case *arrow.StringType, *arrow.BinaryType:
		return plan{kind: text, width: 4}
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		return plan{kind: text, width: 8}
	case *arrow.ListType:
		return plan{kind: list, width: 4, children: []arrow.DataType{t.Elem()}}
	case *arrow.LargeListType:
		return plan{kind: list, width: 8, children: []arrow.DataType{t.Elem()}}
	case *arrow.MapType:
		return plan{kind: list, width: 4, children: []arrow.DataType{t.Elem()}}
	case *arrow.FixedSizeListType:
		return plan{kind: fixedList, width: int(t.Len()), children: []arrow.DataType{t.Elem()}}
	case *arrow.StructType:
		p := plan{kind: fields}
		for _, f := range t.Fields() {
			p.children = append(p.children, f.Type)
		}
		return p
	case *arrow.DictionaryType:
		if w, ok := t.IndexType.(arrow.FixedWidthDataType); ok {
			return plan{kind: dictionary, width: w.Bytes(), children: []arrow.DataType{t.ValueType}}
		}
	case arrow.ExtensionType:
		return planOf(t.StorageType())
	case arrow.FixedWidthDataType:
		return plan{kind: fixed, width: t.Bytes()}
	}
	return plan{}
}
