// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
)

var allocator = memory.DefaultAllocator

// convert returns arr as type to without losing a value, or says what stands
// in the way. The result is owned by the caller.
func convert(arr arrow.Array, to arrow.DataType) (arrow.Array, error) {
	from := arr.DataType()
	if arrow.TypeEqual(from, to) && from.String() == to.String() { // the text holds the names of items
		arr.Retain()
		return arr, nil
	}
	switch a := arr.(type) {
	case array.ExtensionArray:
		return convert(a.Storage(), to)
	case *array.Null:
		return array.MakeArrayOfNull(allocator, to, a.Len()), nil
	case *array.Dictionary:
		return convertDictionary(a, to)
	}
	if _, nested := to.(arrow.NestedType); nested {
		return convertNested(arr, to)
	}
	return cast(arr, to)
}

// cast converts values without children, one by one. The kernels of the Arrow
// library are not used: they run in goroutines of their own, where a panic over
// a damaged file could not be caught.
func cast(arr arrow.Array, to arrow.DataType) (arrow.Array, error) {
	from := arr.DataType()
	if !mayCast(from, to) {
		return nil, lake.Errorf(lake.Invalid, "%s cannot become %s", from, to)
	}
	out := array.NewBuilder(allocator, to)
	defer out.Release()
	put := caster(arr, to, out)
	if put == nil {
		return nil, lake.Errorf(lake.Invalid, "%s cannot become %s", from, to)
	}
	out.Reserve(arr.Len())
	for i := range arr.Len() {
		if arr.IsNull(i) {
			out.AppendNull()
		} else if !put(i) {
			return nil, lake.Errorf(lake.Invalid, "value %s of type %s does not fit %s", arr.ValueStr(i), from, to)
		}
	}
	return out.NewArray(), nil
}

// caster returns a function that appends value i of arr to out, a builder of
// type to, and reports whether nothing was lost; nil when there is none.
func caster(arr arrow.Array, to arrow.DataType, out array.Builder) func(i int) bool {
	switch a := arr.(type) {
	case *array.Boolean:
		return putBool(out, a)
	case *array.Float16:
		return putFloat(out, func(i int) float64 { return float64(a.Value(i).Float32()) })
	case *array.Float32:
		return putFloat(out, func(i int) float64 { return float64(a.Value(i)) })
	case *array.Float64:
		return putFloat(out, a.Value)
	case *array.Timestamp:
		return putTimestamp(out, to, a)
	case *array.Date32:
		return putDate(out, to, func(i int) time.Time { return a.Value(i).ToTime() })
	case *array.Date64:
		return putDate(out, to, func(i int) time.Time { return time.UnixMilli(int64(a.Value(i))).UTC() })
	case *array.Time32:
		unit := int64(a.DataType().(*arrow.Time32Type).Unit.Multiplier())
		return putTime(out, to, func(i int) int64 { return int64(a.Value(i)) * unit })
	case *array.Time64:
		unit := int64(a.DataType().(*arrow.Time64Type).Unit.Multiplier())
		return putTime(out, to, func(i int) int64 { return int64(a.Value(i)) * unit })
	}
	if bytes := bytesOf(arr); bytes != nil {
		return putBytes(out, bytes)
	}
	if number, scale := numberOf(arr); number != nil {
		return putNumber(out, to, number, scale)
	}
	return nil
}

// mayCast says which conversions keep the meaning of values. That no value is
// lost is for the cast itself to check.
func mayCast(from, to arrow.DataType) bool {
	f, t := from.ID(), to.ID()
	switch {
	case f == arrow.TIMESTAMP && t == arrow.TIMESTAMP: // a moment is not a time on the wall
		return (from.(*arrow.TimestampType).TimeZone == "") == (to.(*arrow.TimestampType).TimeZone == "")
	case f == t:
		return true
	case arrow.IsInteger(f):
		return arrow.IsInteger(t) || arrow.IsFloating(t) && t != arrow.FLOAT16 || arrow.IsDecimal(t)
	case f == arrow.FLOAT16:
		return t == arrow.FLOAT32 || t == arrow.FLOAT64
	case f == arrow.FLOAT32:
		return t == arrow.FLOAT64
	case arrow.IsDecimal(f):
		return arrow.IsDecimal(t)
	case isText(f):
		return isText(t)
	case isBytes(f):
		return isBytes(t)
	case f == arrow.DATE32 && t == arrow.TIMESTAMP:
		return to.(*arrow.TimestampType).TimeZone == ""
	case f == arrow.DATE32, f == arrow.DATE64:
		return t == arrow.DATE32 || t == arrow.DATE64
	}
	return isTime(f) && isTime(t)
}

func isText(id arrow.Type) bool {
	return id == arrow.STRING || id == arrow.LARGE_STRING || id == arrow.STRING_VIEW
}

func isBytes(id arrow.Type) bool {
	return id == arrow.BINARY || id == arrow.LARGE_BINARY || id == arrow.BINARY_VIEW || id == arrow.FIXED_SIZE_BINARY
}

func isTime(id arrow.Type) bool { return id == arrow.TIME32 || id == arrow.TIME64 }
