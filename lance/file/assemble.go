// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/schema"
)

// assembler builds the Arrow arrays of a batch from its leaves.
type assembler struct {
	mem    memory.Allocator
	leaves map[*schema.Node]*leafBatch
}

// part is an array under construction with the levels of the layers further
// out. Its owner releases data.
type part struct {
	data   arrow.ArrayData
	levels unraveler
}

// column builds the array of a root field with the given number of rows.
func (a *assembler) column(n *schema.Node, rows int) (arrow.Array, error) {
	p, err := a.node(n)
	if err != nil {
		return nil, err
	}
	defer p.data.Release()
	if p.data.Len() != rows {
		return nil, corrupt("%d values in a batch of %d rows", p.data.Len(), rows)
	}
	return array.MakeFromData(p.data), nil
}

func (a *assembler) node(n *schema.Node) (part, error) {
	if a.leaves[n] != nil {
		return a.leaf(n)
	}
	switch n.Type.ID() {
	case arrow.STRUCT:
		return a.structure(n)
	case arrow.FIXED_SIZE_LIST:
		return a.fixedStructs(n)
	case arrow.LIST, arrow.LARGE_LIST, arrow.MAP:
		return a.list(n)
	}
	return part{}, corrupt("field %d has no column", n.Field.GetId())
}

// validity returns the validity buffer of the next layer, the number of
// elements and of nulls.
func (a *assembler) validity(u *unraveler) (*memory.Buffer, int, int) {
	var buf *memory.Buffer
	_, n, nulls := u.items(func(size int) []byte {
		buf = memory.NewResizableBuffer(a.mem)
		buf.Resize(size)
		clear(buf.Bytes())
		return buf.Bytes()
	})
	return buf, n, nulls
}

func (a *assembler) leaf(n *schema.Node) (part, error) {
	b := a.leaves[n]
	p := part{levels: unraveler{b: &b.levels}}
	valid, length, nulls := a.validity(&p.levels)
	defer releaseBuffer(valid)
	if length != b.values.n {
		return part{}, corrupt("%d levels for %d values", length, b.values.n)
	}
	if n.Type.ID() == arrow.NULL {
		p.data = array.NewData(n.Type, length, []*memory.Buffer{nil}, nil, length, 0)
		return p, nil
	}
	if b.packed != nil {
		p.data = a.packed(n, b.packed, b.values, valid, length, nulls)
		return p, nil
	}
	p.data = a.values(n.Type, b.values, valid, length, nulls)
	return p, nil
}

// values builds an array of the values of a sink.
func (a *assembler) values(dt arrow.DataType, s *sink, valid *memory.Buffer, length, nulls int) arrow.ArrayData {
	values := s.finish()
	defer releaseBuffers(values)
	if s.t.items > 0 {
		return a.fixedList(dt, s, values, valid, length, nulls)
	}
	return array.NewData(dt, length, append([]*memory.Buffer{valid}, values...), nil, nulls, 0)
}

// packed builds a packed struct, or a fixed size list of them, with the fields n
// has of those of whole.
func (a *assembler) packed(n, whole *schema.Node, s *sink, valid *memory.Buffer, length, nulls int) arrow.ArrayData {
	if t, ok := n.Type.(*arrow.FixedSizeListType); ok {
		items := a.packed(n.Children[0], whole.Children[0], s, nil, length*int(t.Len()), 0)
		defer items.Release()
		return array.NewData(n.Type, length, []*memory.Buffer{valid}, []arrow.ArrayData{items}, nulls, 0)
	}
	var children []arrow.ArrayData
	for _, c := range n.Children {
		i := slices.IndexFunc(whole.Children, func(w *schema.Node) bool { return w.Field.GetId() == c.Field.GetId() })
		var child arrow.ArrayData
		if f := s.fields[i]; f.t.kind == packedValues {
			child = a.packed(c, whole.Children[i], f, nil, length, 0)
		} else {
			child = a.values(c.Type, f, nil, length, 0)
		}
		defer child.Release()
		children = append(children, child)
	}
	return array.NewData(n.Type, length, []*memory.Buffer{valid}, children, nulls, 0)
}

// fixedStructs builds a fixed size list of structs. Each of its items has the
// levels of the list.
func (a *assembler) fixedStructs(n *schema.Node) (part, error) {
	child, err := a.node(n.Children[0])
	if err != nil {
		return part{}, err
	}
	defer child.data.Release()
	dim := int(n.Type.(*arrow.FixedSizeListType).Len())
	p := part{levels: child.levels}
	if child.data.Len()%dim != 0 || !p.levels.joinItems(dim) {
		return part{}, corrupt("%d items in fixed size lists of %d, or some of a null list that are not", child.data.Len(), dim)
	}
	valid, length, nulls := a.validity(&p.levels)
	defer releaseBuffer(valid)
	if length != child.data.Len()/dim {
		return part{}, corrupt("%d items for %d fixed size lists of %d", child.data.Len(), length, dim)
	}
	p.data = array.NewData(n.Type, length, []*memory.Buffer{valid}, []arrow.ArrayData{child.data}, nulls, 0)
	return p, nil
}

// fixedList builds a fixed size list, and those inside it, from the innermost
// items outwards.
func (a *assembler) fixedList(dt arrow.DataType, s *sink, values []*memory.Buffer, valid *memory.Buffer, length, nulls int) arrow.ArrayData {
	types := make([]arrow.DataType, len(s.t.dims)+1) // outer first, then the items
	types[0] = dt
	for i := range s.t.dims {
		types[i+1] = types[i].(*arrow.FixedSizeListType).Elem()
	}
	buffers, children := values[:1], []arrow.ArrayData(nil)
	n := length * s.t.items
	for i := len(s.t.dims) - 1; i >= 0; i-- {
		items := itemsData(types[i+1], n, s.finishItemValid(i), buffers, children)
		defer items.Release()
		buffers, children = nil, []arrow.ArrayData{items}
		n /= s.t.dims[i]
	}
	return array.NewData(dt, length, []*memory.Buffer{valid}, children, nulls, 0)
}

// itemsData takes over the validity.
func itemsData(dt arrow.DataType, n int, valid *memory.Buffer, buffers []*memory.Buffer, children []arrow.ArrayData) arrow.ArrayData {
	defer releaseBuffer(valid)
	nulls := 0
	if valid != nil {
		nulls = array.UnknownNullCount
	}
	return array.NewData(dt, n, append([]*memory.Buffer{valid}, buffers...), children, nulls, 0)
}

// structure builds a struct. All children carry the levels of the struct; those
// of the first one are used.
func (a *assembler) structure(n *schema.Node) (part, error) {
	children := make([]arrow.ArrayData, 0, len(n.Children))
	defer func() {
		for _, c := range children {
			c.Release()
		}
	}()
	var p part
	for i, c := range n.Children {
		child, err := a.node(c)
		if err != nil {
			return part{}, err
		}
		children = append(children, child.data)
		if i == 0 {
			p.levels = child.levels
		}
	}
	if len(children) == 0 {
		return part{}, unsupported("a struct without fields")
	}
	valid, length, nulls := a.validity(&p.levels)
	defer releaseBuffer(valid)
	for _, c := range children {
		if c.Len() != length {
			return part{}, corrupt("a field of %d values in a struct of %d", c.Len(), length)
		}
	}
	p.data = array.NewData(n.Type, length, []*memory.Buffer{valid}, children, nulls, 0)
	return p, nil
}

func (a *assembler) list(n *schema.Node) (part, error) {
	child, err := a.node(n.Children[0])
	if err != nil {
		return part{}, err
	}
	defer child.data.Release()
	if err := checkMap(n, child.data); err != nil {
		return part{}, err
	}
	if n.Type.ID() != arrow.LARGE_LIST && child.data.Len() > math.MaxInt32 {
		return part{}, errBatchTooLarge
	}
	p := part{levels: child.levels}
	offsets, valid, length, nulls := a.offsets(&p.levels, n.Type.ID() == arrow.LARGE_LIST, child.data.Len())
	defer releaseBuffer(offsets)
	defer releaseBuffer(valid)
	if length < 0 {
		return part{}, corrupt("lists of other than the %d values there are", child.data.Len())
	}
	p.data = array.NewData(n.Type, length, []*memory.Buffer{valid, offsets}, []arrow.ArrayData{child.data}, nulls, 0)
	return p, nil
}

// checkMap refuses what Arrow does not take for the entries of a map.
func checkMap(n *schema.Node, entries arrow.ArrayData) error {
	if n.Type.ID() != arrow.MAP {
		return nil
	}
	if entries.NullN() != 0 || entries.Children()[0].NullN() != 0 {
		return corrupt("a map with null entries or keys")
	}
	return nil
}

// offsets unravels a list layer. The length is negative when the levels do not
// add up to the number of elements.
func (a *assembler) offsets(u *unraveler, wide bool, elements int) (offsets, valid *memory.Buffer, length, nulls int) {
	size := 4
	if wide {
		size = 8
	}
	offsets = memory.NewResizableBuffer(a.mem)
	offsets.Resize((len(u.b.rep) + 1) * size)
	bits := memory.NewResizableBuffer(a.mem)
	bits.Resize((len(u.b.rep) + 7) / 8)
	clear(bits.Bytes())
	put, set := offsets.Bytes(), bits.Bytes()
	at := 0
	write := func(i, v int) {
		if wide {
			binary.LittleEndian.PutUint64(put[i*8:], uint64(v))
			return
		}
		binary.LittleEndian.PutUint32(put[i*4:], uint32(v))
	}
	length, got := u.lists(func(start int, ok bool) {
		write(at, start)
		if ok {
			set[at>>3] |= 1 << (at & 7)
		} else {
			nulls++
		}
		at++
	})
	write(length, got)
	trim(offsets, (length+1)*size)
	trim(bits, (length+7)/8)
	if got != elements {
		length = -1
	}
	if nulls == 0 {
		bits.Release()
		bits = nil
	}
	return offsets, bits, length, nulls
}

func releaseBuffer(b *memory.Buffer) {
	if b != nil {
		b.Release()
	}
}

func releaseBuffers(bs []*memory.Buffer) {
	for _, b := range bs {
		releaseBuffer(b)
	}
}
