// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
)

// paramRow makes the one-row batch that binds parameters, with a column for
// each, named by its position from 1.
func paramRow(params []any) (arrow.RecordBatch, error) {
	fields := make([]arrow.Field, len(params))
	columns := make([]arrow.Array, len(params))
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, v := range params {
		column, err := paramColumn(v)
		if err != nil {
			return nil, lake.Errorf(lake.Invalid, "query: parameter %d: %w", i+1, err)
		}
		columns[i] = column
		fields[i] = arrow.Field{Name: strconv.Itoa(i + 1), Type: column.DataType(), Nullable: true}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, 1), nil
}

// paramColumn makes an array of one value.
func paramColumn(v any) (arrow.Array, error) {
	switch v := v.(type) {
	case nil: // as text, which SQL compares with any type
		return array.MakeArrayOfNull(memory.DefaultAllocator, arrow.BinaryTypes.String, 1), nil
	case bool:
		b := array.NewBooleanBuilder(memory.DefaultAllocator)
		defer b.Release()
		b.Append(v)
		return b.NewArray(), nil
	case string:
		b := array.NewStringBuilder(memory.DefaultAllocator)
		defer b.Release()
		b.Append(v)
		return b.NewArray(), nil
	case []byte:
		b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
		defer b.Release()
		b.Append(v)
		return b.NewArray(), nil
	case time.Time:
		b := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"})
		defer b.Release()
		b.Append(arrow.Timestamp(v.UnixMicro()))
		return b.NewArray(), nil
	}
	return numberColumn(v)
}

func numberColumn(v any) (arrow.Array, error) {
	switch v := v.(type) {
	case int:
		return intColumn(int64(v)), nil
	case int8:
		return intColumn(int64(v)), nil
	case int16:
		return intColumn(int64(v)), nil
	case int32:
		return intColumn(int64(v)), nil
	case int64:
		return intColumn(v), nil
	case uint8:
		return intColumn(int64(v)), nil
	case uint16:
		return intColumn(int64(v)), nil
	case uint32:
		return intColumn(int64(v)), nil
	case uint:
		return uintColumn(uint64(v)), nil
	case uint64:
		return uintColumn(v), nil
	case float32:
		return floatColumn(float64(v)), nil
	case float64:
		return floatColumn(v), nil
	}
	return nil, lake.Errorf(lake.Invalid, "type %T cannot be a parameter: use nil, a bool, an integer, a float, a string, []byte or time.Time", v)
}

func intColumn(v int64) arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(v)
	return b.NewArray()
}

func uintColumn(v uint64) arrow.Array {
	b := array.NewUint64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(v)
	return b.NewArray()
}

func floatColumn(v float64) arrow.Array {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(v)
	return b.NewArray()
}
