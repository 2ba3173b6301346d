// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package literal

import (
	"math/big"
	"regexp"
	"strings"
	"time"
)

// Clock is what a text says of a date or a time.
type Clock struct {
	// At is what the calendar and the clock say, in nanoseconds since they said
	// 1970-01-01 00:00:00.
	At *big.Int
	// Day says that the text is a date alone.
	Day bool
	// Zone is how the text says where the clock stands, such as Z or +02:00, and
	// empty if it does not.
	Zone string
}

// timeText is a date, or a date and a time, as both SQL and this package read it
// without doubt.
var timeText = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}(:\d{2})?)?)?$`)

// Clock reads the text as a date or a time, whatever it is cast to. false: SQL
// may read it in another way, or refuse it.
func (t Text) Clock() (c Clock, ok bool) {
	if !timeText.MatchString(t.Value) {
		return c, false
	}
	date, clock := t.Value[:10], t.Value[10:]
	if i := strings.IndexAny(clock, "Z+-"); i >= 0 {
		clock, c.Zone = clock[:i], clock[i:]
	}
	if c.Day = clock == ""; c.Day {
		clock = " 00:00:00"
	}
	at, err := time.Parse("2006-01-02 15:04:05.999999999", date+" "+clock[1:])
	if err != nil || at.Year() == 0 {
		return Clock{}, false
	}
	c.At = nanos(at.Unix(), time.Second)
	c.At.Add(c.At, big.NewInt(int64(at.Nanosecond())))
	return c, true
}

// UTC reports whether the zone is said to be UTC.
func (c Clock) UTC() bool { return c.Zone == "Z" || c.Zone == "+00" || c.Zone == "+00:00" }
