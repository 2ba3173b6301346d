// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/file"
	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/schema"
	"github.com/lakeplane/lake/lance/stats"
)

// WriteOptions says how data files are written. The zero value is the default.
type WriteOptions struct {
	// Compact makes files smaller, at a price in processor time for writers and
	// readers; see [file.WriterOptions].
	Compact bool
	// PageBytes is the size at which the pages of a column are cut, from 4 KiB to
	// 512 MiB. Default: 8 MiB.
	PageBytes int64
	// StatsBytes is the size of a data file from which on a sidecar with its
	// statistics is written beside it, for [Dataset.Prune]. 0 means that none is.
	StatsBytes int64
}

// WriteFragment writes rows with the default options; see
// [WriteOptions.WriteFragment].
func WriteFragment(ctx context.Context, st Creator, fields []*lancepb.Field, rows array.RecordReader) (*lancepb.DataFragment, error) {
	return WriteOptions{}.WriteFragment(ctx, st, fields, rows)
}

// WriteFragment writes rows into one new data file and returns the fragment
// that [Manifest.Append] adds, or nil when there are no rows. fields are those
// of the table; the batches must have its Arrow types, up to the names of list
// items and metadata. On failure nothing is left behind but perhaps a sidecar,
// which [Sweep] finds.
func (o WriteOptions) WriteFragment(ctx context.Context, st Creator, fields []*lancepb.Field, rows array.RecordReader) (*lancepb.DataFragment, error) {
	l, err := NewLayout(fields)
	if err != nil {
		return nil, lake.Wrap("write data file", err)
	}
	return o.WriteRows(ctx, st, l, rows)
}

// WriteRows is [WriteOptions.WriteFragment] for who writes many files of few
// rows with the same fields.
func (o WriteOptions) WriteRows(ctx context.Context, st Creator, l *Layout, rows array.RecordReader) (*lancepb.DataFragment, error) {
	w := &fragmentWriter{ctx: ctx, st: st, layout: l, options: o}
	defer w.abort()
	for rows.Next() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := w.write(rows.RecordBatch()); err != nil {
			return nil, lake.Wrap("write data file", err)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	f, err := w.finish()
	return f, lake.Wrap("write data file", err)
}

// Layout is what data files with the same fields have in common. It is immutable
// and safe for concurrent use.
type Layout struct {
	fields []*lancepb.Field
	schema *arrow.Schema // of the batches that are written
	file   *file.Layout
}

// NewLayout returns the layout for the fields of a table, or some columns of it,
// which must not be changed after.
func NewLayout(fields []*lancepb.Field) (*Layout, error) {
	s, err := schema.ToArrow(fields, nil)
	if err != nil {
		return nil, err
	}
	f, err := file.NewLayout(s, fields)
	if err != nil {
		return nil, err
	}
	return &Layout{fields, s, f}, nil
}

// Fields returns the fields. The caller must not change them.
func (l *Layout) Fields() []*lancepb.Field { return l.fields }

// fragmentWriter creates its file with the first row.
type fragmentWriter struct {
	ctx    context.Context
	st     Creator
	layout *Layout

	options WriteOptions

	name  string
	obj   ObjectWriter
	file  *file.Writer
	stats *stats.Collector // or nil
}

func (w *fragmentWriter) open() error {
	var err error
	w.name = newDataName()
	if w.obj, err = w.st.Create(w.ctx, dataDir+w.name); err != nil {
		return err
	}
	if w.options.StatsBytes > 0 {
		w.stats = stats.NewCollector(w.layout.schema, rootIDs(w.layout.fields))
	}
	w.file, err = w.layout.file.NewWriter(w.obj, file.WriterOptions{Compact: w.options.Compact, PageBytes: w.options.PageBytes})
	return err
}

func rootIDs(fields []*lancepb.Field) []int32 {
	var ids []int32
	for _, f := range fields {
		if f.GetParentId() == -1 {
			ids = append(ids, f.GetId())
		}
	}
	return ids
}

func (w *fragmentWriter) write(batch arrow.RecordBatch) error {
	if batch.NumRows() == 0 {
		return nil
	}
	if w.file == nil {
		if err := w.open(); err != nil {
			return err
		}
	}
	schema := w.layout.schema
	if int(batch.NumCols()) != schema.NumFields() {
		return invalid("a batch has %d columns, the table %d", batch.NumCols(), schema.NumFields())
	}
	columns := make([]arrow.Array, 0, batch.NumCols())
	defer func() { releaseAll(columns) }()
	for i, c := range batch.Columns() {
		relabelled, err := relabel(c, schema.Field(i).Type)
		if err != nil {
			return lake.Wrap("column "+schema.Field(i).Name, err)
		}
		columns = append(columns, relabelled)
	}
	out := array.NewRecordBatch(schema, columns, batch.NumRows())
	defer out.Release()
	if w.stats != nil {
		w.stats.Add(out)
	}
	return w.file.Write(out)
}

// relabel returns the array with a type that lays out the same.
func relabel(a arrow.Array, want arrow.DataType) (arrow.Array, error) {
	if !sameShape(a.DataType(), want) {
		return nil, invalid("type %s does not fit %s", a.DataType(), want)
	}
	if _, nested := want.(arrow.NestedType); !nested {
		a.Retain()
		return a, nil
	}
	var unmapped handle
	out, err := unmapped.adopt(a, want)
	if err != nil {
		return nil, invalid("type %s does not fit %s", a.DataType(), want)
	}
	return out, nil
}

// sameShape compares types, and the names of struct fields.
func sameShape(a, b arrow.DataType) bool {
	nested, ok := a.(arrow.NestedType)
	other, okOther := b.(arrow.NestedType)
	if !ok || !okOther {
		return arrow.TypeEqual(a, b)
	}
	if a.ID() != b.ID() || len(nested.Fields()) != len(other.Fields()) {
		return false
	}
	if l, ok := a.(*arrow.FixedSizeListType); ok && l.Len() != b.(*arrow.FixedSizeListType).Len() {
		return false
	}
	for i, f := range nested.Fields() {
		o := other.Fields()[i]
		if a.ID() == arrow.STRUCT && f.Name != o.Name || !sameShape(f.Type, o.Type) {
			return false
		}
	}
	return true
}

func (w *fragmentWriter) finish() (*lancepb.DataFragment, error) {
	if w.file == nil {
		return nil, nil
	}
	written, err := w.file.Close()
	if err != nil {
		return nil, err
	}
	if written.Rows > math.MaxUint32 {
		return nil, invalid("%d rows, at most 2³²−1 fit a fragment", written.Rows)
	}
	if err := w.commit(written.Size); err != nil {
		return nil, err
	}
	return &lancepb.DataFragment{PhysicalRows: written.Rows, Files: []*lancepb.DataFile{{
		Path:             w.name,
		Fields:           written.Fields,
		ColumnIndices:    written.ColumnIndices,
		FileMajorVersion: written.Major,
		FileMinorVersion: written.Minor,
		FileSizeBytes:    written.Size,
	}}}, nil
}

// commit makes the data file durable, and at the same time its sidecar. A
// sidecar that cannot be stored is left out: all it does is save work.
func (w *fragmentWriter) commit(size uint64) error {
	if w.stats == nil || size < uint64(w.options.StatsBytes) {
		return w.obj.Commit()
	}
	stored := make(chan struct{})
	go func() {
		defer close(stored)
		_ = w.st.Put(w.ctx, StatsName(w.name), stats.Encode(w.stats.File(size)))
	}()
	err := w.obj.Commit()
	<-stored
	return err
}

func (w *fragmentWriter) abort() {
	if w.obj != nil {
		_ = w.obj.Abort() // does nothing after Commit; else the sweep has it
	}
}
