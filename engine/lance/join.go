// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"bytes"
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/objstore"
)

// joined is one data file made in memory of the held rows of neighbouring
// appends.
type joined struct {
	members  []*data
	fragment *lancepb.DataFragment
	name     string // below the location
	bytes    []byte // nil once they are stored
}

// write stores the file, unless an attempt before did.
func (f *joined) write(ctx context.Context, store objstore.Store, loc lake.Location) error {
	if f.bytes == nil {
		return nil
	}
	// A repeated attempt of the store's own may find the object it made.
	if err := objstore.StageIdentical(ctx, store, loc.Prefix()+f.name, f.bytes); err != nil {
		return lake.Wrap("write data file", err)
	}
	f.bytes = nil
	return nil
}

// joiner collects the fragments of a version in the order of its appends.
type joiner struct {
	fragments []*lancepb.DataFragment
	files     []*joined
	run       []*data // with held rows, not in a file yet
}

// join returns the fragments of the appends, which must fit the table, and the
// files still to be written. Held rows of neighbours share a file. A version
// that has to be staged again, on another base, finds the file it made.
func join(ctx context.Context, loc lake.Location, m *format.Manifest, adds []engine.Append) (*joiner, error) {
	j := new(joiner)
	for _, a := range adds {
		d, ok := a.Data.(*data)
		if !ok || d.loc != loc {
			return nil, lake.Errorf(lake.Invalid, "operation %s: its data were not staged for %s by this engine", a.Operation.ID, loc)
		}
		if !sameFields(d.layout.Fields(), m.Fields()) {
			return nil, lake.Errorf(lake.Precondition, "operation %s: the table's columns changed since its data were staged", a.Operation.ID)
		}
		switch {
		case len(d.held) > 0 && d.rows > 0:
			j.run = append(j.run, d)
		case d.fragment != nil:
			if err := j.flush(ctx); err != nil {
				return nil, err
			}
			j.fragments = append(j.fragments, d.fragment)
		}
	}
	return j, j.flush(ctx)
}

// flush makes a file of the run.
func (j *joiner) flush(ctx context.Context) error {
	if len(j.run) == 0 {
		return nil
	}
	first := j.run[0]
	if first.written == nil || !slices.Equal(first.written.members, j.run) {
		f, err := encodeRun(ctx, j.run)
		if err != nil {
			return err
		}
		first.written = f
	}
	j.files = append(j.files, first.written)
	j.fragments = append(j.fragments, first.written.fragment)
	j.run = nil
	return nil
}

// joinedRoom is about what a file has beside values: padding and metadata.
const joinedRoom = 4 << 10

func encodeRun(ctx context.Context, run []*data) (*joined, error) {
	var batches []arrow.RecordBatch
	memory := uint64(0)
	for _, d := range run {
		batches = append(batches, d.held...)
		memory += d.memory
	}
	rows, err := array.NewRecordReader(batches[0].Schema(), batches)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "join rows: %w", err)
	}
	defer rows.Release()
	var made memoryFiles
	made.Grow(joinedRoom + int(memory))
	fragment, err := format.WriteOptions{Compact: run[0].compact}.WriteRows(ctx, &made, run[0].layout, rows)
	if err != nil {
		return nil, err
	}
	return &joined{members: slices.Clone(run), fragment: fragment, name: made.name, bytes: made.Bytes()}, nil
}

// memoryFiles takes the one file that a fragment is written to.
type memoryFiles struct {
	bytes.Buffer
	name string
}

func (m *memoryFiles) Create(_ context.Context, name string) (format.ObjectWriter, error) {
	m.name = name
	return m, nil
}

func (m *memoryFiles) Put(context.Context, string, []byte) error {
	return lake.Errorf(lake.Unsupported, "a fragment is written as a stream")
}

func (*memoryFiles) Commit() error { return nil }
func (*memoryFiles) Abort() error  { return nil }

// sameFields compares what data files depend on: ids, nesting and types. Fields
// below others may be nullable in the data where they are not in the table: tables
// of before schema.Stored have such.
func sameFields(data, table []*lancepb.Field) bool {
	return slices.EqualFunc(data, table, func(f, g *lancepb.Field) bool {
		fits := f.GetNullable() == g.GetNullable() || f.GetNullable() && f.GetParentId() >= 0
		return fits && f.GetId() == g.GetId() && f.GetParentId() == g.GetParentId() && f.GetName() == g.GetName() &&
			f.GetLogicalType() == g.GetLogicalType()
	})
}

var _ format.Creator = (*memoryFiles)(nil)
