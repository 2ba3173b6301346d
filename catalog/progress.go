// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"math"
	"time"
)

// Progress is how far the phase of a procedure is. It is for people: nothing is
// decided by it. Attempts write it with their counters.
type Progress struct {
	// Of names the counter that tells, empty where none does.
	Of string `json:"of,omitempty"`
	// Total is what the counter will be at the end, 0 while nobody knows; About
	// says that it is a guess by what was there before.
	Total int64 `json:"total,omitempty"`
	About bool  `json:"about,omitempty"`
	// Counted and Upto are of a count that is under way: how many, to which key.
	Counted int64  `json:"counted,omitempty"`
	Upto    string `json:"upto,omitempty"`
	// PerSecond is the counter's rate, a moving average.
	PerSecond float64 `json:"per_second,omitempty"`
	// At is when the counter moved last, or when it was begun to look at it.
	At time.Time `json:"at,omitzero"`
}

const (
	// rateWindow is the time constant of the average.
	rateWindow = 30 * time.Second
	// rateBreak is a gap that belongs to no rate: nobody worked.
	rateBreak = 5 * time.Minute
)

// anew forgets the rate: from now on it is another one.
func (p Progress) anew(now time.Time) Progress {
	if p.Of != "" {
		p.PerSecond, p.At = 0, now
	}
	return p
}

// Measured returns the progress after a commit at now that took the procedure
// from one record to the next.
func Measured(old, next Procedure, now time.Time) Progress {
	p := next.Progress
	if p.Of == "" {
		return p
	}
	if p.Of != old.Progress.Of || p.At.IsZero() {
		return p.anew(now)
	}
	moved, took := next.Counters[p.Of]-old.Counters[p.Of], now.Sub(p.At)
	switch {
	case moved <= 0 || took <= 0:
		return p
	case took > rateBreak:
		return p.anew(now)
	}
	rate, weight := float64(moved)/took.Seconds(), -math.Expm1(-float64(took)/float64(rateWindow))
	if p.PerSecond > 0 {
		rate = p.PerSecond + weight*(rate-p.PerSecond)
	}
	p.PerSecond, p.At = rate, now
	return p
}

// maxETA bounds what is worth telling.
const maxETA = 10 * 365 * 24 * time.Hour

// ETA is when the phase ends at the present rate; ok is false when that cannot be
// told, or the procedure is held or over.
func (p Procedure) ETA() (at time.Time, ok bool) {
	m := p.Progress
	if p.State.Terminal() || p.Paused || m.Total == 0 || m.PerSecond <= 0 {
		return at, false
	}
	left := m.Total - p.Counters[m.Of]
	seconds := float64(left) / m.PerSecond
	if left < 0 || seconds > maxETA.Seconds() {
		return at, false
	}
	return m.At.Add(time.Duration(seconds * float64(time.Second))), true
}
