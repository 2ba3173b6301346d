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

// bounds are a closed range of a column's values. What is open in the predicate
// is closed here where the next value is not known: a row more does no harm.
type bounds struct {
	at       int // of the column in batches
	domain   domain
	low      int64
	high     int64
	uLow     uint64
	uHigh    uint64
	fLow     float64
	fHigh    float64
	sLow     string
	sHigh    string
	unending bool // there is no sHigh
}

// rangeOf is the range that a comparison asks for; ok is false when it is none,
// or of values that are not compared here.
func rangeOf(p predicate.Compare, schema *arrow.Schema, columns []int) (r bounds, ok bool) {
	at := slices.Index(columns, p.Column)
	if at < 0 {
		return bounds{}, false
	}
	d, ok := domainOf(schema.Field(p.Column).Type)
	if !ok || p.Op == predicate.NotEqual {
		return bounds{}, false
	}
	r = bounds{
		at: at, domain: d, low: math.MinInt64, high: math.MaxInt64, uHigh: math.MaxUint64,
		fLow: math.Inf(-1), fHigh: math.Inf(1), unending: true,
	}
	below := p.Op == predicate.Less || p.Op == predicate.LessOrEqual || p.Op == predicate.Equal
	above := p.Op == predicate.Greater || p.Op == predicate.GreaterOrEqual || p.Op == predicate.Equal
	return r, r.set(p.Value, below, above, p.Op == predicate.Less || p.Op == predicate.Greater)
}

// set bounds the range by a constant, from above, from below or both. Numbers
// beside it are wanted and, if open, it is not itself.
func (r *bounds) set(value any, below, above, open bool) bool {
	switch v := value.(type) {
	case int64:
		return r.domain == integers && r.integer(v, below, above, open)
	case *big.Int:
		return r.domain == decimals && v.IsInt64() && r.integer(v.Int64(), below, above, open)
	case uint64:
		if below {
			r.uHigh = v
		}
		if above {
			r.uLow = v
		}
		return r.domain == naturals
	case float64:
		if below {
			r.fHigh = v
		}
		if above {
			r.fLow = v
		}
		return r.domain == reals && !math.IsNaN(v)
	case string:
		if below {
			r.sHigh, r.unending = v, false
		}
		if above {
			r.sLow = v
		}
		return r.domain == sequences
	}
	return false
}

func (r *bounds) integer(v int64, below, above, open bool) bool {
	if below {
		r.high = v
		if open && v > math.MinInt64 {
			r.high--
		}
	}
	if above {
		r.low = v
		if open && v < math.MaxInt64 {
			r.low++
		}
	}
	return true
}

// meet is the range that is in both, if they are of one column.
func (r bounds) meet(o bounds) (bounds, bool) {
	if r.at != o.at {
		return r, false
	}
	r.low, r.high = max(r.low, o.low), min(r.high, o.high)
	r.uLow, r.uHigh = max(r.uLow, o.uLow), min(r.uHigh, o.uHigh)
	r.fLow, r.fHigh = max(r.fLow, o.fLow), min(r.fHigh, o.fHigh)
	r.sLow = max(r.sLow, o.sLow)
	switch {
	case r.unending:
		r.sHigh, r.unending = o.sHigh, o.unending
	case !o.unending:
		r.sHigh = min(r.sHigh, o.sHigh)
	}
	return r, true
}

// cost orders ranges by what a look at a value costs.
func (r bounds) cost() int { return int(r.domain) }
