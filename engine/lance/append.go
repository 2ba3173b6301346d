// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/lance/lancepb"
)

// data is what one append brought: a data file that is written already, or, of
// a small append, its rows.
type data struct {
	*shape
	loc      lake.Location
	rows     uint64
	fragment *lancepb.DataFragment // nil without rows, and for held ones
	held     []arrow.RecordBatch
	memory   uint64
	// written is the file that holds the rows of this and of the following
	// data, made for a version that was not committed; see [joiner].
	written *joined
}

func (d *data) Rows() uint64   { return d.rows }
func (d *data) Memory() uint64 { return d.memory }

func (d *data) Bytes() uint64 {
	n := d.memory
	for _, f := range d.fragment.GetFiles() {
		n += f.GetFileSizeBytes()
	}
	return n
}

// StageData implements [engine.Engine]. The rows of a small append are held in
// memory, so that all those that join one version share one data file: a file
// costs a sync, and each fragment costs every later version and scan a little.
// The rows of others go into a file of their own, at once.
func (e *Engine) StageData(ctx context.Context, loc lake.Location, s *arrow.Schema, rows array.RecordReader) (engine.Data, error) {
	if err := engine.CheckSameSchema(s, rows.Schema()); err != nil {
		return nil, err
	}
	shape, err := e.shapes.of(s)
	if err != nil {
		return nil, err
	}
	d := &data{loc: loc, shape: shape}
	if err := e.stageData(ctx, d, &nullChecker{RecordReader: rows, schema: s}); err != nil {
		return nil, lake.Wrap("stage rows for "+string(loc), err)
	}
	return d, nil
}

func (e *Engine) stageData(ctx context.Context, d *data, rows array.RecordReader) error {
	for rows.Next() {
		batch := rows.RecordBatch()
		if d.memory+engine.BatchSize(batch) > e.hold {
			return e.writeData(ctx, d, &resumed{RecordReader: rows, first: append(d.held, batch)})
		}
		if err := d.holdCopy(batch); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (d *data) holdCopy(batch arrow.RecordBatch) error {
	copied, err := engine.CopyBatch(batch)
	if err != nil {
		return err
	}
	d.held = append(d.held, copied)
	d.memory += engine.BatchSize(copied)
	d.rows += uint64(copied.NumRows())
	return nil
}

func (e *Engine) writeData(ctx context.Context, d *data, rows array.RecordReader) error {
	fragment, err := e.writing(d.compact).WriteRows(ctx, e.folder(d.loc), d.layout, rows)
	if err != nil {
		return err
	}
	d.fragment, d.rows = fragment, fragment.GetPhysicalRows()
	d.held, d.memory = nil, 0
	return nil
}

// resumed is a reader of which some batches were taken out, the last of them
// still its current one.
type resumed struct {
	array.RecordReader
	first []arrow.RecordBatch
	batch arrow.RecordBatch
}

func (r *resumed) Next() bool {
	if len(r.first) > 0 {
		r.batch, r.first = r.first[0], r.first[1:]
		return true
	}
	r.batch = nil
	return r.RecordReader.Next()
}

func (r *resumed) RecordBatch() arrow.RecordBatch {
	if r.batch != nil {
		return r.batch
	}
	return r.RecordReader.RecordBatch()
}

// nullChecker stops at a batch with a null where none may be.
type nullChecker struct {
	array.RecordReader
	schema *arrow.Schema
	err    error
}

func (r *nullChecker) Next() bool {
	if r.err != nil || !r.RecordReader.Next() {
		return false
	}
	r.err = engine.CheckNulls(r.schema, r.RecordBatch())
	return r.err == nil
}

func (r *nullChecker) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.RecordReader.Err()
}

// StageAppend implements [engine.Engine]. Its cost grows with the number of
// fragments only by the bytes of the manifest; neither the manifest of a base
// that this engine staged itself nor any data is read.
func (e *Engine) StageAppend(ctx context.Context, base lake.Snapshot, adds []engine.Append) (engine.Staged, error) {
	staged, err := e.stageAppend(ctx, base, adds)
	if err != nil {
		return engine.Staged{}, lake.Wrap(fmt.Sprintf("stage version %d of %s", base.Version+1, base.Location), err)
	}
	return staged, nil
}

func (e *Engine) stageAppend(ctx context.Context, base lake.Snapshot, adds []engine.Append) (engine.Staged, error) {
	m, err := e.manifest(ctx, base)
	if err != nil {
		return engine.Staged{}, err
	}
	j, err := join(ctx, base.Location, m, adds)
	if err != nil {
		return engine.Staged{}, err
	}
	id := lake.NewID()
	next, err := m.Append(j.fragments, format.Commit{UUID: id.String(), Time: e.now(), Properties: encodeOperations(adds)})
	if err != nil {
		return engine.Staged{}, err
	}
	snap := base
	snap.Version++
	// The manifest names the files by what they hold, so that all of them may
	// be written at once. Nothing refers to any of them before the commit.
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range j.files {
		group.Go(func() error { return f.write(ctx, e.store, base.Location) })
	}
	snap, err = e.stage(ctx, snap, next, id)
	if failed := group.Wait(); failed != nil {
		err = failed // the cause, where the other was cancelled for it
	}
	if err != nil {
		return engine.Staged{}, err
	}
	return engine.Staged{Snapshot: snap, Ops: records.Advance(base, snap, adds)}, nil
}
