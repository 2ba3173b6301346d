// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
)

// convertNested converts the children of a list or struct and puts them under
// the same validity and offsets. Children are converted whole, slices
// included, because the parent's offset counts in them.
func convertNested(arr arrow.Array, to arrow.DataType) (arrow.Array, error) {
	switch to := to.(type) {
	case *arrow.StructType:
		return convertStruct(arr, to)
	case *arrow.ListType:
		return convertList(arr, to)
	case *arrow.FixedSizeListType:
		from, ok := arr.DataType().(*arrow.FixedSizeListType)
		if !ok || from.Len() != to.Len() {
			break
		}
		d := arr.Data()
		return withChildren(arr, to, d.Buffers(), d.Offset(), []arrow.ArrayData{d.Children()[0]}, []arrow.Field{to.ElemField()})
	}
	return nil, lake.Errorf(lake.Invalid, "%s cannot become %s", arr.DataType(), to)
}

func convertStruct(arr arrow.Array, to *arrow.StructType) (arrow.Array, error) {
	from, ok := arr.DataType().(*arrow.StructType)
	if !ok || from.NumFields() != to.NumFields() {
		return nil, lake.Errorf(lake.Invalid, "%s cannot become %s", arr.DataType(), to)
	}
	for i, f := range from.Fields() {
		if f.Name != to.Field(i).Name {
			return nil, lake.Errorf(lake.Invalid, "struct field %d is named %q, want %q", i+1, f.Name, to.Field(i).Name)
		}
	}
	d := arr.Data()
	return withChildren(arr, to, d.Buffers(), d.Offset(), d.Children(), to.Fields())
}

func convertList(arr arrow.Array, to *arrow.ListType) (arrow.Array, error) {
	d := arr.Data()
	item := []arrow.Field{to.ElemField()}
	switch a := arr.(type) {
	case *array.List:
		return withChildren(arr, to, d.Buffers(), d.Offset(), d.Children(), item)
	case *array.LargeList:
		offsets, err := narrowOffsets(a)
		if err != nil {
			return nil, err
		}
		return withChildren(arr, to, []*memory.Buffer{d.Buffers()[0], offsets}, d.Offset(), d.Children(), item)
	case *array.FixedSizeList:
		offsets, err := evenOffsets(d.Offset()+d.Len(), int(a.DataType().(*arrow.FixedSizeListType).Len()))
		if err != nil {
			return nil, err
		}
		return withChildren(arr, to, []*memory.Buffer{d.Buffers()[0], offsets}, d.Offset(), d.Children(), item)
	}
	return nil, lake.Errorf(lake.Invalid, "%s cannot become %s", arr.DataType(), to)
}

// narrowOffsets are the offsets of a large list in 32 bits, from the start of
// its buffers.
func narrowOffsets(a *array.LargeList) (*memory.Buffer, error) {
	d := a.Data()
	if d.Buffers()[1] == nil || d.Len() == 0 {
		return memory.NewBufferBytes(make([]byte, 4*(d.Offset()+d.Len()+1))), nil
	}
	wide := arrow.Int64Traits.CastFromBytes(d.Buffers()[1].Bytes())[:d.Offset()+d.Len()+1]
	out := make([]int32, len(wide))
	for i, o := range wide {
		if o > math.MaxInt32 {
			return nil, errTooLong
		}
		out[i] = int32(o)
	}
	return memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(out)), nil
}

func evenOffsets(n, size int) (*memory.Buffer, error) {
	if n*size > math.MaxInt32 {
		return nil, errTooLong
	}
	out := make([]int32, n+1)
	for i := range out {
		out[i] = int32(i * size)
	}
	return memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(out)), nil
}

var errTooLong = lake.Errorf(lake.Invalid, "a record batch holds more than 2^31 list items: write the file with smaller batches")

// withChildren makes an array of type to over arr's rows.
func withChildren(arr arrow.Array, to arrow.DataType, buffers []*memory.Buffer, offset int, children []arrow.ArrayData, fields []arrow.Field) (arrow.Array, error) {
	converted := make([]arrow.ArrayData, len(children))
	defer func() {
		for _, c := range converted {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, child := range children {
		data, err := convertChild(child, fields[i].Type)
		if err != nil {
			return nil, lake.Wrap("field "+fields[i].Name, err)
		}
		converted[i] = data
	}
	d := array.NewData(to, arr.Len(), buffers, converted, arr.NullN(), offset)
	defer d.Release()
	return array.MakeFromData(d), nil
}

func convertChild(child arrow.ArrayData, to arrow.DataType) (arrow.ArrayData, error) {
	whole := array.MakeFromData(child)
	defer whole.Release()
	out, err := convert(whole, to)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	data := out.Data()
	data.Retain()
	return data, nil
}
