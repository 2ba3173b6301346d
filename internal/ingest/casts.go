// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"math"
	"math/big"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// bytesOf reads text and binary values; nil for other types.
func bytesOf(arr arrow.Array) func(int) []byte {
	switch a := arr.(type) {
	case *array.String:
		return func(i int) []byte { return []byte(a.Value(i)) }
	case *array.LargeString:
		return func(i int) []byte { return []byte(a.Value(i)) }
	case *array.StringView:
		return func(i int) []byte { return []byte(a.Value(i)) }
	case *array.Binary:
		return a.Value
	case *array.LargeBinary:
		return a.Value
	case *array.BinaryView:
		return a.Value
	case *array.FixedSizeBinary:
		return a.Value
	}
	return nil
}

func putBytes(out array.Builder, value func(int) []byte) func(int) bool {
	b, ok := out.(interface{ Append([]byte) })
	if ok {
		return func(i int) bool { b.Append(value(i)); return true }
	}
	if s, ok := out.(interface{ Append(string) }); ok {
		return func(i int) bool { s.Append(string(value(i))); return true }
	}
	return nil
}

// numberOf reads integers and decimals as one wide integer with a scale; nil
// for other types.
func numberOf(arr arrow.Array) (value func(int) decimal128.Num, scale int32) {
	switch a := arr.(type) {
	case *array.Int8:
		return wide(a.Value), 0
	case *array.Int16:
		return wide(a.Value), 0
	case *array.Int32:
		return wide(a.Value), 0
	case *array.Int64:
		return wide(a.Value), 0
	case *array.Uint8:
		return wide(a.Value), 0
	case *array.Uint16:
		return wide(a.Value), 0
	case *array.Uint32:
		return wide(a.Value), 0
	case *array.Uint64:
		return func(i int) decimal128.Num { return decimal128.FromU64(a.Value(i)) }, 0
	}
	return decimalOf(arr)
}

func wide[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32](value func(int) T) func(int) decimal128.Num {
	return func(i int) decimal128.Num { return decimal128.FromI64(int64(value(i))) }
}

func decimalOf(arr arrow.Array) (value func(int) decimal128.Num, scale int32) {
	dt, ok := arr.DataType().(arrow.DecimalType)
	if !ok {
		return nil, 0
	}
	switch a := arr.(type) {
	case *array.Decimal32:
		value = func(i int) decimal128.Num { return decimal128.FromI64(int64(a.Value(i))) }
	case *array.Decimal64:
		value = func(i int) decimal128.Num { return decimal128.FromI64(int64(a.Value(i))) }
	case *array.Decimal128:
		value = a.Value
	case *array.Decimal256:
		value = func(i int) decimal128.Num { return clampBig(a.Value(i).BigInt()) }
	}
	return value, dt.GetScale()
}

// clampBig keeps a number that does not fit 128 bits too large for any
// precision, so that it is refused and not cut.
func clampBig(n *big.Int) decimal128.Num {
	if n.BitLen() > 127 {
		return decimal128.New(math.MaxInt64, 0)
	}
	return decimal128.FromBigInt(n)
}

// putNumber appends an integer or decimal of the given scale.
func putNumber(out array.Builder, to arrow.DataType, value func(int) decimal128.Num, scale int32) func(int) bool {
	if dt, ok := to.(*arrow.Decimal128Type); ok {
		b := out.(*array.Decimal128Builder)
		return func(i int) bool {
			n, err := value(i).Rescale(scale, dt.Scale)
			if err != nil || !n.FitsInPrecision(dt.Precision) {
				return false
			}
			b.Append(n)
			return true
		}
	}
	if scale != 0 {
		return nil
	}
	switch b := out.(type) {
	case *array.Float32Builder:
		return func(i int) bool { return appendWhole(value(i), 24, func(f float64) { b.Append(float32(f)) }) }
	case *array.Float64Builder:
		return func(i int) bool { return appendWhole(value(i), 53, b.Append) }
	}
	return putInteger(out, value)
}

// appendWhole appends an integer that a float with so many bits holds exactly.
func appendWhole(n decimal128.Num, bits int, add func(float64)) bool {
	if n.BigInt().BitLen() > bits {
		return false
	}
	add(n.ToFloat64(0))
	return true
}

func putInteger(out array.Builder, value func(int) decimal128.Num) func(int) bool {
	switch b := out.(type) {
	case *array.Int8Builder:
		return narrow(value, b.Append)
	case *array.Int16Builder:
		return narrow(value, b.Append)
	case *array.Int32Builder:
		return narrow(value, b.Append)
	case *array.Int64Builder:
		return narrow(value, b.Append)
	case *array.Uint8Builder:
		return narrow(value, b.Append)
	case *array.Uint16Builder:
		return narrow(value, b.Append)
	case *array.Uint32Builder:
		return narrow(value, b.Append)
	case *array.Uint64Builder:
		return func(i int) bool {
			n := value(i)
			if n.HighBits() != 0 {
				return false
			}
			b.Append(n.LowBits())
			return true
		}
	}
	return nil
}

func narrow[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32](value func(int) decimal128.Num, add func(T)) func(int) bool {
	return func(i int) bool {
		n := value(i)
		low := int64(n.LowBits())
		if n != decimal128.FromI64(low) || int64(T(low)) != low {
			return false
		}
		add(T(low))
		return true
	}
}

func putBool(out array.Builder, a *array.Boolean) func(int) bool {
	b, ok := out.(*array.BooleanBuilder)
	if !ok {
		return nil
	}
	return func(i int) bool { b.Append(a.Value(i)); return true }
}

func putFloat(out array.Builder, value func(int) float64) func(int) bool {
	switch b := out.(type) {
	case *array.Float32Builder:
		return func(i int) bool {
			f := value(i)
			b.Append(float32(f))
			return float64(float32(f)) == f || math.IsNaN(f)
		}
	case *array.Float64Builder:
		return func(i int) bool { b.Append(value(i)); return true }
	}
	return nil
}

func putTimestamp(out array.Builder, to arrow.DataType, a *array.Timestamp) func(int) bool {
	b, ok := out.(*array.TimestampBuilder)
	if !ok {
		return nil
	}
	from := int64(a.DataType().(*arrow.TimestampType).Unit.Multiplier())
	target := int64(to.(*arrow.TimestampType).Unit.Multiplier())
	return func(i int) bool {
		v, ok := rescaleTime(int64(a.Value(i)), from, target)
		b.Append(arrow.Timestamp(v))
		return ok
	}
}

// rescaleTime changes the unit of v, both in nanoseconds; ok is false when that
// would lose anything.
func rescaleTime(v, from, to int64) (int64, bool) {
	if from < to {
		return v / (to / from), v%(to/from) == 0
	}
	factor := from / to
	scaled := v * factor
	return scaled, scaled/factor == v
}

func putDate(out array.Builder, to arrow.DataType, value func(int) time.Time) func(int) bool {
	switch b := out.(type) {
	case *array.Date32Builder:
		return func(i int) bool {
			t := value(i)
			d := arrow.Date32FromTime(t)
			b.Append(d)
			return d.ToTime().Equal(t)
		}
	case *array.Date64Builder:
		return func(i int) bool { b.Append(arrow.Date64FromTime(value(i))); return true }
	case *array.TimestampBuilder:
		unit := int64(to.(*arrow.TimestampType).Unit.Multiplier())
		return func(i int) bool {
			v, ok := rescaleTime(value(i).Unix(), int64(time.Second), unit)
			b.Append(arrow.Timestamp(v))
			return ok
		}
	}
	return nil
}

// putTime appends a time of day, given in nanoseconds.
func putTime(out array.Builder, to arrow.DataType, value func(int) int64) func(int) bool {
	switch b := out.(type) {
	case *array.Time32Builder:
		unit := int64(to.(*arrow.Time32Type).Unit.Multiplier())
		return func(i int) bool { b.Append(arrow.Time32(value(i) / unit)); return value(i)%unit == 0 }
	case *array.Time64Builder:
		unit := int64(to.(*arrow.Time64Type).Unit.Multiplier())
		return func(i int) bool { b.Append(arrow.Time64(value(i) / unit)); return value(i)%unit == 0 }
	}
	return nil
}
