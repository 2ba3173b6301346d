// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

/*
#include <stdlib.h>
#include "duckdb_api.h"
*/
import "C"

import (
	"fmt"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/lake"
)

// parameters describes the placeholders in binding order.
func (s *statement) parameters() *arrow.Schema {
	fields := make([]arrow.Field, s.params())
	for i := range fields {
		name, typ := s.param(i)
		dt, err := arrowType(typ)
		if err != nil || typ.id == tSQLNull {
			dt = arrow.BinaryTypes.String // DuckDB does not know: any text converts
		}
		fields[i] = arrow.Field{Name: name, Type: dt, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// bindRow binds the single row's columns to the placeholders, in order.
func (s *statement) bindRow(row arrow.RecordBatch) error {
	if row.NumRows() != 1 {
		return lake.Errorf(lake.Invalid, "parameters have %d rows: bind exactly one", row.NumRows())
	}
	if int(row.NumCols()) != s.params() {
		return lake.Errorf(lake.Invalid, "%d parameters are bound, the statement has %d", row.NumCols(), s.params())
	}
	for i, col := range row.Columns() {
		v, err := value(col, 0)
		if err != nil {
			return lake.Wrap(fmt.Sprintf("parameter %d", i+1), err) // clients count from 1, and name columns at will
		}
		err = s.bind(i, v)
		C.duckdb_destroy_value(&v)
		if err != nil {
			return err
		}
	}
	return nil
}

// bindNulls binds every placeholder to NULL.
func (s *statement) bindNulls() error {
	for i := range s.params() {
		v := C.duckdb_create_null_value()
		err := s.bind(i, v)
		C.duckdb_destroy_value(&v)
		if err != nil {
			return err
		}
	}
	return nil
}

// value makes a DuckDB value of one element. The caller destroys it.
func value(arr arrow.Array, i int) (C.duckdb_value, error) {
	// An array of type null has no bitmap, and IsNull denies its nulls.
	if arr.IsNull(i) || arr.DataType().ID() == arrow.NULL {
		return C.duckdb_create_null_value(), nil
	}
	if v := numberValue(arr, i); v != nil {
		return v, nil
	}
	if v := timeValue(arr, i); v != nil {
		return v, nil
	}
	switch a := arr.(type) {
	case *array.String:
		return textValue(a.Value(i))
	case *array.LargeString:
		return textValue(a.Value(i))
	case *array.Binary:
		return blobValue(a.Value(i)), nil
	case *array.LargeBinary:
		return blobValue(a.Value(i)), nil
	case *array.FixedSizeBinary:
		return blobValue(a.Value(i)), nil
	case *array.Dictionary:
		return value(a.Dictionary(), a.GetValueIndex(i))
	case *array.Decimal128:
		return decimalValue(a, i)
	case *array.MonthDayNanoInterval:
		return intervalValue(a.Value(i))
	case array.ExtensionArray:
		return value(a.Storage(), i)
	}
	return nestedValue(arr, i)
}

// textValue checks the text itself: DuckDB would throw an exception, which must
// not cross into Go.
func textValue(s string) (C.duckdb_value, error) {
	if !utf8.ValidString(s) {
		return nil, lake.Errorf(lake.Invalid, "the text is not UTF-8")
	}
	p := C.CString(s)
	defer C.free(unsafe.Pointer(p))
	return C.duckdb_create_varchar_length(p, C.idx_t(len(s))), nil
}

func blobValue(b []byte) C.duckdb_value {
	p := C.CBytes(append(b, 0)) // never an empty allocation
	defer C.free(p)
	return C.duckdb_create_blob((*C.uint8_t)(p), C.idx_t(len(b)))
}

func numberValue(arr arrow.Array, i int) C.duckdb_value {
	switch a := arr.(type) {
	case *array.Boolean:
		return C.duckdb_create_bool(C.bool(a.Value(i)))
	case *array.Int8:
		return C.duckdb_create_int8(C.int8_t(a.Value(i)))
	case *array.Int16:
		return C.duckdb_create_int16(C.int16_t(a.Value(i)))
	case *array.Int32:
		return C.duckdb_create_int32(C.int32_t(a.Value(i)))
	case *array.Int64:
		return C.duckdb_create_int64(C.int64_t(a.Value(i)))
	case *array.Uint8:
		return C.duckdb_create_uint8(C.uint8_t(a.Value(i)))
	case *array.Uint16:
		return C.duckdb_create_uint16(C.uint16_t(a.Value(i)))
	case *array.Uint32:
		return C.duckdb_create_uint32(C.uint32_t(a.Value(i)))
	case *array.Uint64:
		return C.duckdb_create_uint64(C.uint64_t(a.Value(i)))
	case *array.Float32:
		return C.duckdb_create_float(C.float(a.Value(i)))
	case *array.Float64:
		return C.duckdb_create_double(C.double(a.Value(i)))
	}
	return nil
}

func timeValue(arr arrow.Array, i int) C.duckdb_value {
	switch a := arr.(type) {
	case *array.Date32:
		return C.duckdb_create_date(C.duckdb_date{days: C.int32_t(a.Value(i))})
	case *array.Date64:
		return C.duckdb_create_date(C.duckdb_date{days: C.int32_t(a.Value(i) / 86_400_000)})
	case *array.Time32:
		unit := a.DataType().(*arrow.Time32Type).Unit
		us := int64(a.Value(i)) * int64(unit.Multiplier()) / int64(arrow.Microsecond.Multiplier())
		return C.duckdb_create_time(C.duckdb_time{micros: C.int64_t(us)})
	case *array.Time64:
		if a.DataType().(*arrow.Time64Type).Unit == arrow.Nanosecond {
			return C.duckdb_create_time_ns(C.duckdb_time_ns{nanos: C.int64_t(a.Value(i))})
		}
		return C.duckdb_create_time(C.duckdb_time{micros: C.int64_t(a.Value(i))})
	case *array.Timestamp:
		return timestampValue(a.DataType().(*arrow.TimestampType), int64(a.Value(i)))
	}
	return nil
}

func timestampValue(t *arrow.TimestampType, x int64) C.duckdb_value {
	if t.TimeZone != "" && t.Unit != arrow.Nanosecond {
		us := x * (int64(t.Unit.Multiplier()) / int64(arrow.Microsecond.Multiplier()))
		return C.duckdb_create_timestamp_tz(C.duckdb_timestamp{micros: C.int64_t(us)})
	}
	switch t.Unit {
	case arrow.Second:
		return C.duckdb_create_timestamp_s(C.duckdb_timestamp_s{seconds: C.int64_t(x)})
	case arrow.Millisecond:
		return C.duckdb_create_timestamp_ms(C.duckdb_timestamp_ms{millis: C.int64_t(x)})
	case arrow.Microsecond:
		return C.duckdb_create_timestamp(C.duckdb_timestamp{micros: C.int64_t(x)})
	}
	return C.duckdb_create_timestamp_ns(C.duckdb_timestamp_ns{nanos: C.int64_t(x)})
}

// intervalValue is a value of SQL, which counts microseconds.
func intervalValue(v arrow.MonthDayNanoInterval) (C.duckdb_value, error) {
	if v.Nanoseconds%1000 != 0 {
		return nil, lake.Errorf(lake.Invalid, "SQL counts intervals in microseconds, and this one has %d ns more", v.Nanoseconds%1000)
	}
	return C.duckdb_create_interval(C.duckdb_interval{
		months: C.int32_t(v.Months), days: C.int32_t(v.Days), micros: C.int64_t(v.Nanoseconds / 1000),
	}), nil
}

func decimalValue(a *array.Decimal128, i int) (C.duckdb_value, error) {
	t := a.DataType().(*arrow.Decimal128Type)
	if _, _, err := scanDecimal(t); err != nil {
		return nil, err
	}
	n := a.Value(i)
	if !n.FitsInPrecision(t.Precision) {
		return nil, lake.Errorf(lake.Invalid, "the value has more digits than %s", t)
	}
	return C.duckdb_create_decimal(C.duckdb_decimal{
		width: C.uint8_t(t.Precision), scale: C.uint8_t(t.Scale),
		value: C.duckdb_hugeint{lower: C.uint64_t(n.LowBits()), upper: C.int64_t(n.HighBits())},
	}), nil
}

func nestedValue(arr arrow.Array, i int) (C.duckdb_value, error) {
	l, _, err := scanType(arr.DataType())
	if err != nil {
		return nil, err
	}
	var vals []C.duckdb_value
	defer func() {
		for j := range vals {
			C.duckdb_destroy_value(&vals[j])
		}
	}()
	add := func(a arrow.Array, at int) error {
		v, err := value(a, at)
		vals = append(vals, v)
		return err
	}
	if s, ok := arr.(*array.Struct); ok {
		for f := range s.NumField() {
			if err := add(s.Field(f), i); err != nil {
				return nil, err
			}
		}
	} else if list, ok := arr.(array.ListLike); ok {
		from, to := list.ValueOffsets(i)
		for j := from; j < to; j++ {
			if err := add(list.ListValues(), int(j)); err != nil {
				return nil, err
			}
		}
	}
	return assemble(l, vals)
}

func assemble(l logical, vals []C.duckdb_value) (v C.duckdb_value, err error) {
	first := new(C.duckdb_value) // no values are not no list
	if len(vals) > 0 {
		first = &vals[0]
	}
	switch l.id {
	case tList:
		t := l.children[0].create()
		defer C.duckdb_destroy_logical_type(&t)
		v = C.duckdb_create_list_value(t, first, C.idx_t(len(vals)))
	case tArray:
		t := l.children[0].create()
		defer C.duckdb_destroy_logical_type(&t)
		v = C.duckdb_create_array_value(t, first, C.idx_t(len(vals)))
	case tStruct:
		t := l.create()
		defer C.duckdb_destroy_logical_type(&t)
		v = C.duckdb_create_struct_value(t, first)
	}
	if v == nil {
		return nil, lake.Errorf(lake.Unsupported, "values of this type cannot be bound: want a number, text, time, list or struct")
	}
	return v, nil
}
