// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package literal

import (
	"math/big"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Parameter is the value of a placeholder: column i of the single row of params
// is that of placeholder i+1. nil is not known.
func (p Placeholder) Parameter(params arrow.RecordBatch) Value {
	if params == nil || int64(p) > params.NumCols() || params.NumRows() != 1 {
		return nil
	}
	return valueOf(params.Column(int(p) - 1))
}

// valueOf is the value of a parameter. Text is marked as being text already: SQL
// does not read it as a time or a number in the way of a literal.
func valueOf(a arrow.Array) Value {
	if a.IsNull(0) || a.DataType().ID() == arrow.NULL {
		return Null{}
	}
	switch a := a.(type) {
	case *array.Boolean:
		return Boolean(a.Value(0))
	case *array.String:
		return Text{a.Value(0), "VARCHAR"}
	case *array.LargeString:
		return Text{a.Value(0), "VARCHAR"}
	case *array.Float32:
		return floatOf(float64(a.Value(0)), 32)
	case *array.Float64:
		return floatOf(a.Value(0), 64)
	case *array.Decimal128:
		return decimalParameter(a)
	case *array.Timestamp, *array.Date32:
		return momentOf(a)
	}
	if arrow.IsInteger(a.DataType().ID()) {
		return wholeOf(strings.TrimSpace(a.ValueStr(0)), integerDigits["UBIGINT"])
	}
	return nil
}

func decimalParameter(a *array.Decimal128) Value {
	t := a.DataType().(*arrow.Decimal128Type)
	if t.Scale < 0 {
		return nil
	}
	value := new(big.Rat).SetFrac(a.Value(0).BigInt(), Pow10(int(t.Scale)))
	return Number{Value: value, Whole: int(t.Precision - t.Scale), Fraction: int(t.Scale)}
}

func floatOf(v float64, bits int) Value {
	r := new(big.Rat).SetFloat64(v)
	if r == nil { // not finite
		return nil
	}
	return Number{Value: r, Float: bits}
}

func momentOf(a arrow.Array) Value {
	switch a := a.(type) {
	case *array.Date32:
		return Moment{At: nanos(int64(a.Value(0)), 24*time.Hour)}
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		return Moment{At: nanos(int64(a.Value(0)), t.Unit.Multiplier()), Zoned: t.TimeZone != ""}
	}
	return nil
}

// nanos are so many units in nanoseconds.
func nanos(n int64, unit time.Duration) *big.Int {
	return new(big.Int).Mul(big.NewInt(n), big.NewInt(int64(unit)))
}
