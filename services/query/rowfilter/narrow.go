// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rowfilter

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/lakeplane/lake/lake/predicate"
)

// narrow implements narrower. A comparison holds for no null.
func (r bounds) narrow(batch arrow.RecordBatch, rows []int32) []int32 {
	column := batch.Column(r.at)
	if column.NullN() > 0 {
		rows = missing{r.at, false}.narrow(batch, rows)
	}
	switch c := column.(type) {
	case *array.Boolean:
		return where(rows, func(i int) bool { return within(r.low, r.high, bit(c.Value(i))) })
	case *array.Int8:
		return numbers(rows, c.Int8Values(), r.low, r.high)
	case *array.Int16:
		return numbers(rows, c.Int16Values(), r.low, r.high)
	case *array.Int32:
		return numbers(rows, c.Int32Values(), r.low, r.high)
	case *array.Int64:
		return numbers(rows, c.Int64Values(), r.low, r.high)
	case *array.Uint8:
		return numbers(rows, c.Uint8Values(), r.low, r.high)
	case *array.Uint16:
		return numbers(rows, c.Uint16Values(), r.low, r.high)
	case *array.Uint32:
		return numbers(rows, c.Uint32Values(), r.low, r.high)
	case *array.Date32:
		return numbers(rows, c.Date32Values(), r.low, r.high)
	case *array.Date64:
		return numbers(rows, c.Date64Values(), r.low, r.high)
	case *array.Time32:
		return numbers(rows, c.Time32Values(), r.low, r.high)
	case *array.Time64:
		return numbers(rows, c.Time64Values(), r.low, r.high)
	case *array.Timestamp:
		return numbers(rows, c.TimestampValues(), r.low, r.high)
	case *array.Duration:
		return numbers(rows, c.DurationValues(), r.low, r.high)
	case *array.Uint64:
		values := c.Uint64Values()
		return where(rows, func(i int) bool { return within(r.uLow, r.uHigh, values[i]) })
	case *array.Float32:
		return realNumbers(rows, c.Float32Values(), r.fLow, r.fHigh)
	case *array.Float64:
		return realNumbers(rows, c.Float64Values(), r.fLow, r.fHigh)
	case *array.Decimal128:
		return narrowDecimals(rows, c.Values(), r.low, r.high)
	case array.StringLike:
		return where(rows, func(i int) bool { return r.spans(c.Value(i)) })
	case *array.Binary:
		return where(rows, func(i int) bool { return r.spans(string(c.Value(i))) })
	case *array.LargeBinary:
		return where(rows, func(i int) bool { return r.spans(string(c.Value(i))) })
	}
	return rows
}

func (r *bounds) spans(s string) bool { return s >= r.sLow && (r.unending || s <= r.sHigh) }

// where keeps the rows for which a test is true.
func where(rows []int32, test func(i int) bool) []int32 {
	kept := rows[:0]
	for _, i := range rows {
		if test(int(i)) {
			kept = append(kept, i)
		}
	}
	return kept
}

func within[T int64 | uint64](low, high, v T) bool { return low <= v && v <= high }

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// numbers keeps rows by a closed range, without a branch that depends on the
// values: which rows are wanted is nothing that a processor could foresee.
func numbers[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](rows []int32, values []T, low, high int64) []int32 {
	if low > high {
		return nil
	}
	span, n := uint64(high)-uint64(low), 0
	for _, i := range rows {
		rows[n] = i
		if uint64(int64(values[i]))-uint64(low) <= span {
			n++
		}
	}
	return rows[:n]
}

// realNumbers keeps NaN, whose place in the order is the SQL engine's affair.
func realNumbers[T float32 | float64](rows []int32, values []T, low, high float64) []int32 {
	n := 0
	for _, i := range rows {
		rows[n] = i
		if v := float64(values[i]); !(v < low || v > high) {
			n++
		}
	}
	return rows[:n]
}

// narrowDecimals compares unscaled values, and keeps those beyond 64 bits.
func narrowDecimals(rows []int32, values []decimal128.Num, low, high int64) []int32 {
	span, n := uint64(high)-uint64(low), 0
	for _, i := range rows {
		rows[n] = i
		l, h := int64(values[i].LowBits()), values[i].HighBits()
		if h != l>>63 || uint64(l)-uint64(low) <= span && low <= high {
			n++
		}
	}
	return rows[:n]
}

// member chooses the rows whose value is one of a set.
type member struct {
	bounds // around the set
	ints   map[int64]struct{}
	texts  map[string]struct{}
}

// membership is nil for sets of values that are not compared here.
func membership(p predicate.In, schema *arrow.Schema, columns []int) narrower {
	m := member{ints: map[int64]struct{}{}, texts: map[string]struct{}{}}
	for i, v := range p.Values {
		r, ok := rangeOf(predicate.Compare{Column: p.Column, Op: predicate.Equal, Value: v}, schema, columns)
		if !ok || r.domain != integers && r.domain != sequences {
			return nil
		}
		if r.domain == integers {
			m.ints[r.low] = struct{}{}
		} else {
			m.texts[r.sLow] = struct{}{}
		}
		if i == 0 {
			m.bounds = r
			continue
		}
		m.low, m.high = min(m.low, r.low), max(m.high, r.high)
		m.sLow, m.sHigh = min(m.sLow, r.sLow), max(m.sHigh, r.sHigh)
	}
	if len(p.Values) == 0 {
		return nil
	}
	return m
}

func (m member) narrow(batch arrow.RecordBatch, rows []int32) []int32 {
	rows = m.bounds.narrow(batch, rows)
	switch c := batch.Column(m.at).(type) {
	case array.StringLike:
		return where(rows, func(i int) bool { _, ok := m.texts[c.Value(i)]; return ok })
	case *array.Int64:
		return among(rows, c.Int64Values(), m.ints)
	case *array.Int32:
		return among(rows, c.Int32Values(), m.ints)
	case *array.Int16:
		return among(rows, c.Int16Values(), m.ints)
	case *array.Int8:
		return among(rows, c.Int8Values(), m.ints)
	case *array.Date32:
		return among(rows, c.Date32Values(), m.ints)
	}
	return rows
}

func among[T ~int8 | ~int16 | ~int32 | ~int64](rows []int32, values []T, set map[int64]struct{}) []int32 {
	return slices.DeleteFunc(rows, func(i int32) bool { _, ok := set[int64(values[i])]; return !ok })
}
