// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"math/big"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/services/query/literal"
)

// units are SQL's types of dates and times by name, with the time between two
// values that follow each other. SQL runs in UTC, so that clocks with and without
// a zone say the same.
var units = map[string]time.Duration{
	"DATE": 24 * time.Hour, "TIMESTAMP_S": time.Second, "TIMESTAMP_MS": time.Millisecond, "TIMESTAMP": time.Microsecond,
	"TIMESTAMP WITH TIME ZONE": time.Microsecond, "TIMESTAMP_NS": time.Nanosecond,
}

// comparables are the types of constants that a column of a type is compared with,
// without loss and whatever else stands in a list with them. Nanoseconds reach
// less far than the other types: SQL may not be able to make them of a value of
// those, or cuts them off. A zone it compares with few others.
var comparables = map[string][]string{
	"DATE":                     {"DATE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP"},
	"TIMESTAMP_S":              {"DATE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP"},
	"TIMESTAMP_MS":             {"DATE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP"},
	"TIMESTAMP":                {"DATE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP"},
	"TIMESTAMP_NS":             {"DATE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP", "TIMESTAMP_NS"},
	"TIMESTAMP WITH TIME ZONE": {"DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"},
}

// timeTypeOf is the type that SQL has for a column of dates or times, and the
// unit of the column; empty for others.
func timeTypeOf(dt arrow.DataType) (name string, unit time.Duration) {
	switch t := dt.(type) {
	case *arrow.Date32Type:
		return "DATE", units["DATE"]
	case *arrow.TimestampType:
		unit = t.Unit.Multiplier()
		switch {
		case t.Unit == arrow.Nanosecond:
			return "TIMESTAMP_NS", unit
		case t.TimeZone != "":
			return "TIMESTAMP WITH TIME ZONE", unit
		case t.Unit == arrow.Second:
			return "TIMESTAMP_S", unit
		case t.Unit == arrow.Millisecond:
			return "TIMESTAMP_MS", unit
		}
		return "TIMESTAMP", unit
	}
	return "", 0
}

// spotOfClock reads a text that SQL makes a date or a time, if that loses nothing
// of it.
func spotOfClock(t literal.Text, dt arrow.DataType) (s spot, ok bool) {
	column, _ := timeTypeOf(dt)
	as := t.As
	if as == "" {
		as = column
	}
	c, ok := t.Clock()
	if !ok || !slices.Contains(comparables[column], as) || !isTimes(c.At, units[as]) || as == "DATE" && !c.Day || c.Zone != "" && !c.UTC() {
		return s, false
	}
	return spotOfMoment(c.At, dt)
}

// isTimes reports whether a time is so many of a unit.
func isTimes(at *big.Int, unit time.Duration) bool {
	return new(big.Int).Mod(at, big.NewInt(int64(unit))).Sign() == 0
}

// spotOfMoment is for a time in nanoseconds.
func spotOfMoment(at *big.Int, dt arrow.DataType) (s spot, ok bool) {
	name, unit := timeTypeOf(dt)
	if name == "" {
		return s, false
	}
	value, rest := new(big.Int), new(big.Int)
	value.DivMod(at, big.NewInt(int64(unit)), rest)
	return spot{value.Int64(), rest.Sign() == 0}, value.IsInt64() && inYears(at)
}

// What lies further from today SQL may not count to, or mean infinity by it.
var firstDay, endOfDays = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)

// inYears reports whether a time in nanoseconds lies between them.
func inYears(at *big.Int) bool {
	seconds := new(big.Int).Div(at, big.NewInt(int64(time.Second)))
	return seconds.IsInt64() && seconds.Int64() >= firstDay.Unix() && seconds.Int64() < endOfDays.Unix()
}
