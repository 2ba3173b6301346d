// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/file"
	"github.com/lakeplane/lake/lance/lancepb"
)

// columnSource says where a column of the batches comes from.
type columnSource struct {
	part  *part // nil: all null
	index int   // in the part's batches
}

// part reads the columns that one data file contributes.
type part struct {
	h   *handle
	ids []int32
	// cursor reads the file, for a scan. It is not an iterator: those that can
	// be pulled run as coroutines, which a goroutine locked to its thread, such
	// as a callback from C, may not resume for one that is not.
	cursor *file.Cursor
	batch  arrow.RecordBatch // current, or nil
	off    int64             // rows of batch already used
}

// plan is where the columns of a fragment are.
type plan struct {
	columns []columnSource
	parts   []*part // each with a reference to its file
}

func (p *plan) release() {
	for _, part := range p.parts {
		part.h.release()
	}
}

// close ends reading as well.
func (p *plan) close() {
	for _, part := range p.parts {
		if part.cursor != nil {
			part.cursor.Close()
		}
		if part.batch != nil {
			part.batch.Release()
		}
	}
	p.release()
}

// batch returns n rows from where the parts stand.
func (p *plan) batch(schema *arrow.Schema, n int64, mem memory.Allocator) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, 0, len(p.columns))
	defer func() { releaseAll(columns) }()
	for i, src := range p.columns {
		column, err := src.read(schema.Field(i).Type, n, mem)
		if err != nil {
			return nil, err
		}
		columns = append(columns, column)
	}
	return array.NewRecordBatch(schema, columns, n), nil
}

// read returns n values, from where the part stands.
func (src columnSource) read(dt arrow.DataType, n int64, mem memory.Allocator) (arrow.Array, error) {
	if src.part == nil {
		return array.MakeArrayOfNull(mem, dt, int(n)), nil
	}
	a := src.part.batch.Column(src.index)
	if n == int64(a.Len()) {
		return src.part.h.adopt(a, dt)
	}
	slice := array.NewSlice(a, src.part.off, src.part.off+n)
	defer slice.Release()
	return src.part.h.adopt(slice, dt)
}

// fill makes sure there are rows left in the current batch.
func (p *part) fill(ctx context.Context) error {
	for p.batch == nil {
		batch, err := p.cursor.Next(ctx)
		if errors.Is(err, io.EOF) {
			return corrupt("a data file has fewer rows than the manifest says")
		}
		if err != nil {
			return err
		}
		if int(batch.NumCols()) != len(p.ids) {
			batch.Release()
			return corrupt("a data file gave %d columns for %d", batch.NumCols(), len(p.ids))
		}
		if p.off = 0; batch.NumRows() == 0 {
			batch.Release()
			continue
		}
		p.batch = batch
	}
	return nil
}

func (p *part) advance(n int64) {
	if p.off += n; p.off == p.batch.NumRows() {
		p.batch.Release()
		p.batch = nil
	}
}

func releaseAll(arrays []arrow.Array) {
	for _, a := range arrays {
		a.Release()
	}
}

// plan finds the file of each column and opens those that are needed. In a
// file, a column's place follows from the order of the schema, not from the
// order asked for.
func (d *Dataset) plan(ctx context.Context, f *fragment, columns []int) (plan, error) {
	p := plan{columns: make([]columnSource, len(columns))}
	wanted := make(map[int32]int, len(columns)) // root field id to position
	for i, c := range columns {
		wanted[d.rootIDs[c]] = i
	}
	for _, df := range f.pb.GetFiles() {
		if !d.touches(df, wanted) {
			continue
		}
		if err := d.addPart(ctx, &p, f, df, wanted); err != nil {
			p.release()
			return plan{}, err
		}
	}
	return p, nil
}

// touches reports whether a file's entry names a field under a wanted root, so
// that files of other columns need not be opened.
func (d *Dataset) touches(df *lancepb.DataFile, wanted map[int32]int) bool {
	for _, id := range df.GetFields() {
		if root, ok := d.rootOf[id]; ok {
			if _, ok := wanted[root]; ok {
				return true
			}
		}
	}
	return false
}

func (d *Dataset) addPart(ctx context.Context, p *plan, f *fragment, df *lancepb.DataFile, wanted map[int32]int) error {
	h, err := d.files.acquire(ctx, d.view, df)
	if err != nil {
		return err
	}
	part := &part{h: h}
	p.parts = append(p.parts, part)
	if h.reader.Rows() != f.rows {
		return corrupt("data file %q has %d rows, its fragment %d", df.GetPath(), h.reader.Rows(), f.rows)
	}
	for _, root := range d.rootIDs {
		at, ok := wanted[root]
		if !ok || !h.reader.Has(root) {
			continue
		}
		if p.columns[at].part != nil {
			return unsupported("fragment %d: the column of field %d is spread over several data files", f.pb.GetId(), root)
		}
		p.columns[at] = columnSource{part, len(part.ids)}
		part.ids = append(part.ids, root)
	}
	if len(part.ids) == 0 { // it names fields but holds none of them
		p.parts = p.parts[:len(p.parts)-1]
		h.release()
	}
	return nil
}
