// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"cmp"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// sortedRows are the numbers of a batch's rows in their order. Rows that are equal
// in what they are sorted by stay as they are.
func sortedRows(batch arrow.RecordBatch, by []Order) []int32 {
	rows := make([]int32, batch.NumRows())
	for i := range rows {
		rows[i] = int32(i)
	}
	compare := make([]func(a, b int) int, len(by))
	for i, o := range by {
		compare[i] = o.comparing(batch.Column(o.Column))
	}
	slices.SortStableFunc(rows, func(a, b int32) int {
		for _, c := range compare {
			if order := c(int(a), int(b)); order != 0 {
				return order
			}
		}
		return 0
	})
	return rows
}

// comparing compares rows of a column.
func (o Order) comparing(column arrow.Array) func(a, b int) int {
	values, nulls, sign := valuesOf(column), 1, 1
	if o.NullsFirst {
		nulls = -1
	}
	if o.Descending {
		sign = -1
	}
	return func(a, b int) int {
		switch aNull, bNull := column.IsNull(a), column.IsNull(b); {
		case aNull && bNull:
			return 0
		case aNull:
			return nulls
		case bNull:
			return -nulls
		}
		return sign * values(a, b)
	}
}

// valuesOf compares two values of a column as SQL does: texts byte by byte, NaN
// above all other numbers.
func valuesOf(column arrow.Array) func(a, b int) int {
	switch c := column.(type) {
	case *array.Int8:
		return comparingNumbers(c.Int8Values())
	case *array.Int16:
		return comparingNumbers(c.Int16Values())
	case *array.Int32:
		return comparingNumbers(c.Int32Values())
	case *array.Int64:
		return comparingNumbers(c.Int64Values())
	case *array.Uint8:
		return comparingNumbers(c.Uint8Values())
	case *array.Uint16:
		return comparingNumbers(c.Uint16Values())
	case *array.Uint32:
		return comparingNumbers(c.Uint32Values())
	case *array.Uint64:
		return comparingNumbers(c.Uint64Values())
	case *array.Float32:
		return comparingFloats(c.Float32Values())
	case *array.Float64:
		return comparingFloats(c.Float64Values())
	case *array.Date32:
		return comparingNumbers(c.Date32Values())
	case *array.Timestamp:
		return comparingNumbers(c.TimestampValues())
	case *array.Decimal128:
		return func(a, b int) int { return decimal128.Num.Cmp(c.Value(a), c.Value(b)) }
	case *array.String:
		return func(a, b int) int { return cmp.Compare(c.Value(a), c.Value(b)) }
	case *array.LargeString:
		return func(a, b int) int { return cmp.Compare(c.Value(a), c.Value(b)) }
	case *array.Boolean:
		return func(a, b int) int { return bit(c.Value(a)) - bit(c.Value(b)) }
	}
	return nil
}

func comparingNumbers[T cmp.Ordered](values []T) func(a, b int) int {
	return func(a, b int) int { return cmp.Compare(values[a], values[b]) }
}

// comparingFloats is comparingNumbers with NaN, which cmp.Compare has first, last.
func comparingFloats[T float32 | float64](values []T) func(a, b int) int {
	return func(a, b int) int {
		x, y := values[a], values[b]
		if xNaN, yNaN := x != x, y != y; xNaN || yNaN {
			return bit(xNaN) - bit(yNaN)
		}
		return cmp.Compare(x, y)
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
