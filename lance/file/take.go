// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
)

// takeParallel is the number of columns read at once from a source that is not
// in memory.
const takeParallel = 8

// Take returns the given rows, in the given order and with repetitions, as one
// batch that the caller releases. An empty fields means all the file has.
// Ascending rows are cheapest; others are sorted first and put in order after.
func (r *Reader) Take(ctx context.Context, rowNumbers []uint64, fields []int32) (arrow.RecordBatch, error) {
	sorted := rowNumbers
	inOrder := ascending(rowNumbers)
	if !inOrder {
		sorted = slices.Clone(rowNumbers)
		slices.Sort(sorted)
		sorted = slices.Compact(sorted)
	}
	if n := len(sorted); n > 0 && sorted[n-1] >= r.Rows() {
		return nil, invalid("row %d of a file with %d", sorted[n-1], r.Rows())
	}
	parallel := 1
	if r.c.in.mem == nil {
		parallel = takeParallel // to wait for several columns at once
	}
	b, err := r.newBatcher(fields, parallel)
	if err != nil {
		return nil, err
	}
	defer b.close()
	batch, err := b.batch(ctx, runsOf(sorted), 0, maxBatchBytes)
	if errors.Is(err, errBatchTooLarge) {
		return nil, invalid("%d rows are too many for one batch: %v", len(rowNumbers), err)
	}
	if err != nil || inOrder {
		return batch, err
	}
	defer batch.Release()
	return r.reorder(ctx, batch, sorted, rowNumbers)
}

func ascending(rowNumbers []uint64) bool {
	for i := 1; i < len(rowNumbers); i++ {
		if rowNumbers[i] <= rowNumbers[i-1] {
			return false
		}
	}
	return true
}

// runsOf joins consecutive rows to ranges.
func runsOf(sorted []uint64) []rows {
	var out []rows
	for _, n := range sorted {
		if k := len(out); k > 0 && out[k-1].to == n {
			out[k-1].to++
			continue
		}
		out = append(out, rows{n, n + 1})
	}
	return out
}

// reorder makes the batch of `wanted` from that of `have`, which is sorted.
func (r *Reader) reorder(ctx context.Context, batch arrow.RecordBatch, have, wanted []uint64) (arrow.RecordBatch, error) {
	b := array.NewInt64Builder(r.mem)
	defer b.Release()
	b.Reserve(len(wanted))
	for _, n := range wanted {
		i, _ := slices.BinarySearch(have, n)
		b.UnsafeAppend(int64(i))
	}
	indices := b.NewArray()
	defer indices.Release()
	ctx = compute.WithAllocator(ctx, r.mem)
	cols := make([]arrow.Array, batch.NumCols())
	defer func() {
		for _, c := range cols {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, c := range batch.Columns() {
		var err error
		if cols[i], err = compute.TakeArray(ctx, c, indices); err != nil {
			return nil, unsupported("reordering column %s: %v", batch.ColumnName(i), err)
		}
	}
	return array.NewRecordBatch(batch.Schema(), cols, int64(len(wanted))), nil
}
