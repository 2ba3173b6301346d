// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
)

// Take returns the given rows, counted from 0 over the live rows, in the given
// order and with repetitions, as one batch that the caller releases. columns
// are as in [ScanOptions]. A row that is not there is lake.Invalid.
func (d *Dataset) Take(ctx context.Context, rows []uint64, columns []int) (arrow.RecordBatch, error) {
	o, err := ScanOptions{Columns: columns}.withDefaults(len(d.rootIDs))
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r >= d.rows {
			return nil, invalid("row %d is not in 0..%d", r, d.rows)
		}
	}
	schema := d.project(o.Columns)
	if len(rows) == 0 || len(o.Columns) == 0 {
		return emptyBatch(schema, int64(len(rows))), nil
	}
	order := make([]int, len(rows)) // positions in rows, by row
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rows[a], rows[b]) })
	sorted, err := d.takeSorted(ctx, rows, order, o.Columns, schema)
	if err != nil {
		return nil, err
	}
	defer sorted.Release()
	return d.unsort(sorted, order)
}

func emptyBatch(schema *arrow.Schema, rows int64) arrow.RecordBatch {
	columns := make([]arrow.Array, schema.NumFields())
	for i, f := range schema.Fields() {
		columns[i] = array.MakeArrayOfNull(memory.DefaultAllocator, f.Type, 0)
	}
	defer releaseAll(columns)
	return array.NewRecordBatch(schema, columns, rows)
}

// takeSorted reads the rows fragment by fragment.
func (d *Dataset) takeSorted(ctx context.Context, rows []uint64, order []int, columns []int, schema *arrow.Schema) (arrow.RecordBatch, error) {
	var batches []arrow.RecordBatch
	defer func() {
		for _, b := range batches {
			b.Release()
		}
	}()
	for at := 0; at < len(order); {
		f := d.fragments[d.fragmentOf(rows[order[at]])]
		var offsets []uint64
		for ; at < len(order) && rows[order[at]] < f.first+f.live; at++ {
			offsets = append(offsets, rows[order[at]]-f.first)
		}
		batch, err := d.takeFragment(ctx, f, offsets, columns, schema)
		if err != nil {
			return nil, lake.Wrap(fmt.Sprintf("take from fragment %d", f.pb.GetId()), err)
		}
		batches = append(batches, batch)
	}
	return d.concatenate(batches, schema)
}

// takeFragment reads the live rows at the ascending offsets.
func (d *Dataset) takeFragment(ctx context.Context, f *fragment, offsets []uint64, columns []int, schema *arrow.Schema) (arrow.RecordBatch, error) {
	deleted, err := f.deletions(ctx, d.view.st)
	if err != nil {
		return nil, err
	}
	physical(offsets, deleted)
	p, err := d.plan(ctx, f, columns)
	if err != nil {
		return nil, err
	}
	defer p.release()
	for _, part := range p.parts {
		batch, err := part.h.reader.Take(ctx, offsets, part.ids)
		if err != nil {
			return nil, err
		}
		defer batch.Release()
		part.batch = batch
	}
	return p.batch(schema, int64(len(offsets)), d.files.mem)
}

// physical turns ascending offsets among the live rows into physical ones.
func physical(offsets []uint64, deleted *roaring.Bitmap) {
	if deleted == nil {
		return
	}
	it := deleted.Iterator()
	var gone uint64 // deleted rows before the current offset
	for i := range offsets {
		for it.HasNext() && uint64(it.PeekNext()) <= offsets[i]+gone {
			it.Next()
			gone++
		}
		offsets[i] += gone
	}
}

func (d *Dataset) concatenate(batches []arrow.RecordBatch, schema *arrow.Schema) (arrow.RecordBatch, error) {
	if len(batches) == 1 {
		batches[0].Retain()
		return batches[0], nil
	}
	var rows int64
	columns := make([]arrow.Array, 0, schema.NumFields())
	defer func() { releaseAll(columns) }()
	for i := range schema.NumFields() {
		parts := make([]arrow.Array, len(batches))
		for j, b := range batches {
			parts[j] = b.Column(i)
		}
		c, err := array.Concatenate(parts, d.files.mem)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
		rows = int64(c.Len())
	}
	return array.NewRecordBatch(schema, columns, rows), nil
}

// unsort puts row i of the batch at position order[i].
func (d *Dataset) unsort(batch arrow.RecordBatch, order []int) (arrow.RecordBatch, error) {
	if slices.IsSorted(order) {
		batch.Retain()
		return batch, nil
	}
	at := make([]int64, len(order)) // row of the batch for each position
	for row, position := range order {
		at[position] = int64(row)
	}
	var spans []span
	for _, row := range at {
		if n := len(spans); n > 0 && spans[n-1].end == row {
			spans[n-1].end++
			continue
		}
		spans = append(spans, span{row, row + 1})
	}
	return gather(batch, spans, d.files.mem)
}
