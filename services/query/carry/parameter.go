// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package carry

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
)

// Parameters returns a row of parameters as values of types that SQL has, for
// the caller to release:
//
//	bound                              in SQL
//	string view, binary view           VARCHAR, BLOB
//	float16                            FLOAT
//	decimal32, decimal64, decimal256   DECIMAL; a value of more than 38 digits is an error
//	duration, intervals                INTERVAL
//
// A duration is a span of time here, and not the number that a column of
// durations is in SQL: a parameter's unit is the client's own affair, and the
// number would mean another span beside a column of another unit. What has no
// counterpart is left as it is, for the engine to refuse.
func Parameters(row arrow.RecordBatch) (arrow.RecordBatch, error) {
	fields, columns := row.Schema().Fields(), slices.Clone(row.Columns())
	made := make([]arrow.Array, 0, len(columns))
	defer func() {
		for _, col := range made {
			col.Release()
		}
	}()
	for i, col := range columns {
		to := bound(col.DataType())
		if arrow.TypeEqual(to, col.DataType(), arrow.CheckMetadata()) {
			continue
		}
		converted, err := convert(col, to)
		if err != nil {
			return nil, lake.Errorf(lake.Invalid, "parameter %d: %w", i+1, err)
		}
		made = append(made, converted)
		fields[i].Type, columns[i] = to, converted
	}
	meta := row.Schema().Metadata()
	return array.NewRecordBatch(arrow.NewSchema(fields, &meta), columns, row.NumRows()), nil
}

// bound is the type that a parameter of a type is given.
func bound(dt arrow.DataType) arrow.DataType {
	switch t := dt.(type) {
	case *arrow.StringViewType:
		return arrow.BinaryTypes.String
	case *arrow.BinaryViewType:
		return arrow.BinaryTypes.Binary
	case *arrow.Float16Type:
		return arrow.PrimitiveTypes.Float32
	case *arrow.DurationType, *arrow.MonthIntervalType, *arrow.DayTimeIntervalType:
		return arrow.FixedWidthTypes.MonthDayNanoInterval
	case *arrow.Decimal32Type, *arrow.Decimal64Type, *arrow.Decimal256Type:
		d := t.(arrow.DecimalType)
		return &arrow.Decimal128Type{Precision: min(d.GetPrecision(), maxDigits), Scale: d.GetScale()}
	case *arrow.ListType:
		return arrow.ListOfField(boundField(t.ElemField()))
	case *arrow.LargeListType:
		return arrow.LargeListOfField(boundField(t.ElemField()))
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), boundField(t.ElemField()))
	case *arrow.StructType:
		fields := t.Fields()
		for i := range fields {
			fields[i] = boundField(fields[i])
		}
		return arrow.StructOf(fields...)
	}
	return dt
}

func boundField(f arrow.Field) arrow.Field {
	f.Type = bound(f.Type)
	return f
}

// viewed are texts or bytes that lie anywhere.
type viewed interface {
	arrow.Array
	Value(i int) string
}

type bytesView struct{ *array.BinaryView }

func (v bytesView) Value(i int) string { return string(v.BinaryView.Value(i)) }

// joined puts viewed values one behind the other.
func joined(views viewed, to arrow.DataType) (arrow.ArrayData, error) {
	isText := to.ID() == arrow.STRING
	ends, content := make([]int32, views.Len()+1), []byte{}
	for i := range views.Len() {
		if views.IsValid(i) {
			content = append(content, views.Value(i)...)
		}
		if len(content) > math.MaxInt32 {
			return nil, lake.Errorf(lake.Invalid, "it has more than 2 GiB of text")
		}
		ends[i+1] = int32(len(content))
		if isText && !utf8.Valid(content[ends[i]:]) {
			return nil, lake.Errorf(lake.Invalid, "a string is not UTF-8")
		}
	}
	fixed := withNulls(views, arrow.PrimitiveTypes.Int32, nil)
	defer fixed.Release()
	buffers := []*memory.Buffer{fixed.Buffers()[0], memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(ends)), memory.NewBufferBytes(content)}
	return array.NewData(to, views.Len(), buffers, nil, views.NullN(), 0), nil
}

// spans are durations and intervals of all kinds as one.
func spans(arr arrow.Array) ([]byte, error) {
	out := make([]arrow.MonthDayNanoInterval, arr.Len())
	for i := range out {
		if arr.IsNull(i) {
			continue
		}
		switch a := arr.(type) {
		case *array.Duration:
			unit := int64(a.DataType().(*arrow.DurationType).Unit.Multiplier())
			n := int64(a.Value(i))
			if out[i].Nanoseconds = n * unit; out[i].Nanoseconds/unit != n {
				return nil, lake.Errorf(lake.Invalid, "a duration exceeds 292 years")
			}
		case *array.MonthInterval:
			out[i].Months = int32(a.Value(i))
		case *array.DayTimeInterval:
			v := a.Value(i)
			out[i].Days, out[i].Nanoseconds = v.Days, int64(v.Milliseconds)*1_000_000
		}
	}
	return arrow.MonthDayNanoIntervalTraits.CastToBytes(out), nil
}

// widened are decimals of fewer bits in 128.
func widened[T interface {
	arrow.Array
	Value(i int) N
}, N ~int32 | ~int64](a T) []byte {
	out := make([]decimal128.Num, a.Len())
	for i := range out {
		out[i] = decimal128.FromI64(int64(a.Value(i)))
	}
	return arrow.Decimal128Traits.CastToBytes(out)
}
