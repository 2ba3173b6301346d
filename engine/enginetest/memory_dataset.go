// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lake/predicate"
)

// deepCopy returns a copy of the batch, under the given schema, that shares no
// memory with it, and its size.
func deepCopy(schema *arrow.Schema, batch arrow.RecordBatch) (arrow.RecordBatch, uint64, error) {
	relabelled := array.NewRecordBatch(schema, batch.Columns(), batch.NumRows())
	defer relabelled.Release()
	out, err := engine.CopyBatch(relabelled)
	if err != nil {
		return nil, 0, err
	}
	return out, engine.BatchSize(out), nil
}

type memoryDataset struct{ v *memoryVersion }

var _ engine.Divider = (*memoryDataset)(nil)

// PieceRows implements [engine.Divider]: what one append added is a piece.
func (d *memoryDataset) PieceRows(context.Context, predicate.Predicate) ([]uint64, error) {
	rows := make([]uint64, len(d.v.chunks))
	for i, c := range d.v.chunks {
		rows[i] = c.rows
	}
	return rows, nil
}

// Slice implements [engine.Divider].
func (d *memoryDataset) Slice(from, to int) (engine.Dataset, error) {
	if from < 0 || from > to || to > len(d.v.chunks) {
		return nil, lake.Errorf(lake.Invalid, "pieces %d to %d: want a range in 0..%d", from, to, len(d.v.chunks))
	}
	v := *d.v
	v.chunks, v.rows = v.chunks[from:to], 0
	for _, c := range v.chunks {
		v.rows += c.rows
	}
	return &memoryDataset{&v}, nil
}

func (d *memoryDataset) Schema() *arrow.Schema { return d.v.schema }
func (d *memoryDataset) Rows() uint64          { return d.v.rows }
func (d *memoryDataset) Bytes() uint64         { return uint64(len(d.v.manifest)) }
func (d *memoryDataset) Close() error          { return nil }

func (d *memoryDataset) Scan(ctx context.Context, opts engine.ScanOptions) (engine.Scan, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	opts, err := opts.Check(d.v.schema)
	if err != nil {
		return nil, err
	}
	s := &memoryScan{ctx: ctx, opts: opts, schema: engine.Project(d.v.schema, opts.Columns)}
	for _, c := range d.v.chunks {
		s.todo = append(s.todo, c.batches...)
	}
	return s, nil
}

// memoryScan hands out slices of the stored batches.
type memoryScan struct {
	ctx    context.Context
	opts   engine.ScanOptions
	schema *arrow.Schema

	mu     sync.Mutex
	todo   []arrow.RecordBatch
	offset int64 // rows of todo[0] that were delivered
	closed bool
}

func (s *memoryScan) Next(ctx context.Context) (arrow.RecordBatch, error) {
	for _, c := range []context.Context{s.ctx, ctx} {
		if err := c.Err(); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, engine.ErrScanClosed
	}
	if len(s.todo) == 0 {
		return nil, io.EOF
	}
	batch := s.todo[0]
	start := s.offset
	end := min(start+s.step(batch), batch.NumRows())
	if s.offset = end; end == batch.NumRows() {
		s.todo, s.offset = s.todo[1:], 0
	}
	return s.project(batch, start, end), nil
}

// step is how many rows of the batch fit the options.
func (s *memoryScan) step(batch arrow.RecordBatch) int64 {
	perRow := max(1, int64(engine.BatchSize(batch))/batch.NumRows())
	return max(1, min(int64(s.opts.BatchRows), int64(s.opts.BatchBytes)/perRow))
}

func (s *memoryScan) project(batch arrow.RecordBatch, start, end int64) arrow.RecordBatch {
	part := batch.NewSlice(start, end)
	defer part.Release()
	columns := make([]arrow.Array, len(s.opts.Columns))
	for i, c := range s.opts.Columns {
		columns[i] = part.Column(c)
	}
	return array.NewRecordBatch(s.schema, columns, end-start)
}

func (s *memoryScan) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}
