// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package rowfilter leaves rows out of batches before they reach the SQL
// engine, when it is certain that a statement does not want them. The engine
// checks every row it gets, so leaving a row in is never wrong; what is gained is
// that the other columns of rows that are left out are neither copied nor looked
// at. DuckDB does the same inside its own table scans, but not for table
// functions. Readers that check no rows ask for [Exact].
package rowfilter

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lake/predicate"
)

const (
	// worthwhile is the share of rows up to which a batch is made smaller:
	// copying most of them costs more than it saves.
	worthwhile = 0.75
	// patience is after how many batches that were not worth it a scan stops
	// looking.
	patience = 8
)

// Source is a table, or a part of one.
type Source interface {
	Schema() *arrow.Schema
	Rows() uint64
	Scan(ctx context.Context, opts storage.ScanOptions) (storage.Scan, error)
}

// Table is a source without rows for which a predicate is certainly not true.
// It is safe for concurrent use as far as its source is.
type Table struct {
	Source
	where predicate.Predicate
	exact bool // see Exact
}

// New returns a source as the predicate leaves it. Rows of the result is the
// source's, and so the most there can be.
func New(s Source, where predicate.Predicate) *Table { return &Table{Source: s, where: where} }

// Scan starts one pass over the rows. Conditions on columns that opts leaves out
// are not looked at.
func (t *Table) Scan(ctx context.Context, opts storage.ScanOptions) (storage.Scan, error) {
	opts, err := opts.Check(t.Schema())
	if err != nil {
		return nil, err
	}
	opts.Glance = t.glance(opts.Columns)
	inner, err := t.Source.Scan(ctx, opts)
	if err != nil {
		return nil, err
	}
	f := compile(t.where, t.Schema(), opts.Columns)
	if f == nil {
		return inner, nil
	}
	return &scan{Scan: inner, filter: f, exact: t.exact}, nil
}

// glance looks at the columns of the conditions, where there are others whose
// reading that can save.
func (t *Table) glance(columns []int) *storage.Glance {
	look := slices.DeleteFunc(predicate.Columns(t.where), func(c int) bool { return !slices.Contains(columns, c) })
	if len(look) == 0 || len(look) == len(columns) {
		return nil
	}
	f := compile(t.where, t.Schema(), look)
	if f == nil {
		return nil
	}
	return &storage.Glance{Columns: look, Wanted: func(batch arrow.RecordBatch) bool {
		if none(f, batch) {
			return false
		}
		numbers := everyRow(int(batch.NumRows()))
		defer spare.Put(numbers)
		return len(f.narrow(batch, *numbers)) > 0
	}}
}

// scan filters the batches of another scan.
type scan struct {
	storage.Scan
	filter  narrower
	exact   bool
	useless atomic.Int64 // batches in a row that were not worth it
}

// Next returns the next batch of which a row may be wanted.
func (s *scan) Next(ctx context.Context) (arrow.RecordBatch, error) {
	for {
		batch, err := s.Scan.Next(ctx)
		if err != nil || s.useless.Load() >= patience {
			return batch, err
		}
		if batch, err = s.apply(batch); batch != nil || err != nil {
			return batch, err
		}
	}
}

// apply takes a batch over and returns what may be wanted of it, nil for nothing.
func (s *scan) apply(batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	if none(s.filter, batch) {
		s.useless.Store(0)
		batch.Release()
		return nil, nil
	}
	rows := int(batch.NumRows())
	numbers := everyRow(rows)
	defer spare.Put(numbers)
	chosen := s.filter.narrow(batch, *numbers)
	if len(chosen) == 0 {
		s.useless.Store(0)
		batch.Release()
		return nil, nil
	}
	if s.exact {
		return s.keep(batch, chosen)
	}
	if float64(len(chosen)) > worthwhile*float64(rows) {
		s.useless.Add(1)
		return batch, nil
	}
	s.useless.Store(0)
	if picked := pick(batch, chosen, maxRuns); picked != nil {
		batch.Release()
		return picked, nil
	}
	return batch, nil
}

// keep leaves the chosen rows and no others.
func (s *scan) keep(batch arrow.RecordBatch, chosen []int32) (arrow.RecordBatch, error) {
	if len(chosen) == int(batch.NumRows()) {
		return batch, nil
	}
	defer batch.Release()
	if picked := pick(batch, chosen, len(chosen)); picked != nil {
		return picked, nil
	}
	return nil, lake.Errorf(lake.Unknown, "%d rows of %d could not be put together", len(chosen), batch.NumRows())
}

// spare are lists of numbers that are not in use.
var spare sync.Pool

// everyRow are the numbers of the rows of a batch.
func everyRow(rows int) *[]int32 {
	list, _ := spare.Get().(*[]int32)
	if list == nil || cap(*list) < rows {
		fresh := make([]int32, max(rows, storage.DefaultBatchRows))
		list = &fresh
	}
	*list = (*list)[:rows]
	for i := range *list {
		(*list)[i] = int32(i)
	}
	return list
}
