// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import "github.com/apache/arrow-go/v18/arrow"

// Func is an aggregate function.
type Func uint8

// The functions, by their names in SQL.
const (
	CountRows  Func = iota + 1 // count(*)
	Count                      // count(x)
	Sum                        // sum(x)
	Min                        // min(x)
	Max                        // max(x)
	Avg                        // avg(x)
	StddevSamp                 // stddev_samp(x), stddev(x)
	StddevPop                  // stddev_pop(x)
	VarSamp                    // var_samp(x), variance(x)
	VarPop                     // var_pop(x)
)

// sumPrecision is how many digits a sum of whole numbers or decimals has.
const sumPrecision = 38

// Type is the type of f over a column of type dt, as the SQL engine delivers
// it; dt is nil for [CountRows]. ok is false where this package does not know
// the function for that type.
func (f Func) Type(dt arrow.DataType) (result arrow.DataType, ok bool) {
	switch {
	case f == CountRows:
		return arrow.PrimitiveTypes.Int64, true
	case dt == nil:
		return nil, false
	}
	switch f {
	case Count:
		return arrow.PrimitiveTypes.Int64, countable(dt)
	case Sum:
		return sumType(dt)
	case Min, Max:
		return dt, ordered(dt)
	case Avg, StddevSamp, StddevPop, VarSamp, VarPop:
		return arrow.PrimitiveTypes.Float64, isNumber(dt)
	}
	return nil, false
}

// isNumber reports whether values are integers or floats of the engine's sizes.
func isNumber(dt arrow.DataType) bool {
	return arrow.IsInteger(dt.ID()) || dt.ID() == arrow.FLOAT32 || dt.ID() == arrow.FLOAT64
}

func sumType(dt arrow.DataType) (arrow.DataType, bool) {
	switch {
	case arrow.IsInteger(dt.ID()):
		return &arrow.Decimal128Type{Precision: sumPrecision}, true
	case isNumber(dt):
		return arrow.PrimitiveTypes.Float64, true
	}
	d, ok := dt.(*arrow.Decimal128Type)
	if !ok || d.Scale < 0 || d.Scale > d.Precision {
		return nil, false
	}
	return &arrow.Decimal128Type{Precision: sumPrecision, Scale: d.Scale}, true
}

// ordered are the types whose smallest value comes back in the same type: a
// computed text is utf8, a computed timestamp has microseconds, in UTC if in a
// zone.
func ordered(dt arrow.DataType) bool {
	switch dt.ID() {
	case arrow.BOOL, arrow.STRING, arrow.DATE32:
		return true
	case arrow.TIMESTAMP:
		t, _ := dt.(*arrow.TimestampType)
		return t.Unit == arrow.Microsecond && (t.TimeZone == "" || t.TimeZone == "UTC")
	}
	return isNumber(dt)
}

// countable are the types whose nulls are in a bitmap of their own. Whether SQL
// can read the column at all is for others to say.
func countable(dt arrow.DataType) bool {
	switch dt.ID() {
	case arrow.DICTIONARY, arrow.RUN_END_ENCODED, arrow.SPARSE_UNION, arrow.DENSE_UNION, arrow.EXTENSION, arrow.NULL:
		return false
	}
	return true
}

// Groups reports whether a column of the type can be grouped by. Floats cannot:
// which of several equal ones the engine shows is its own affair.
func Groups(dt arrow.DataType) bool {
	switch dt.ID() {
	case arrow.BOOL, arrow.STRING, arrow.LARGE_STRING, arrow.DATE32, arrow.TIMESTAMP:
		return true
	}
	return arrow.IsInteger(dt.ID())
}
