// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package prune

import (
	"math/big"
	"regexp"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

const (
	nanosPerDay    = int64(24 * time.Hour)
	nanosPerSecond = int64(time.Second)
	// anyZone is further than two clocks of the world are apart: how far a time
	// may be meant to be off whose zone is not known here.
	anyZone = int64(28 * time.Hour)
	// converted is what a conversion from nanoseconds may cut off.
	converted = int64(time.Microsecond)
)

// timeText is a date, or a date and a time, as both SQL and this package read it
// without doubt.
var timeText = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}(:\d{2})?)?)?$`)

// moment reads a text as a date or time that meets a column.
func (w words) moment(dt arrow.DataType) (interval, bool) {
	if !timeText.MatchString(w.text) {
		return interval{}, false
	}
	date, clock := w.text[:10], w.text[10:]
	if w.as == "DATE" && clock != "" {
		return interval{}, false // SQL cuts it off
	}
	zone := ""
	if i := strings.IndexAny(clock, "Z+-"); i >= 0 {
		clock, zone = clock[:i], clock[i:]
	}
	if clock == "" {
		clock = " 00:00:00"
	}
	at, err := time.Parse("2006-01-02 15:04:05.999999999", date+" "+clock[1:])
	if err != nil {
		return interval{}, false
	}
	nanos := new(big.Int).Mul(big.NewInt(at.Unix()), big.NewInt(nanosPerSecond))
	nanos.Add(nanos, big.NewInt(int64(at.Nanosecond())))
	zoned := w.as == "TIMESTAMP WITH TIME ZONE" || w.as == "" && isZoned(dt)
	utc := zone == "Z" || zone == "+00" || zone == "+00:00"
	unsure := zone != "" && !utc || zone == "" && zoned
	return moment{nanos, zoned}.around(dt, unsure)
}

func isZoned(dt arrow.DataType) bool {
	t, ok := dt.(*arrow.TimestampType)
	return ok && t.TimeZone != ""
}

func (m moment) within(dt arrow.DataType) (interval, bool) { return m.around(dt, false) }

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
	if unsure || m.zoned != isZoned(dt) {
		off = anyZone
	}
	low := floor(new(big.Rat).SetFrac(new(big.Int).Sub(m.at, big.NewInt(off)), big.NewInt(unit)))
	high := ceil(new(big.Rat).SetFrac(new(big.Int).Add(m.at, big.NewInt(off)), big.NewInt(unit)))
	if !low.IsInt64() || !high.IsInt64() {
		return interval{}, false
	}
	return interval{low.Int64(), high.Int64()}, true
}
