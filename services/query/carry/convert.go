// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package carry

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
)

// convert returns the values under another type, which differs from the
// array's by what this package carries. The caller releases the result.
func convert(arr arrow.Array, to arrow.DataType) (arrow.Array, error) {
	data, err := convertData(arr.Data(), to)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	return array.MakeFromData(data), nil
}

func convertData(data arrow.ArrayData, to arrow.DataType) (arrow.ArrayData, error) {
	if arrow.TypeEqual(data.DataType(), to, arrow.CheckMetadata()) {
		data.Retain()
		return data, nil
	}
	switch from := data.DataType().(type) {
	case *arrow.DurationType, *arrow.Int64Type:
		if to.ID() != arrow.INTERVAL_MONTH_DAY_NANO {
			return array.NewData(to, data.Len(), data.Buffers(), nil, data.NullN(), data.Offset()), nil
		}
	case arrow.NestedType:
		return convertChildren(data, from, to)
	}
	arr := array.MakeFromData(data)
	defer arr.Release()
	switch a := arr.(type) {
	case *array.StringView:
		return joined(a, to)
	case *array.BinaryView:
		return joined(bytesView{a}, to)
	}
	values, err := convertLeaf(arr, to)
	if err != nil {
		return nil, err
	}
	return withNulls(arr, to, values), nil
}

// convertChildren keeps the buffers of a nested array, which say how its
// children belong together.
func convertChildren(data arrow.ArrayData, from arrow.NestedType, to arrow.DataType) (arrow.ArrayData, error) {
	nested, ok := to.(arrow.NestedType)
	if !ok || nested.NumFields() != from.NumFields() || to.ID() != data.DataType().ID() {
		return nil, lake.Errorf(lake.Unknown, "cannot carry %s as %s", data.DataType(), to)
	}
	children := make([]arrow.ArrayData, len(data.Children()))
	defer func() {
		for _, c := range children {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, c := range data.Children() {
		var err error
		if children[i], err = convertData(c, nested.Fields()[i].Type); err != nil {
			return nil, err
		}
	}
	return array.NewData(to, data.Len(), data.Buffers(), children, data.NullN(), data.Offset()), nil
}

// convertLeaf returns the bytes of the converted values; those below nulls are
// of no meaning.
func convertLeaf(arr arrow.Array, to arrow.DataType) ([]byte, error) {
	switch a := arr.(type) {
	case *array.Float16:
		out := make([]float32, a.Len())
		for i := range out {
			out[i] = a.Value(i).Float32()
		}
		return arrow.Float32Traits.CastToBytes(out), nil
	case *array.Float32:
		out := make([]float16.Num, a.Len())
		for i := range out {
			out[i] = float16.New(a.Value(i))
		}
		return arrow.Float16Traits.CastToBytes(out), nil
	case *array.Decimal256:
		return narrow(a, to)
	case *array.Decimal32:
		return widened(a), nil
	case *array.Decimal64:
		return widened(a), nil
	case *array.Duration, *array.MonthInterval, *array.DayTimeInterval:
		return spans(a)
	case *array.Decimal128:
		out := make([]decimal256.Num, a.Len())
		for i := range out {
			out[i] = decimal256.FromDecimal128(a.Value(i))
		}
		return arrow.Decimal256Traits.CastToBytes(out), nil
	}
	return nil, lake.Errorf(lake.Unknown, "cannot carry %s as %s", arr.DataType(), to)
}

func narrow(a *array.Decimal256, to arrow.DataType) ([]byte, error) {
	t, ok := to.(*arrow.Decimal128Type)
	if !ok {
		return nil, lake.Errorf(lake.Unknown, "cannot carry %s as %s", a.DataType(), to)
	}
	out := make([]decimal128.Num, a.Len())
	for i := range out {
		if a.IsNull(i) {
			continue
		}
		v := a.Value(i)
		if !v.FitsInPrecision(t.Precision) {
			return nil, lake.Errorf(lake.Unsupported, "the value %s has more digits than SQL's DECIMAL(%d,%d) holds", v.ToString(t.Scale), t.Precision, t.Scale)
		}
		words := v.Array()
		out[i] = decimal128.New(int64(words[1]), words[0])
	}
	return arrow.Decimal128Traits.CastToBytes(out), nil
}

// withNulls makes array data of new values with the nulls of arr.
func withNulls(arr arrow.Array, to arrow.DataType, values []byte) arrow.ArrayData {
	var nulls *memory.Buffer
	if arr.NullN() > 0 {
		bits := make([]byte, bitutil.BytesForBits(int64(arr.Len())))
		for i := range arr.Len() {
			bitutil.SetBitTo(bits, i, arr.IsValid(i))
		}
		nulls = memory.NewBufferBytes(bits)
	}
	return array.NewData(to, arr.Len(), []*memory.Buffer{nulls, memory.NewBufferBytes(values)}, nil, arr.NullN(), 0)
}
