// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
)

// A batch becomes one message, which may have 4 MiB.
const (
	batchBytes = 2 << 20
	batchRows  = 256 << 10
	// few rows are read by the caller alone.
	few = 16 << 10
	// readAhead is how many batches are read while others are sent.
	readAhead = 2
)

// Scan reads the columns that Resolve returned and passes the rows to emit, in
// the order of the table, under the planned schema. emit must not keep a batch
// without retaining it; while it blocks, little is read ahead. Text that is not
// UTF-8 is lake.Corrupt.
func (s *Statement) Scan(ctx context.Context, table sqlengine.Table, columns []int, planned *arrow.Schema, emit func(arrow.RecordBatch) error) error {
	opts := engine.ScanOptions{Columns: columns, BatchBytes: batchBytes, BatchRows: batchRows, Parallel: readAhead, Ordered: true}
	if until := s.Offset + min(s.Limit, math.MaxInt64-s.Offset); until <= few {
		opts.BatchRows, opts.Parallel = max(int(until), 1), 0
	}
	scan, err := table.Scan(ctx, opts)
	if err != nil {
		return err
	}
	w := window{skip: s.Offset, left: s.Limit, schema: planned, emit: emit}
	for err == nil && w.left > 0 {
		var rec arrow.RecordBatch
		if rec, err = scan.Next(ctx); err == nil {
			err = w.pass(rec)
			rec.Release()
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, scan.Close())
}

// window passes on the rows that are wanted.
type window struct {
	skip, left int64
	schema     *arrow.Schema
	emit       func(arrow.RecordBatch) error
}

func (w *window) pass(rec arrow.RecordBatch) error {
	from := min(w.skip, rec.NumRows())
	w.skip -= from
	to := from + min(w.left, rec.NumRows()-from)
	if from == to {
		return nil
	}
	w.left -= to - from
	part := rec.NewSlice(from, to)
	defer part.Release()
	for i, col := range part.Columns() {
		if !isText(col) {
			return lake.Errorf(lake.Corrupt, "column %s has text that is not UTF-8: the table's files are damaged, or were written by something that stores other bytes as text", w.schema.Field(i).Name)
		}
	}
	out := array.NewRecordBatch(w.schema, part.Columns(), to-from)
	defer out.Release()
	return w.emit(out)
}
