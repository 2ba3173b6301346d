// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// recordBytes returns about how many bytes a batch takes in a message: the
// parts of its buffers that its rows use, not the whole buffers it shares.
func recordBytes(rec arrow.RecordBatch) int64 {
	var n int64
	for _, col := range rec.Columns() {
		n += arrayBytes(col)
	}
	return n
}

// alignment is the room a message leaves for the alignment of one column.
const alignment = 3 * 8

func arrayBytes(a arrow.Array) int64 {
	rows := int64(a.Len())
	n := int64(alignment)
	if a.NullN() > 0 {
		n += (rows + 7) / 8
	}
	switch a := a.(type) {
	case array.ExtensionArray:
		return arrayBytes(a.Storage())
	case *array.Dictionary:
		return n + rows*int64(a.DataType().(*arrow.DictionaryType).IndexType.(arrow.FixedWidthDataType).Bytes())
	case *array.Struct:
		for i := range a.NumField() {
			n += arrayBytes(a.Field(i))
		}
		return n
	case *array.FixedSizeList:
		start, end := int64(0), int64(0)
		if rows > 0 {
			start, _ = a.ValueOffsets(0)
			_, end = a.ValueOffsets(a.Len() - 1)
		}
		return n + sliceBytes(a.ListValues(), start, end)
	case array.ListLike:
		start, end := int64(0), int64(0)
		if rows > 0 {
			start, _ = a.ValueOffsets(0)
			_, end = a.ValueOffsets(a.Len() - 1)
		}
		return n + 8*(rows+1) + sliceBytes(a.ListValues(), start, end)
	}
	return n + flatBytes(a)
}

func sliceBytes(values arrow.Array, start, end int64) int64 {
	if end <= start {
		return 0
	}
	part := array.NewSlice(values, start, end)
	defer part.Release()
	return arrayBytes(part)
}

// flatBytes is the size of the values of an array without children.
func flatBytes(a arrow.Array) int64 {
	rows := int64(a.Len())
	if t, ok := a.DataType().(arrow.FixedWidthDataType); ok {
		return (rows*int64(t.BitWidth()) + 7) / 8
	}
	offsets, width := offsetsOf(a)
	if offsets == nil || rows == 0 {
		var n int64
		for _, b := range a.Data().Buffers() {
			if b != nil {
				n += int64(b.Len())
			}
		}
		return n
	}
	at := func(i int64) int64 {
		i += int64(a.Data().Offset())
		if width == 4 {
			return int64(binary.NativeEndian.Uint32(offsets[4*i:]))
		}
		return int64(binary.NativeEndian.Uint64(offsets[8*i:]))
	}
	return int64(width)*(rows+1) + at(rows) - at(0)
}

// offsetsOf returns the offsets buffer of a variable-length array and the
// width of one offset; nil for other arrays.
func offsetsOf(a arrow.Array) ([]byte, int) {
	buffers := a.Data().Buffers()
	switch a.DataType().ID() {
	case arrow.STRING, arrow.BINARY:
		if buffers[1] != nil {
			return buffers[1].Bytes(), 4
		}
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		if buffers[1] != nil {
			return buffers[1].Bytes(), 8
		}
	}
	return nil, 0
}
