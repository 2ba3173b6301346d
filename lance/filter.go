// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// span is a half-open range of rows of a batch.
type span struct{ start, end int64 }

// liveSpans returns the runs of rows that are not deleted in the n rows from
// physical row start on.
func liveSpans(start uint64, n int64, deleted *roaring.Bitmap) []span {
	var out []span
	at := int64(0)
	it := deleted.Iterator()
	it.AdvanceIfNeeded(uint32(start))
	for it.HasNext() {
		gone := int64(uint64(it.Next()) - start)
		if gone >= n {
			break
		}
		if gone > at {
			out = append(out, span{at, gone})
		}
		at = gone + 1
	}
	if at < n {
		out = append(out, span{at, n})
	}
	return out
}

// dropDeleted returns the live rows of a batch that begins at physical row
// start, or nil when there are none. It takes over the reference to the batch.
// Without deletions in the range nothing is copied.
func dropDeleted(batch arrow.RecordBatch, start uint64, deleted *roaring.Bitmap, mem memory.Allocator) (arrow.RecordBatch, error) {
	if deleted == nil {
		return batch, nil
	}
	defer batch.Release()
	spans := liveSpans(start, batch.NumRows(), deleted)
	switch len(spans) {
	case 0:
		return nil, nil
	case 1:
		return batch.NewSlice(spans[0].start, spans[0].end), nil
	}
	return gather(batch, spans, mem)
}

// gather copies the spans of a batch into a new one.
func gather(batch arrow.RecordBatch, spans []span, mem memory.Allocator) (arrow.RecordBatch, error) {
	var rows int64
	for _, s := range spans {
		rows += s.end - s.start
	}
	columns := make([]arrow.Array, 0, batch.NumCols())
	defer func() { releaseAll(columns) }()
	for _, c := range batch.Columns() {
		out, err := gatherColumn(c, spans, mem)
		if err != nil {
			return nil, err
		}
		columns = append(columns, out)
	}
	return array.NewRecordBatch(batch.Schema(), columns, rows), nil
}

func gatherColumn(c arrow.Array, spans []span, mem memory.Allocator) (arrow.Array, error) {
	slices := make([]arrow.Array, len(spans))
	for i, s := range spans {
		slices[i] = array.NewSlice(c, s.start, s.end)
	}
	defer releaseAll(slices)
	return array.Concatenate(slices, mem)
}
