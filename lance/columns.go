// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/schema"
)

// Backfill computes the values of new columns for existing rows.
type Backfill struct {
	// Columns are the indexes of the columns that Compute needs.
	Columns []int
	// Compute returns the new columns for the rows of a batch, as many and in
	// their order. It keeps no reference to the batch; the result is released
	// by the caller.
	Compute func(arrow.RecordBatch) (arrow.RecordBatch, error)
}

// AddColumns returns the version after d with more top-level columns at the
// end. With a nil backfill they are null in all rows and must be nullable; no
// data is written then. Field ids are new, even where a dropped column had the
// same name.
func (d *Dataset) AddColumns(ctx context.Context, st Creator, added []arrow.Field, fill *Backfill, c Commit) (*Manifest, error) {
	all := append(slices.Clone(d.registered.Fields()), added...)
	next, fields, err := d.reshape(all)
	if err != nil {
		return nil, err
	}
	fresh, err := d.newFields(added)
	if err != nil {
		return nil, err
	}
	next.pb.Fields = append(slices.Clone(d.manifest.Fields()), fresh...)
	if len(next.pb.Fields) != len(fields) {
		return nil, invalid("the new columns do not fit the table")
	}
	if fill == nil {
		err = allNullable(added)
	} else if err = d.manifest.takesData(); err == nil {
		next.pb.Fragments, err = d.backfill(ctx, st, fresh, fill)
	}
	if err != nil {
		return nil, err
	}
	tx := &lancepb.Transaction{Operation: &lancepb.Transaction_Merge_{Merge: &lancepb.Transaction_Merge{
		Fragments: next.pb.GetFragments(), Schema: next.pb.GetFields(), SchemaMetadata: next.pb.GetSchemaMetadata(),
	}}}
	return finish(next, tx, c, d.manifest.Version()), nil
}

func allNullable(fields []arrow.Field) error {
	for _, f := range fields {
		if !f.Nullable {
			return invalid("column %q is not nullable and has no values for existing rows", f.Name)
		}
	}
	return nil
}

// reshape derives a version whose schema is the registered one with other
// top-level fields. It returns what the fields look like but for their ids.
func (d *Dataset) reshape(fields []arrow.Field) (*Manifest, []*lancepb.Field, error) {
	md := d.registered.Metadata()
	s := arrow.NewSchema(fields, &md)
	shape, err := schema.Stored(s)
	if err != nil {
		return nil, nil, err
	}
	if err := d.manifest.refuseIndexes("a change of columns"); err != nil {
		return nil, nil, err
	}
	next, err := d.manifest.derive()
	if err != nil {
		return nil, nil, err
	}
	extra, err := registeredSchema(s, shape, next.pb.GetSchemaMetadata())
	if err != nil {
		return nil, nil, err
	}
	for k, v := range next.pb.GetTableMetadata() {
		if k != registeredKey {
			if extra == nil {
				extra = map[string]string{}
			}
			extra[k] = v
		}
	}
	next.pb.TableMetadata = extra
	return next, shape, nil
}

// newFields returns the fields with ids that were never used.
func (d *Dataset) newFields(added []arrow.Field) ([]*lancepb.Field, error) {
	fresh, err := schema.Stored(arrow.NewSchema(added, nil))
	if err != nil {
		return nil, err
	}
	base := d.manifest.nextFieldID()
	for _, f := range fresh {
		f.Id += base
		if f.GetParentId() >= 0 {
			f.ParentId += base
		}
	}
	return fresh, nil
}

// nextFieldID looks at data files too: they may still hold a dropped column.
func (m *Manifest) nextFieldID() int32 {
	next := int32(0)
	for _, f := range m.pb.GetFields() {
		next = max(next, f.GetId()+1)
	}
	for _, frag := range m.pb.GetFragments() {
		for _, df := range frag.GetFiles() {
			for _, id := range df.GetFields() {
				next = max(next, id+1)
			}
		}
	}
	return next
}

// backfill writes one more data file for each fragment. It holds values for
// deleted rows too: all files of a fragment have the same rows.
func (d *Dataset) backfill(ctx context.Context, st Creator, fresh []*lancepb.Field, fill *Backfill) ([]*lancepb.DataFragment, error) {
	out := make([]*lancepb.DataFragment, len(d.fragments))
	for i, f := range d.fragments {
		s, err := d.scan(ctx, ScanOptions{Columns: fill.Columns, Ordered: true}, []*fragment{f}, true)
		if err != nil {
			return nil, err
		}
		rows := &backfillReader{scanReader{ctx: ctx, s: s}, fill.Compute}
		written, err := d.write.WriteFragment(ctx, st, fresh, rows)
		rows.Release()
		if err := s.Close(); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, lake.Wrap("fill new columns", err)
		}
		out[i] = proto.CloneOf(f.pb)
		out[i].Files = append(out[i].Files, written.GetFiles()...)
	}
	return out, nil
}

// backfillReader replaces the batches of a scan by what is computed from them.
type backfillReader struct {
	scanReader
	compute func(arrow.RecordBatch) (arrow.RecordBatch, error)
}

func (r *backfillReader) Next() bool {
	if r.err != nil || !r.scanReader.Next() {
		return false
	}
	in := r.batch
	defer in.Release()
	r.batch, r.err = r.compute(in)
	if r.err == nil && r.batch.NumRows() != in.NumRows() {
		r.err = invalid("the new columns have %d rows for %d", r.batch.NumRows(), in.NumRows())
	}
	return r.err == nil
}

// DropColumns returns the version after d without some top-level columns. It
// changes no data file; files that hold nothing else leave the manifest.
func (d *Dataset) DropColumns(columns []int, c Commit) (*Manifest, error) {
	dropped := make(map[int32]bool)
	for _, at := range columns {
		if at < 0 || at >= len(d.rootIDs) {
			return nil, invalid("column %d is not in 0..%d", at, len(d.rootIDs)-1)
		}
		dropped[d.rootIDs[at]] = true
	}
	if len(dropped) == len(d.rootIDs) {
		return nil, invalid("a table needs at least one column")
	}
	var kept []arrow.Field
	for i, f := range d.registered.Fields() {
		if !dropped[d.rootIDs[i]] {
			kept = append(kept, f)
		}
	}
	next, _, err := d.reshape(kept)
	if err != nil {
		return nil, err
	}
	next.pb.Fields = slices.DeleteFunc(slices.Clone(d.manifest.Fields()), func(f *lancepb.Field) bool {
		return dropped[d.rootOf[f.GetId()]]
	})
	next.pb.Fragments = withoutEmptyFiles(next.pb)
	return d.finishProject(next, c), nil
}

// withoutEmptyFiles returns the fragments without the data files that hold no
// field of the schema. One file stays: it tells how many rows there are.
func withoutEmptyFiles(pb *lancepb.Manifest) []*lancepb.DataFragment {
	live := make(map[int32]bool)
	for _, f := range pb.GetFields() {
		live[f.GetId()] = true
	}
	out := make([]*lancepb.DataFragment, len(pb.GetFragments()))
	for i, f := range pb.GetFragments() {
		out[i] = proto.CloneOf(f)
		out[i].Files = slices.DeleteFunc(out[i].Files, func(df *lancepb.DataFile) bool {
			return !slices.ContainsFunc(df.GetFields(), func(id int32) bool { return live[id] })
		})
		if len(out[i].Files) == 0 {
			out[i].Files = f.GetFiles()[:min(1, len(f.GetFiles()))]
		}
	}
	return out
}

// RenameColumn returns the version after d with another name for a top-level
// column.
func (d *Dataset) RenameColumn(column int, name string, c Commit) (*Manifest, error) {
	if column < 0 || column >= len(d.rootIDs) {
		return nil, invalid("column %d is not in 0..%d", column, len(d.rootIDs)-1)
	}
	fields := slices.Clone(d.registered.Fields())
	fields[column].Name = name
	next, _, err := d.reshape(fields)
	if err != nil {
		return nil, err
	}
	next.pb.Fields = slices.Clone(d.manifest.Fields())
	for i, f := range next.pb.Fields {
		if f.GetId() == d.rootIDs[column] {
			next.pb.Fields[i] = proto.CloneOf(f)
			next.pb.Fields[i].Name = name
		}
	}
	return d.finishProject(next, c), nil
}

func (d *Dataset) finishProject(next *Manifest, c Commit) *Manifest {
	tx := &lancepb.Transaction{Operation: &lancepb.Transaction_Project_{Project: &lancepb.Transaction_Project{Schema: next.pb.GetFields()}}}
	return finish(next, tx, c, d.manifest.Version())
}
