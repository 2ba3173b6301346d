// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package prune

import (
	"math/big"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/services/query/literal"
)

const (
	nanosPerDay = int64(24 * time.Hour)
	// anyZone is further than two clocks of the world are apart: how far a time
	// may be meant to be off whose zone is not known here.
	anyZone = int64(28 * time.Hour)
	// converted is what a conversion from nanoseconds may cut off.
	converted = int64(time.Microsecond)
)

// moment reads a text as a date or time that meets a column.
func (w words) moment(dt arrow.DataType) (interval, bool) {
	c, ok := literal.Text(w).Clock()
	if !ok || w.As == "DATE" && !c.Day { // SQL cuts it off
		return interval{}, false
	}
	zoned := w.As == "TIMESTAMP WITH TIME ZONE" || w.As == "" && isZoned(dt)
	unsure := c.Zone != "" && !c.UTC() || c.Zone == "" && zoned
	return moment{c.At, zoned}.around(dt, unsure)
}

func isZoned(dt arrow.DataType) bool {
	t, ok := dt.(*arrow.TimestampType)
	return ok && t.TimeZone != ""
}

// around returns the values of a column that may be the moment. unsure says
// that it may be any zone's.
func (m moment) around(dt arrow.DataType, unsure bool) (interval, bool) {
	var unit int64
	switch t := dt.(type) {
	case *arrow.Date32Type:
		unit = nanosPerDay
	case *arrow.TimestampType:
		unit = int64(t.Unit.Multiplier())
	default:
		return interval{}, false
	}
	off := int64(0)
	if unit == 1 { // SQL may convert the column to microseconds
		off = converted
	}
	if unsure || m.Zoned != isZoned(dt) {
		off = anyZone
	}
	low := floor(new(big.Rat).SetFrac(new(big.Int).Sub(m.At, big.NewInt(off)), big.NewInt(unit)))
	high := ceil(new(big.Rat).SetFrac(new(big.Int).Add(m.At, big.NewInt(off)), big.NewInt(unit)))
	if !low.IsInt64() || !high.IsInt64() {
		return interval{}, false
	}
	return interval{low.Int64(), high.Int64()}, true
}
