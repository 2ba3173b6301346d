// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lake/predicate"
	"github.com/lakeplane/lake/services/query/rowfilter"
)

const (
	// A batch becomes one message, which may have 4 MiB.
	batchBytes = 2 << 20
	batchRows  = 256 << 10
	// lookRows are the rows of which all columns are read when one of them is
	// wanted.
	lookRows = 8 << 10
	// fewRows are read by the caller alone.
	fewRows = 16 << 10
	// readAhead is how many batches are read while others are sent.
	readAhead = 2
)

// Scan reads the rows of a table, or of a part of it that has all rows which
// Where asks for, and passes them to emit, in the order of the table, under the
// planned schema. emit must not keep a batch without retaining it; while it
// blocks, little is read ahead. Values that are not what their type says, such as
// text that is not UTF-8, are lake.Corrupt.
func (r *Reading) Scan(ctx context.Context, table rowfilter.Source, emit func(arrow.RecordBatch) error) error {
	opts := engine.ScanOptions{Columns: r.columns, BatchBytes: batchBytes, BatchRows: batchRows, Parallel: readAhead, Ordered: true}
	until := r.offset + min(r.limit, math.MaxInt64-r.offset)
	switch {
	case len(r.Where) > 0:
		table = rowfilter.Exact(table, r.Where)
		opts.Columns, opts.BatchRows = r.withConditions(), lookRows
	case until <= fewRows:
		opts.BatchRows, opts.Parallel = max(int(until), 1), 0
	}
	scan, err := table.Scan(ctx, opts)
	if err != nil {
		return err
	}
	w := &window{Reading: r, skip: r.offset, left: r.limit, emit: emit}
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
	if err == nil {
		err = w.flush()
	}
	w.drop()
	return errors.Join(err, scan.Close())
}

// withConditions are the columns of the result, and then those that only
// conditions are about.
func (r *Reading) withConditions() []int {
	out := slices.Clone(r.columns)
	for _, c := range predicate.Columns(r.Where) {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// window passes on the rows that are wanted.
type window struct {
	*Reading
	skip, left int64
	emit       func(arrow.RecordBatch) error
	passed     bool
	// small are batches that wait to be sent together.
	small []arrow.RecordBatch
	rows  int64
}

// worthSending is how many rows are sent by themselves. The first ones are,
// however few: somebody waits for them.
const worthSending = 2 << 10

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
	columns := part.Columns()[:w.schema.NumFields()]
	for i, col := range columns {
		if err := check(col); err != nil {
			return lake.Wrap("column "+w.schema.Field(i).Name+" is damaged", err)
		}
	}
	w.small = append(w.small, array.NewRecordBatch(w.schema, columns, to-from))
	if w.rows += to - from; w.passed && w.rows < worthSending {
		return nil
	}
	return w.flush()
}

// flush sends what waits as one batch.
func (w *window) flush() error {
	if len(w.small) == 0 {
		return nil
	}
	defer w.drop()
	w.passed = true
	if len(w.small) == 1 {
		return w.emit(w.small[0])
	}
	joined, err := engine.JoinBatches(w.small)
	if err != nil {
		return err
	}
	defer joined.Release()
	return w.emit(joined)
}

func (w *window) drop() {
	for _, b := range w.small {
		b.Release()
	}
	w.small, w.rows = nil, 0
}
