// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"math"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/lancepb/containerpb"
	"github.com/lakeplane/lake/lance/lancepb/enc20pb"
	"github.com/lakeplane/lake/lance/schema"
)

// column20 is the cursor on one column of version 2.0, which numbers its own
// items: rows for a root field, list items for what lies in a list.
type column20 struct {
	c     *container
	t     valueType
	list  bool
	pages []*containerpb.ColumnMetadata_Page
	start []uint64 // first item of each page, and the number of items
	base  []uint64 // of lists: first child item of each page

	open int
	page page20

	batch leafBatch
}

func newColumn20(c *container, n, packed *schema.Node, number int) (*column20, error) {
	col := &column20{c: c, list: isList(n), pages: c.columns[number].GetPages(), open: -1}
	if !col.list {
		var err error
		if col.t, err = columnType(n, packed); err != nil {
			return nil, err
		}
		col.batch.packed = packed
	}
	scheme := levelScheme{lists: []bool{false}, nullable: []bool{true}}
	col.batch.levels.scheme = scheme.number()
	col.start = make([]uint64, len(col.pages)+1)
	col.base = make([]uint64, len(col.pages)+1)
	for i, p := range col.pages {
		if p.GetLength() > math.MaxInt32 {
			return nil, corrupt("a page of %d items", p.GetLength())
		}
		col.start[i+1] = col.start[i] + p.GetLength()
		if !col.list {
			continue
		}
		e, err := col.listEncoding(i)
		if err != nil {
			return nil, err
		}
		if e.GetNumItems() > math.MaxInt64/2-col.base[i] {
			return nil, corrupt("a list page of %d items", e.GetNumItems())
		}
		col.base[i+1] = col.base[i] + e.GetNumItems()
	}
	return col, nil
}

func (col *column20) listEncoding(i int) (*enc20pb.List, error) {
	var e enc20pb.ArrayEncoding
	if err := col.c.decodeEncoding(col.pages[i].GetEncoding(), arrayEncodingURL, &e); err != nil {
		return nil, err
	}
	if e.GetList() == nil {
		return nil, corrupt("a list column without lists")
	}
	return e.GetList(), nil
}

// each calls f for the parts of items [from, to) in each page, with the page
// decoded and the range relative to it.
func (col *column20) each(r rows, f func(page, from, to int) error) error {
	for r.from < r.to {
		i := sort.Search(len(col.pages), func(i int) bool { return col.start[i+1] > r.from })
		if i == len(col.pages) {
			return corrupt("item %d of a column with %d", r.from, col.start[i])
		}
		end := min(r.to, col.start[i+1])
		if err := col.decode(i); err != nil {
			return err
		}
		if err := f(i, int(r.from-col.start[i]), int(end-col.start[i])); err != nil {
			return err
		}
		r.from = end
	}
	return nil
}

func (col *column20) decode(i int) error {
	if col.open == i {
		return nil
	}
	col.open = -1
	bufs, err := newPageBuffers(col.c, col.pages[i])
	if err != nil {
		return err
	}
	d := pageDecoder20{bufs: bufs}
	n := int(col.pages[i].GetLength())
	if col.list {
		err = col.decodeLists(&d, i, n)
	} else {
		err = col.decodeValues(&d, i, n)
	}
	if err == nil {
		col.open = i
	}
	return err
}

// decodeLists decodes the ends of lists; the page's run has no data.
func (col *column20) decodeLists(d *pageDecoder20, i, n int) error {
	e, err := col.listEncoding(i)
	if err != nil {
		return err
	}
	pos, valid, err := d.ends(e.GetOffsets(), e.GetNullOffsetAdjustment(), n, 0)
	if err != nil {
		return err
	}
	col.page = page20{n: n, valid: valid, isRun: true, run: varRun{pos: pos, wide: true}}
	if last := col.page.run.at(n); last > e.GetNumItems() {
		return corrupt("lists of %d items in a page of %d", last, e.GetNumItems())
	}
	return nil
}

func (col *column20) decodeValues(d *pageDecoder20, i, n int) error {
	var e enc20pb.ArrayEncoding
	if err := col.c.decodeEncoding(col.pages[i].GetEncoding(), arrayEncodingURL, &e); err != nil {
		return err
	}
	var err error
	if col.page, err = d.decode(&e, n, 0); err != nil {
		return err
	}
	p := &col.page
	if p.packed && col.t.kind != packedValues {
		return unsupported("a packed struct or a blob in a column of another type")
	}
	if col.t.kind == variableValues && !p.isRun && !p.nulls && !p.itemNull && p.bits%8 == 0 {
		p.asRun()
	}
	fits := p.nulls || p.itemNull && len(p.itemValid) < len(col.t.dims)
	switch col.t.kind {
	case variableValues:
		fits = fits || p.isRun
	case boolValues, fixedValues, packedValues:
		fits = fits || !p.isRun && !p.itemNull && p.bits == col.t.bits() && p.packed == (col.t.kind == packedValues)
	}
	if !fits {
		return corrupt("values of %d bits, which does not fit the type of the column", p.bits)
	}
	return nil
}

// fill decodes ranges of a leaf to col.batch.
func (col *column20) fill(mem memory.Allocator, ranges []rows, limit int) error {
	col.batch.levels.reset()
	col.batch.values = newSink(col.t, mem, limit)
	for _, r := range ranges {
		if err := col.each(r, func(_, from, to int) error { return col.page.appendTo(&col.batch, from, to) }); err != nil {
			col.batch.values.release()
			return err
		}
	}
	return nil
}

// appendTo appends values [from, to) of the page.
func (p *page20) appendTo(out *leafBatch, from, to int) error {
	n := to - from
	p.levels(&out.levels, from, to)
	s := out.values
	switch {
	case p.nulls:
		s.skip(n)
	case p.itemNull:
		s.skipItems(n, p.itemValid, from)
	case p.isRun:
		return s.append(p.run, from, n)
	case s.t.kind == packedValues:
		w := s.t.bits() / 8
		s.packedRows(p.fixed[from*w:to*w], n)
	default:
		for level := range s.t.dims {
			s.appendItemValid(level, p.itemsValid(level), from, n)
		}
		if s.t.kind == boolValues {
			s.bits(p.fixed, from, n)
			return nil
		}
		w := s.t.width
		s.borrow(n, p.fixed[from*w:to*w], nil)
	}
	return nil
}

// levels appends the validity of values [from, to) as definition levels.
func (p *page20) levels(out *levelBuffer, from, to int) {
	if !p.nulls && p.valid == nil {
		out.appendValues(to - from)
		return
	}
	out.fill()
	for i := from; i < to; i++ {
		var d uint16
		if p.nulls || !bitutil.BitIsSet(p.valid, i) {
			d = 1
		}
		out.def = append(out.def, d)
	}
	out.n += to - from
}

// rootColumn20 decodes a root field of version 2.0.
type rootColumn20 struct {
	node    *schema.Node
	columns map[*schema.Node]*column20 // of leaves and lists
	mem     memory.Allocator
}

func newRootColumn20(r *Reader, root *schema.Node) (columnReader, error) {
	rc := &rootColumn20{node: root, mem: r.mem, columns: make(map[*schema.Node]*column20)}
	if err := rc.open(r, root); err != nil {
		return nil, inColumn(root.Field.GetName(), err)
	}
	return rc, nil
}

// open opens the columns of n and of what is below it.
func (rc *rootColumn20) open(r *Reader, n *schema.Node) error {
	packed := r.packed[n.Field.GetId()]
	if packed != nil || n.Type.ID() != arrow.STRUCT {
		number, ok := r.columns[n.Field.GetId()]
		if !ok {
			return corrupt("field %d has no column", n.Field.GetId())
		}
		var err error
		if rc.columns[n], err = newColumn20(r.c, n, packed, number); err != nil {
			return err
		}
	}
	if packed != nil {
		return nil
	}
	for _, c := range n.Children {
		if err := rc.open(r, c); err != nil {
			return err
		}
	}
	return nil
}

func (rc *rootColumn20) close() {}

func (rc *rootColumn20) read(ranges []rows, _ uint64, limit int) (arrow.Array, error) {
	d, err := rc.data(rc.node, ranges, limit)
	if err != nil {
		return nil, inColumn(rc.node.Field.GetName(), err)
	}
	defer d.Release()
	return array.MakeFromData(d), nil
}

func (rc *rootColumn20) data(n *schema.Node, ranges []rows, limit int) (arrow.ArrayData, error) {
	col := rc.columns[n]
	switch n.Type.ID() {
	case arrow.STRUCT:
		if col == nil {
			return rc.structure(n, ranges, limit)
		}
	case arrow.LIST, arrow.LARGE_LIST:
		return rc.list(n, ranges, limit)
	case arrow.MAP:
		return nil, unsupported("a map in version 2.0")
	}
	if err := col.fill(rc.mem, ranges, limit); err != nil {
		return nil, err
	}
	defer func() { col.batch.values.release() }()
	a := assembler{mem: rc.mem, leaves: map[*schema.Node]*leafBatch{n: &col.batch}}
	p, err := a.leaf(n)
	return p.data, err
}

// structure builds a struct, which has no nulls of its own in this version.
func (rc *rootColumn20) structure(n *schema.Node, ranges []rows, limit int) (arrow.ArrayData, error) {
	var children []arrow.ArrayData
	defer func() {
		for _, c := range children {
			c.Release()
		}
	}()
	length := 0
	for _, r := range ranges {
		length += int(r.to - r.from)
	}
	for _, c := range n.Children {
		d, err := rc.data(c, ranges, limit)
		if err != nil {
			return nil, err
		}
		children = append(children, d)
	}
	return array.NewData(n.Type, length, []*memory.Buffer{nil}, children, 0, 0), nil
}

func (rc *rootColumn20) list(n *schema.Node, ranges []rows, limit int) (arrow.ArrayData, error) {
	b := listBuilder20{wide: n.Type.ID() == arrow.LARGE_LIST, col: rc.columns[n]}
	for _, r := range ranges {
		if err := b.col.each(r, b.add); err != nil {
			return nil, err
		}
	}
	child, err := rc.data(n.Children[0], b.items, limit)
	if err != nil {
		return nil, err
	}
	defer child.Release()
	return b.finish(rc.mem, n.Type, child)
}

// listBuilder20 collects lists and the ranges of their items.
type listBuilder20 struct {
	col   *column20
	wide  bool
	ends  []uint64
	valid []bool
	nulls int
	total uint64
	items []rows
}

func (b *listBuilder20) add(page, from, to int) error {
	p := &b.col.page
	first, last := b.col.base[page]+p.run.at(from), b.col.base[page]+p.run.at(to)
	for i := from; i < to; i++ {
		ok := p.valid == nil || bitutil.BitIsSet(p.valid, i)
		if !ok {
			b.nulls++
		}
		b.valid = append(b.valid, ok)
		b.ends = append(b.ends, b.total+p.run.at(i+1)-p.run.at(from))
	}
	b.total += last - first
	if !b.wide && b.total > math.MaxInt32 {
		return errBatchTooLarge
	}
	if k := len(b.items); k > 0 && b.items[k-1].to == first {
		b.items[k-1].to = last
	} else if last > first {
		b.items = append(b.items, rows{first, last})
	}
	return nil
}

func (b *listBuilder20) finish(mem memory.Allocator, dt arrow.DataType, child arrow.ArrayData) (arrow.ArrayData, error) {
	if uint64(child.Len()) != b.total {
		return nil, corrupt("%d items for lists of %d", child.Len(), b.total)
	}
	size := 4
	if b.wide {
		size = 8
	}
	offsets := memory.NewResizableBuffer(mem)
	defer offsets.Release()
	offsets.Resize((len(b.ends) + 1) * size)
	out := offsets.Bytes()
	clear(out[:size])
	for i, e := range b.ends {
		if b.wide {
			binary.LittleEndian.PutUint64(out[(i+1)*8:], e)
		} else {
			binary.LittleEndian.PutUint32(out[(i+1)*4:], uint32(e))
		}
	}
	var bits *memory.Buffer
	if b.nulls > 0 {
		bits = memory.NewResizableBuffer(mem)
		defer bits.Release()
		bits.Resize((len(b.valid) + 7) / 8)
		clear(bits.Bytes())
		for i, ok := range b.valid {
			if ok {
				bitutil.SetBit(bits.Bytes(), i)
			}
		}
	}
	return array.NewData(dt, len(b.ends), []*memory.Buffer{bits, offsets}, []arrow.ArrayData{child}, b.nulls, 0), nil
}
