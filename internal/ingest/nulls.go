// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// clearNulls returns arr with zeros for the values behind its nulls.
//
// Parquet stores no values there, and what the library's decoder leaves in
// their place depends on what it decoded before: the same rows read after a
// skip would be encoded to other bytes, and the append that holds them would
// not be known again.
func clearNulls(arr arrow.Array) arrow.Array {
	data := clearData(arr.Data())
	defer data.Release()
	return array.MakeFromData(data)
}

// clearData returns data itself, retained, where nothing has to be cleared.
func clearData(data arrow.ArrayData) arrow.ArrayData {
	buffers, changed := data.Buffers(), false
	if fixed, ok := data.DataType().(arrow.FixedWidthDataType); ok && len(buffers) == 2 && buffers[0] != nil && buffers[1] != nil && data.NullN() != 0 {
		buffers = []*memory.Buffer{buffers[0], clearValues(data, fixed.BitWidth())}
		changed = true
	}
	children := make([]arrow.ArrayData, len(data.Children()))
	for i, c := range data.Children() {
		children[i] = clearData(c)
		changed = changed || children[i] != c
	}
	defer func() {
		for _, c := range children {
			c.Release()
		}
	}()
	if !changed {
		data.Retain()
		return data
	}
	if values, ok := data.Dictionary().(*array.Data); ok && values != nil {
		return array.NewDataWithDictionary(data.DataType(), data.Len(), buffers, data.NullN(), data.Offset(), values)
	}
	return array.NewData(data.DataType(), data.Len(), buffers, children, data.NullN(), data.Offset())
}

// clearValues copies the values of data, of bits bits each, without those of
// its nulls.
func clearValues(data arrow.ArrayData, bits int) *memory.Buffer {
	values := append([]byte(nil), data.Buffers()[1].Bytes()...)
	valid, width := data.Buffers()[0].Bytes(), bits/8
	for i := data.Offset(); i < data.Offset()+data.Len(); i++ {
		switch {
		case bitutil.BitIsSet(valid, i):
		case bits == 1:
			bitutil.ClearBit(values, i)
		default:
			clear(values[i*width : (i+1)*width])
		}
	}
	return memory.NewBufferBytes(values)
}
