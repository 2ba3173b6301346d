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

// maxDeleted bounds the rows of a fragment with deletions, and with it what
// reading them may allocate.
const maxDeleted = 1 << 28

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
	if rows > maxDeleted {
		return nil, unsupported("fragment %d has %d rows, at most %d with deletions", f.GetId(), rows, maxDeleted)
	}
	// Four bytes a row is the most either form needs, but for its framing.
	raw, err := readAll(ctx, st, name, int64(rows)*4+1<<20)
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
// specification's text has signed offsets, files have unsigned ones; a negative
// offset is out of range as either.
func parseDeletionArrow(raw []byte) (b *roaring.Bitmap, err error) {
	defer func() {
		if r := recover(); r != nil {
			b, err = nil, corrupt("arrow file: %v", r)
		}
	}()
	offsets, err := parseArrowOffsets(raw)
	if err != nil {
		return nil, err
	}
	return roaring.BitmapOf(offsets...), nil
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
