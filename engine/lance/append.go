// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/schema"
)

// data is the staged data of one append: at most one data file.
type data struct {
	loc      lake.Location
	fields   []*lancepb.Field
	fragment *lancepb.DataFragment // nil without rows
}

func (d *data) Rows() uint64 { return d.fragment.GetPhysicalRows() }

func (d *data) Bytes() uint64 {
	var n uint64
	for _, f := range d.fragment.GetFiles() {
		n += f.GetFileSizeBytes()
	}
	return n
}

// StageData implements [engine.Engine]. The rows go into one data file.
func (e *Engine) StageData(ctx context.Context, loc lake.Location, s *arrow.Schema, rows array.RecordReader) (engine.Data, error) {
	if err := engine.CheckSameSchema(s, rows.Schema()); err != nil {
		return nil, err
	}
	fields, err := schema.FromArrow(s)
	if err != nil {
		return nil, err
	}
	fragment, err := format.WriteFragment(ctx, e.folder(loc), fields, &nullChecker{RecordReader: rows, schema: s})
	if err != nil {
		return nil, lake.Wrap("stage rows for "+string(loc), err)
	}
	return &data{loc: loc, fields: fields, fragment: fragment}, nil
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
	fragments, err := fragmentsOf(base.Location, m, adds)
	if err != nil {
		return engine.Staged{}, err
	}
	id := lake.NewID()
	next, err := m.Append(fragments, format.Commit{UUID: id.String(), Time: e.now(), Properties: encodeOperations(adds)})
	if err != nil {
		return engine.Staged{}, err
	}
	snap := base
	snap.Version++
	if snap, err = e.stage(ctx, snap, next, id); err != nil {
		return engine.Staged{}, err
	}
	return engine.Staged{Snapshot: snap, Ops: records.Advance(base, snap, adds)}, nil
}

// fragmentsOf collects the data of the operations, which must fit the table.
func fragmentsOf(loc lake.Location, m *format.Manifest, adds []engine.Append) ([]*lancepb.DataFragment, error) {
	var out []*lancepb.DataFragment
	for _, a := range adds {
		d, ok := a.Data.(*data)
		if !ok || d.loc != loc {
			return nil, lake.Errorf(lake.Invalid, "operation %s: its data were not staged for %s by this engine", a.Operation.ID, loc)
		}
		if !sameFields(d.fields, m.Fields()) {
			return nil, lake.Errorf(lake.Precondition, "operation %s: the table's columns changed since its data were staged", a.Operation.ID)
		}
		if d.fragment != nil {
			out = append(out, d.fragment)
		}
	}
	return out, nil
}

// sameFields compares what data files depend on: ids, nesting and types.
func sameFields(a, b []*lancepb.Field) bool {
	if len(a) != len(b) {
		return false
	}
	for i, f := range a {
		g := b[i]
		if f.GetId() != g.GetId() || f.GetParentId() != g.GetParentId() || f.GetName() != g.GetName() ||
			f.GetLogicalType() != g.GetLogicalType() || f.GetNullable() != g.GetNullable() {
			return false
		}
	}
	return true
}
