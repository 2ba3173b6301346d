// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rowfilter

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// narrow implements narrower. A comparison holds for no null.
func (r bounds) narrow(batch arrow.RecordBatch, rows []int32) []int32 {
	column := batch.Column(r.at)
	if column.NullN() > 0 {
		rows = missing{r.at, false}.narrow(batch, rows)
	}
	if len(rows) == 0 { // there may be no buffers
		return rows
	}
	switch c := column.(type) {
	case *array.Uint64:
		values := c.Uint64Values()
		rows = where(rows, func(i int) bool { return (r.uLow <= values[i] && values[i] <= r.uHigh) != r.outside })
		return amongIntegers(rows, values, r.among)
	case *array.Float32:
		return amongReals(realNumbers(rows, c.Float32Values(), r), c.Float32Values(), r.among)
	case *array.Float64:
		return amongReals(realNumbers(rows, c.Float64Values(), r), c.Float64Values(), r.among)
	case *array.Decimal128:
		return amongDecimals(decimalNumbers(rows, c.Values(), r), c.Values(), r.among)
	case array.StringLike:
		return where(rows, func(i int) bool { return r.wants(c.Value(i)) })
	case *array.Binary:
		return where(rows, func(i int) bool { return r.wants(string(c.Value(i))) })
	case *array.LargeBinary:
		return where(rows, func(i int) bool { return r.wants(string(c.Value(i))) })
	}
	return r.narrowIntegers(column, rows)
}

func (r bounds) narrowIntegers(column arrow.Array, rows []int32) []int32 {
	within, ok := r.ring()
	if !ok {
		return nil
	}
	switch c := column.(type) {
	case *array.Boolean:
		wanted := [2]int{}
		for v := range uint64(2) {
			if v-within.from <= within.span && (r.among == nil || r.among.hasInt(int64(v))) {
				wanted[v] = 1
			}
		}
		return byBit(rows, c.Data().Buffers()[1].Bytes(), c.Data().Offset(), wanted)
	case *array.Int8:
		return integersIn(rows, c.Int8Values(), within, r.among)
	case *array.Int16:
		return integersIn(rows, c.Int16Values(), within, r.among)
	case *array.Int32:
		return integersIn(rows, c.Int32Values(), within, r.among)
	case *array.Int64:
		return integersIn(rows, c.Int64Values(), within, r.among)
	case *array.Uint8:
		return integersIn(rows, c.Uint8Values(), within, r.among)
	case *array.Uint16:
		return integersIn(rows, c.Uint16Values(), within, r.among)
	case *array.Uint32:
		return integersIn(rows, c.Uint32Values(), within, r.among)
	case *array.Date32:
		return integersIn(rows, c.Date32Values(), within, r.among)
	case *array.Date64:
		return integersIn(rows, c.Date64Values(), within, r.among)
	case *array.Time32:
		return integersIn(rows, c.Time32Values(), within, r.among)
	case *array.Time64:
		return integersIn(rows, c.Time64Values(), within, r.among)
	case *array.Timestamp:
		return integersIn(rows, c.TimestampValues(), within, r.among)
	case *array.Duration:
		return integersIn(rows, c.DurationValues(), within, r.among)
	}
	return rows
}

// wants looks at a text.
func (r *bounds) wants(s string) bool {
	switch {
	case r.among != nil:
		return r.among.has(s)
	case r.single:
		return (s == r.sLow) != r.outside
	}
	return s >= r.sLow && (r.unending || s < r.sEnd)
}

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

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// ring is a range of 64-bit integers that may pass the largest one and go on with
// the smallest, as what lies outside of a range does.
type ring struct {
	from uint64
	span uint64 // how many follow
}

// ring is what is wanted of integers; ok is false if that is nothing.
func (r bounds) ring() (within ring, ok bool) {
	switch {
	case r.outside: // of one value
		return ring{uint64(r.low) + 1, ^uint64(0) - 1}, true
	case r.low > r.high:
		return ring{}, false
	}
	return ring{uint64(r.low), uint64(r.high) - uint64(r.low)}, true
}

func integersIn[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](rows []int32, values []T, within ring, among *members) []int32 {
	return amongIntegers(numbers(rows, values, within), values, among)
}

// numbers keeps rows by a range, without a branch that depends on the values:
// which rows are wanted is nothing that a processor could foresee.
func numbers[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](rows []int32, values []T, within ring) []int32 {
	from, span, n := within.from, within.span, 0
	for _, i := range rows {
		rows[n] = i
		if uint64(int64(values[i]))-from <= span {
			n++
		}
	}
	return rows[:n]
}

func amongIntegers[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64](rows []int32, values []T, among *members) []int32 {
	if among == nil {
		return rows
	}
	return where(rows, func(i int) bool { return among.hasInt(int64(values[i])) })
}

// realNumbers has no branches either.
func realNumbers[T float32 | float64](rows []int32, values []T, r bounds) []int32 {
	low, high, nan, outside, n := r.fLow, r.fHigh, bit(r.nan), bit(r.outside), 0
	for _, i := range rows {
		rows[n] = i
		n += int(inReals(float64(values[i]), low, high, nan) ^ outside)
	}
	return rows[:n]
}

// inReals is 1 for values of a range.
func inReals(v, low, high float64, nan int64) int64 {
	return bit(low <= v)&bit(v <= high) | bit(v != v)&nan //nolint:gocritic // NaN
}

func amongReals[T float32 | float64](rows []int32, values []T, among *members) []int32 {
	if among == nil {
		return rows
	}
	return where(rows, func(i int) bool {
		v := float64(values[i])
		_, ok := among.reals[v]
		return ok || v != v //nolint:gocritic // NaN, which is in the range
	})
}

// decimalNumbers compares unscaled values.
func decimalNumbers(rows []int32, values []decimal128.Num, r bounds) []int32 {
	some, span, n := bit(r.low <= r.high), uint64(r.high)-uint64(r.low), 0
	small, large, outside := bit(r.noLow), bit(r.noHigh), bit(r.outside)
	for _, i := range rows {
		rows[n] = i
		l, h := int64(values[i].LowBits()), values[i].HighBits()
		wide := bit(h != l>>63)
		beyond := bit(h < 0)&small | bit(h >= 0)&large
		n += int((wide&beyond | (1-wide)&some&bit(uint64(l)-uint64(r.low) <= span)) ^ outside)
	}
	return rows[:n]
}

func amongDecimals(rows []int32, values []decimal128.Num, among *members) []int32 {
	if among == nil {
		return rows
	}
	return where(rows, func(i int) bool { return among.hasInt(int64(values[i].LowBits())) })
}
