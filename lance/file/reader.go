// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/schema"
)

// Options says how to open a file.
type Options struct {
	// Allocator makes the memory of batches. Default: [memory.DefaultAllocator].
	Allocator memory.Allocator
	// Schema is the field list to read with, usually the manifest's. It may
	// name fields the file does not have. Default: the list in the file.
	Schema []*lancepb.Field
	// Fields and Columns are the pairs of field id and column number of the
	// manifest's entry for this file; negative ids and numbers are skipped.
	// Default: derived from the field list in the file.
	Fields, Columns []int32
}

// Reader reads one data file. It may be used from several goroutines at once
// and holds no resources beyond its source.
type Reader struct {
	c       *container
	mem     memory.Allocator
	fields  []*lancepb.Field
	roots   []*schema.Node
	columns map[int32]int // field id to column
	has     map[int32]bool
	packed  map[int32]*schema.Node // structs that are one column
}

// Open reads the metadata of a file. The source stays with the caller and must
// outlive the reader and its batches.
func Open(ctx context.Context, src Source, o Options) (*Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	in, err := newInput(src)
	if err != nil {
		return nil, err
	}
	r := &Reader{mem: o.Allocator, fields: o.Schema}
	if r.mem == nil {
		r.mem = memory.DefaultAllocator
	}
	if r.c, err = readContainer(in); err != nil {
		return nil, err
	}
	if r.fields == nil {
		r.fields = r.c.descriptor.GetSchema().GetFields()
	}
	if r.roots, err = schema.Tree(r.fields); err != nil {
		return nil, err
	}
	return r, r.mapColumns(o)
}

// mapColumns finds the column of each field.
func (r *Reader) mapColumns(o Options) error {
	ids, numbers := o.Fields, o.Columns
	if len(ids) != len(numbers) {
		return invalid("%d field ids for %d column numbers", len(ids), len(numbers))
	}
	if ids == nil {
		var err error
		if ids, numbers, err = ownColumns(r.c); err != nil {
			return err
		}
	}
	r.columns = make(map[int32]int, len(ids))
	for i, id := range ids {
		if id < 0 || numbers[i] < 0 {
			continue
		}
		if int(numbers[i]) >= len(r.c.columns) {
			return corrupt("field %d is in column %d of %d", id, numbers[i], len(r.c.columns))
		}
		r.columns[id] = int(numbers[i])
	}
	r.has, r.packed = make(map[int32]bool), make(map[int32]*schema.Node)
	for _, n := range r.roots {
		r.markHeld(n)
	}
	return nil
}

// markHeld records the fields with data in the file, and reports whether n is
// one. Inner fields of 2.0 have columns, but only leaves count.
func (r *Reader) markHeld(n *schema.Node) bool {
	held := false
	for _, c := range n.Children {
		held = r.markHeld(c) || held
	}
	if len(n.Children) == 0 {
		_, held = r.columns[n.Field.GetId()]
	}
	if !held && r.isPacked(n) {
		r.packed[n.Field.GetId()], held = n, true
		n.Walk(func(c *schema.Node) { r.has[c.Field.GetId()] = true })
	}
	if held {
		r.has[n.Field.GetId()] = true
	}
	return held
}

// isPacked tells whether a field whose children have no columns is one column
// itself. To leave it out would look as if it had no values.
func (r *Reader) isPacked(n *schema.Node) bool {
	_, column := r.columns[n.Field.GetId()]
	return column && len(n.Children) > 0 && (r.c.minor > 0 || inOneColumn(n, true))
}

// inOneColumn tells whether a field and what is below it are one column: packed
// structs are, and in version 2.0 the structs of fixed size lists.
func inOneColumn(n *schema.Node, v20 bool) bool {
	return len(n.Children) > 0 && (n.Packed() || v20 && n.Type.ID() == arrow.FIXED_SIZE_LIST)
}

// ownColumns pairs the fields of the list in the file with its columns: in
// pre-order, all fields in 2.0 and leaves later.
func ownColumns(c *container) (ids, numbers []int32, err error) {
	roots, err := schema.Tree(c.descriptor.GetSchema().GetFields())
	if err != nil {
		return nil, nil, err
	}
	add := func(n *schema.Node) {
		numbers = append(numbers, int32(len(ids)))
		ids = append(ids, n.Field.GetId())
	}
	for _, root := range roots {
		walkColumns(root, c.minor == 0, add)
	}
	return ids, numbers, nil
}

// walkColumns calls add for the fields with a column, in pre-order.
func walkColumns(n *schema.Node, inner bool, add func(*schema.Node)) {
	if inOneColumn(n, inner) {
		add(n)
		return
	}
	if inner || len(n.Children) == 0 && n.Type.ID() != arrow.STRUCT {
		add(n)
	}
	for _, c := range n.Children {
		walkColumns(c, inner, add)
	}
}

// Rows is the number of rows of the file.
func (r *Reader) Rows() uint64 { return r.c.descriptor.GetLength() }

// Version is the format version of the file, for example 2 and 1.
func (r *Reader) Version() (major, minor uint32) { return r.c.major, r.c.minor }

// Fields returns the field list the reader uses: that of the options, else
// that of the file. The caller must not change it.
func (r *Reader) Fields() []*lancepb.Field { return r.fields }

// Metadata returns the schema metadata in the file. The caller must not change
// it.
func (r *Reader) Metadata() map[string][]byte { return r.c.descriptor.GetSchema().GetMetadata() }

// Has reports whether the file holds data of the field or of anything below it.
func (r *Reader) Has(field int32) bool { return r.has[field] }

// Schema returns the Arrow schema of a projection, as batches of [Reader.Scan]
// and [Reader.Take] have it. No fields means all the file has.
func (r *Reader) Schema(fields []int32) (*arrow.Schema, error) {
	roots, err := r.project(fields)
	if err != nil {
		return nil, err
	}
	return schema.SchemaOf(roots, nil), nil
}

// project returns the tree of what the file has of the given fields.
func (r *Reader) project(fields []int32) ([]*schema.Node, error) {
	wanted := make(map[int32]bool, len(fields))
	for _, id := range fields {
		wanted[id] = true
	}
	found := make(map[int32]bool, len(fields))
	var out []*schema.Node
	for _, n := range r.roots {
		keep := make(map[*schema.Node]bool)
		r.selectLeaves(n, len(fields) == 0, wanted, found, keep)
		if kept := n.Prune(func(leaf *schema.Node) bool { return keep[leaf] }); kept != nil {
			out = append(out, kept)
		}
	}
	for _, id := range fields {
		if !found[id] {
			return nil, invalid("the schema has no field %d", id)
		}
	}
	return out, nil
}

// selectLeaves marks the leaves at or below a wanted field that the file has.
func (r *Reader) selectLeaves(n *schema.Node, inside bool, wanted, found map[int32]bool, keep map[*schema.Node]bool) {
	id := n.Field.GetId()
	if wanted[id] {
		inside, found[id] = true, true
	}
	for _, c := range n.Children {
		r.selectLeaves(c, inside, wanted, found, keep)
	}
	if len(n.Children) == 0 && inside && r.has[id] {
		keep[n] = true
	}
}
