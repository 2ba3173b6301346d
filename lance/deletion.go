// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"bytes"
	"context"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
)

// readDeletions returns the offsets of a fragment's deleted rows, or nil when
// there are none. rows is the number of rows of the fragment.
func readDeletions(ctx context.Context, st Opener, f *lancepb.DataFragment, rows uint64) (*roaring.Bitmap, error) {
	d := f.GetDeletionFile()
	if d == nil {
		return nil, nil
	}
	name, err := deletionName(f.GetId(), d)
	if err != nil {
		return nil, err
	}
	// Four bytes a row is the most either form needs, but for its framing.
	raw, err := readAll(ctx, st, name, int64(rows)*8+1<<20)
	if err != nil {
		return nil, missing(name, err)
	}
	var deleted *roaring.Bitmap
	if d.GetFileType() == lancepb.DeletionFile_BITMAP {
		deleted, err = parseBitmap(raw)
	} else {
		deleted, err = parseDeletionArrow(raw)
	}
	if err == nil {
		err = checkDeletions(deleted, d, rows)
	}
	return deleted, lake.Wrap("deletion file "+name, err)
}

func checkDeletions(deleted *roaring.Bitmap, d *lancepb.DeletionFile, rows uint64) error {
	if n := deleted.GetCardinality(); d.GetNumDeletedRows() != 0 && n != d.GetNumDeletedRows() {
		return corrupt("it deletes %d rows, the manifest says %d", n, d.GetNumDeletedRows())
	}
	if !deleted.IsEmpty() && uint64(deleted.Maximum()) >= rows {
		return corrupt("it deletes row %d of %d", deleted.Maximum(), rows)
	}
	return nil
}

// parseBitmap reads a portable roaring bitmap.
func parseBitmap(raw []byte) (b *roaring.Bitmap, err error) {
	defer func() {
		if r := recover(); r != nil {
			b, err = nil, corrupt("roaring bitmap: %v", r)
		}
	}()
	b = roaring.New()
	if _, err := b.ReadFrom(bytes.NewReader(raw)); err != nil {
		return nil, corrupt("roaring bitmap: %w", err)
	}
	if err := b.Validate(); err != nil {
		return nil, corrupt("roaring bitmap: %w", err)
	}
	return b, nil
}

// parseDeletionArrow reads an Arrow IPC file of one column of offsets. The
// Arrow library panics on some malformed files.
func parseDeletionArrow(raw []byte) (b *roaring.Bitmap, err error) {
	defer func() {
		if r := recover(); r != nil {
			b, err = nil, corrupt("arrow file: %v", r)
		}
	}()
	r, err := ipc.NewFileReader(bytes.NewReader(raw))
	if err != nil {
		return nil, corrupt("arrow file: %w", err)
	}
	defer r.Close()
	b = roaring.New()
	for i := range r.NumRecords() {
		rec, err := r.RecordBatch(i)
		if err != nil {
			return nil, corrupt("arrow file: %w", err)
		}
		if err := addOffsets(b, rec.Columns()); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func addOffsets(b *roaring.Bitmap, columns []arrow.Array) error {
	if len(columns) != 1 {
		return corrupt("arrow file: %d columns, want 1", len(columns))
	}
	switch c := columns[0].(type) {
	case *array.Uint32:
		if c.NullN() == 0 {
			b.AddMany(c.Uint32Values())
			return nil
		}
	case *array.Int32: // the type the format's text names
		if c.NullN() == 0 {
			return addSigned(b, c.Int32Values())
		}
	}
	return corrupt("arrow file: column of %s with %d nulls, want uint32 without", columns[0].DataType(), columns[0].NullN())
}

func addSigned(b *roaring.Bitmap, offsets []int32) error {
	for _, v := range offsets {
		if v < 0 {
			return corrupt("arrow file: row offset %d", v)
		}
		b.Add(uint32(v))
	}
	return nil
}

// deletionFile encodes the offsets in the form other writers choose: an Arrow
// file for few, a bitmap for many.
func deletionFile(deleted *roaring.Bitmap) ([]byte, lancepb.DeletionFile_DeletionFileType, error) {
	if deleted.GetCardinality() > 5000 {
		c := deleted.Clone()
		c.RunOptimize()
		raw, err := c.ToBytes()
		return raw, lancepb.DeletionFile_BITMAP, err
	}
	raw, err := deletionArrow(deleted.ToArray())
	return raw, lancepb.DeletionFile_ARROW_ARRAY, err
}

func deletionArrow(offsets []uint32) ([]byte, error) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "row_id", Type: arrow.PrimitiveTypes.Uint32}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Field(0).(*array.Uint32Builder).AppendValues(offsets, nil)
	rec := b.NewRecordBatch()
	defer rec.Release()
	var buf bytes.Buffer
	w, err := ipc.NewFileWriter(&buf, ipc.WithSchema(schema), ipc.WithZstd())
	if err != nil {
		return nil, fmt.Errorf("encode deletions: %w", err)
	}
	if err := w.Write(rec); err != nil {
		return nil, fmt.Errorf("encode deletions: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("encode deletions: %w", err)
	}
	return buf.Bytes(), nil
}
