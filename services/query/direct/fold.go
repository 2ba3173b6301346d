// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/fold"
	"github.com/lakeplane/lake/services/query/rowfilter"
)

const (
	// foldRows are the rows of a batch that is folded: its group numbers and one
	// column stay in the processor's cache.
	foldRows = 32 << 10
	// rowsAThread are as many as are worth another thread.
	rowsAThread = 128 << 10
	// mostThreads fold the rows of one statement.
	mostThreads = 16
)

// resolveSummary finds the columns of a summary.
func (s *Statement) resolveSummary(r *Reading, table *arrow.Schema) bool {
	if len(s.Columns) != r.schema.NumFields() {
		return false
	}
	f := &folding{order: s.Summary.Order}
	place := func(column int) int {
		at := slices.Index(r.columns, column)
		if at < 0 {
			at, r.columns = len(r.columns), append(r.columns, column)
		}
		return at
	}
	r.columns = []int{}
	var made []arrow.Field
	for _, name := range s.Summary.Groups {
		column, ok := s.groupColumn(table, name)
		if !ok || !fold.Groups(table.Field(column).Type) {
			return false
		}
		if at := place(column); at == len(f.spec.Keys) {
			f.spec.Keys = append(f.spec.Keys, at)
			made = append(made, table.Field(column))
		}
	}
	for i, c := range s.Columns {
		wanted := r.schema.Field(i)
		if c.Func == 0 {
			column, ok := columnNamed(table, c.Name)
			at := slices.Index(r.columns[:len(f.spec.Keys)], column)
			if !ok || at < 0 || !asStored(table.Field(column), wanted) {
				return false
			}
			f.from = append(f.from, at)
			continue
		}
		a, field, ok := c.aggregate(table, place)
		if !ok || !arrow.TypeEqual(field.Type, wanted.Type) || !wanted.Nullable {
			return false
		}
		f.spec.Aggregates = append(f.spec.Aggregates, a)
		f.from = append(f.from, len(made))
		made = append(made, field)
	}
	f.made = arrow.NewSchema(made, nil)
	r.folding = f
	return true
}

// groupColumn finds a column that groups are told apart by.
func (s *Statement) groupColumn(table *arrow.Schema, name string) (int, bool) {
	if !hasColumn(table, name) {
		at, _, ok := s.given(name)
		if !ok || s.Columns[at].Func != 0 || s.Qualifier != "" {
			return 0, false
		}
		name = s.Columns[at].Name
	}
	return columnNamed(table, name)
}

// aggregate is a call over columns, each at the place it is given.
func (c Column) aggregate(table *arrow.Schema, place func(int) int) (a fold.Aggregate, field arrow.Field, ok bool) {
	a = fold.Aggregate{Func: c.Func, Filter: -1}
	var dt arrow.DataType
	if c.Name != "" {
		column, ok := columnNamed(table, c.Name)
		if !ok {
			return a, field, false
		}
		a.Column, dt = place(column), table.Field(column).Type
	}
	if c.Filter != "" {
		column, ok := columnNamed(table, c.Filter)
		if !ok || table.Field(column).Type.ID() != arrow.BOOL {
			return a, field, false
		}
		a.Filter = place(column)
	}
	field, ok = c.called(dt)
	return a, field, ok
}

// called is the field of a call over a column of a type, nil for none.
func (c Column) called(dt arrow.DataType) (arrow.Field, bool) {
	dt, ok := c.Func.Type(dt)
	return arrow.Field{Name: c.Call, Type: dt, Nullable: true}, ok
}

// Threads is how many threads are worth folding a table's rows.
func Threads(table rowfilter.Source) int {
	return int(min(table.Rows()/rowsAThread+1, mostThreads, uint64(runtime.GOMAXPROCS(0))))
}

// Summarize reads the rows of a table, or of a part of it that has all rows which
// Where asks for, and returns the result, under the planned schema, for the caller
// to release. Each of the threads takes as much memory as a [fold.Fold] may.
// [fold.ErrEngine] means that only the engine knows the result, or that this
// memory is not enough.
func (r *Reading) Summarize(ctx context.Context, table rowfilter.Source, threads int) (arrow.RecordBatch, error) {
	opts := engine.ScanOptions{Columns: r.columns, BatchRows: foldRows}
	if len(r.Where) > 0 {
		table = rowfilter.Exact(table, r.Where)
		opts.Columns = r.withConditions()
	}
	made, err := r.foldAll(ctx, table, opts, threads)
	if err != nil {
		return nil, err
	}
	defer made.Release()
	columns := make([]arrow.Array, len(r.folding.from))
	for i, at := range r.folding.from {
		columns[i] = made.Column(at)
	}
	result := array.NewRecordBatch(r.schema, columns, made.NumRows())
	defer result.Release()
	return r.wanted(result)
}

// foldAll folds a scan, on several threads where there is much of it.
func (r *Reading) foldAll(ctx context.Context, table rowfilter.Source, opts engine.ScanOptions, threads int) (arrow.RecordBatch, error) {
	schema := engine.Project(table.Schema(), opts.Columns)
	folds := make([]*fold.Fold, threads)
	for i := range folds {
		var err error
		if folds[i], err = fold.New(schema, r.folding.spec); err != nil {
			return nil, err
		}
	}
	scan, err := table.Scan(ctx, opts)
	if err != nil {
		return nil, err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, f := range folds {
		g.Go(func() error { return foldScan(ctx, scan, f) })
	}
	if err := errors.Join(g.Wait(), scan.Close()); err != nil {
		return nil, err
	}
	for _, other := range folds[1:] {
		if err := folds[0].Merge(other); err != nil {
			return nil, err
		}
	}
	return folds[0].Batch(r.folding.made)
}

func foldScan(ctx context.Context, scan engine.Scan, f *fold.Fold) error {
	for {
		rec, err := scan.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = f.Add(rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
}

// wanted sorts a result and takes the rows of it that are wanted.
func (r *Reading) wanted(result arrow.RecordBatch) (arrow.RecordBatch, error) {
	from := min(r.offset, result.NumRows())
	to := from + min(r.limit, result.NumRows()-from)
	if len(r.folding.order) == 0 || from == to {
		return result.NewSlice(from, to), nil
	}
	sorted := rowfilter.Pick(result, sortedRows(result, r.folding.order)[from:to])
	if sorted == nil {
		return nil, lake.Errorf(lake.Unknown, "%d rows of %d could not be put together", to-from, result.NumRows())
	}
	return sorted, nil
}
