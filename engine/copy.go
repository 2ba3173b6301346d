// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
)

// CopyBatch returns a copy of the batch that shares no memory with it and
// holds no more than its rows, whatever the batch is a slice of. It lives on
// the Go heap and needs no release.
func CopyBatch(batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	return JoinBatches([]arrow.RecordBatch{batch})
}

// JoinBatches returns a copy of the rows of all batches, of which there is at
// least one, and which have one schema. It lives on the Go heap and needs no
// release.
func JoinBatches(batches []arrow.RecordBatch) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, batches[0].NumCols())
	parts := make([]arrow.Array, len(batches))
	rows := int64(0)
	for _, b := range batches {
		rows += b.NumRows()
	}
	for i := range columns {
		for j, b := range batches {
			parts[j] = b.Column(i)
		}
		joined, err := array.Concatenate(parts, memory.NewGoAllocator())
		if err != nil {
			return nil, lake.Errorf(lake.Invalid, "copy column %q: %w", batches[0].ColumnName(i), err)
		}
		columns[i] = joined
	}
	return array.NewRecordBatch(batches[0].Schema(), columns, rows), nil
}
