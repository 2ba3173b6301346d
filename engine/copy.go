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
	columns := make([]arrow.Array, batch.NumCols())
	for i, c := range batch.Columns() {
		copied, err := array.Concatenate([]arrow.Array{c}, memory.NewGoAllocator())
		if err != nil {
			return nil, lake.Errorf(lake.Invalid, "copy column %q: %w", batch.ColumnName(i), err)
		}
		columns[i] = copied
	}
	return array.NewRecordBatch(batch.Schema(), columns, batch.NumRows()), nil
}
