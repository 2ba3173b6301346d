// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rowfilter

import (
	"math"
	"math/big"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake/predicate"
)

// domain is how values of a column are compared.
type domain uint8

const (
	integers  domain = iota + 1 // as int64: also dates, times and booleans
	naturals                    // as uint64
	reals                       // as float64
	decimals                    // as int64 where they fit
	sequences                   // byte by byte
)

// domainOf follows the table of types of [predicate.Compare].
func domainOf(t arrow.DataType) (domain, bool) {
	switch t.ID() {
	case arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32,
		arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return integers, true
	case arrow.UINT64:
		return naturals, true
	case arrow.FLOAT32, arrow.FLOAT64:
		return reals, true
	case arrow.DECIMAL128:
		return decimals, true
	case arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return sequences, true
	}
	return 0, false
}

// bounds are a range of a column's values, and mean what the predicate does.
// Ranges of numbers are closed: the next number is always known.
type bounds struct {
	at     int // of the column in batches
	domain domain
	low    int64
	high   int64
	// noLow and noHigh say that decimals which are too small or too large for an
	// int64 are in the range, too.
	noLow, noHigh bool
	uLow          uint64
	uHigh         uint64
	fLow          float64
	fHigh         float64
	nan           bool // NaN is in the range; it lies above all others
	sLow          string
	sEnd          string // the first that is above the range
	unending      bool   // there is no sEnd
	// single says that there is but one value in the range.
	single bool
	// outside says that the values are wanted that are not in the range, which is a
	// single one.
	outside bool
	// among, if there is one, says which values of the range are wanted.
	among *members
}

// everything is the range of all values.
func everything(at int, d domain) bounds {
	return bounds{
		at: at, domain: d, low: math.MinInt64, high: math.MaxInt64, noLow: true, noHigh: true, uHigh: math.MaxUint64,
		fLow: math.Inf(-1), fHigh: math.Inf(1), nan: true, unending: true,
	}
}

// rangeOf is the range that a comparison asks for; ok is false when it is of
// values that are not compared here.
func rangeOf(p predicate.Compare, schema *arrow.Schema, columns []int) (r bounds, ok bool) {
	at := slices.Index(columns, p.Column)
	if at < 0 {
		return bounds{}, false
	}
	d, ok := domainOf(schema.Field(p.Column).Type)
	if !ok || p.Op < predicate.Equal || p.Op > predicate.GreaterOrEqual {
		return bounds{}, false
	}
	r = everything(at, d)
	e := end{
		above: p.Op == predicate.Greater || p.Op == predicate.GreaterOrEqual,
		below: p.Op == predicate.Less || p.Op == predicate.LessOrEqual,
		open:  p.Op == predicate.Less || p.Op == predicate.Greater,
	}
	if p.Op == predicate.Equal || p.Op == predicate.NotEqual {
		e.above, e.below, r.single = true, true, true
	}
	r.outside = p.Op == predicate.NotEqual
	return r, r.set(p.Value, e)
}

// end says where the wanted values lie: above a constant, below it, or both
// where they are equal to it. If it is open, the constant is not among them.
type end struct{ above, below, open bool }

// set bounds the range by a constant.
func (r *bounds) set(value any, e end) bool {
	switch v := value.(type) {
	case int64:
		r.integer(v, e)
		return r.domain == integers
	case *big.Int:
		if r.domain != decimals || !v.IsInt64() {
			return false
		}
		r.integer(v.Int64(), e)
		r.noLow, r.noHigh = !e.above, !e.below
		return true
	case uint64:
		r.natural(v, e)
		return r.domain == naturals
	case float64:
		r.real(v, e)
		return r.domain == reals
	case string:
		r.sequence(v, e)
		return r.domain == sequences
	}
	return false
}

func (r *bounds) integer(v int64, e end) {
	low, high := v, v
	switch {
	case e.open && e.below && v == math.MinInt64, e.open && e.above && v == math.MaxInt64:
		low, high = math.MaxInt64, math.MinInt64 // nothing
		e.above, e.below = true, true
	case e.open:
		low, high = v+1, v-1
	}
	if e.above {
		r.low = low
	}
	if e.below {
		r.high = high
	}
}

func (r *bounds) natural(v uint64, e end) {
	low, high := v, v
	switch {
	case e.open && e.below && v == 0, e.open && e.above && v == math.MaxUint64:
		low, high = math.MaxUint64, 0
		e.above, e.below = true, true
	case e.open:
		low, high = v+1, v-1
	}
	if e.above {
		r.uLow = low
	}
	if e.below {
		r.uHigh = high
	}
}

// real follows the order in which NaN lies above all others and equals itself.
func (r *bounds) real(v float64, e end) {
	switch {
	case math.IsNaN(v):
		r.nan = !e.open
		if e.above { // no number is
			r.fLow, r.fHigh = math.Inf(1), math.Inf(-1)
		}
		return
	case e.open && math.IsInf(v, 1) && e.above, e.open && math.IsInf(v, -1) && e.below:
		r.fLow, r.fHigh = math.Inf(1), math.Inf(-1)
	}
	if e.below {
		r.fHigh, r.nan = min(r.fHigh, v), false
		if e.open {
			r.fHigh = min(r.fHigh, math.Nextafter(v, math.Inf(-1)))
		}
	}
	if e.above {
		r.fLow = max(r.fLow, v)
		if e.open {
			r.fLow = max(r.fLow, math.Nextafter(v, math.Inf(1)))
		}
	}
}

// sequence knows that the next text after another is that with a zero byte
// behind it.
func (r *bounds) sequence(v string, e end) {
	if e.below {
		r.sEnd, r.unending = v, false
		if !e.open {
			r.sEnd += "\x00"
		}
	}
	if e.above {
		r.sLow = v
		if e.open {
			r.sLow += "\x00"
		}
	}
}

// meet is the range that is in both, if that is one.
func (r bounds) meet(o bounds) (bounds, bool) {
	if r.at != o.at || r.outside || o.outside || r.among != nil || o.among != nil {
		return r, false
	}
	r.single = false
	r.low, r.high = max(r.low, o.low), min(r.high, o.high)
	r.noLow, r.noHigh = r.noLow && o.noLow, r.noHigh && o.noHigh
	r.uLow, r.uHigh = max(r.uLow, o.uLow), min(r.uHigh, o.uHigh)
	r.fLow, r.fHigh = max(r.fLow, o.fLow), min(r.fHigh, o.fHigh)
	r.nan = r.nan && o.nan
	r.sLow = max(r.sLow, o.sLow)
	switch {
	case r.unending:
		r.sEnd, r.unending = o.sEnd, o.unending
	case !o.unending:
		r.sEnd = min(r.sEnd, o.sEnd)
	}
	return r, true
}

// around is the range from the lower end of the two to the upper one, for ranges
// that end.
func (r bounds) around(o bounds) bounds {
	r.low, r.high = min(r.low, o.low), max(r.high, o.high)
	r.uLow, r.uHigh = min(r.uLow, o.uLow), max(r.uHigh, o.uHigh)
	r.fLow, r.fHigh = min(r.fLow, o.fLow), max(r.fHigh, o.fHigh)
	r.nan = r.nan || o.nan
	r.sLow, r.sEnd = min(r.sLow, o.sLow), max(r.sEnd, o.sEnd)
	return r
}

// cost orders ranges by what a look at a value costs.
func (r bounds) cost() int { return int(r.domain) }
