// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rowfilter

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// none reports, without a list of rows, that no row of a batch may meet a
// condition. false means that a list has to tell. Of a large table most batches
// have no row that is wanted, and this is what they cost.
func none(n narrower, batch arrow.RecordBatch) bool {
	switch n := n.(type) {
	case bounds:
		return n.none(batch.Column(n.at))
	case every:
		for _, part := range n {
			if none(part, batch) {
				return true
			}
		}
	}
	return false
}

// none looks at integers and floating-point numbers. What lies below a null may
// look as if it were wanted.
func (r bounds) none(column arrow.Array) bool {
	switch c := column.(type) {
	case *array.Float32:
		return noRealWithin(c.Float32Values(), r)
	case *array.Float64:
		return noRealWithin(c.Float64Values(), r)
	}
	within, ok := r.ring()
	if !ok && r.domain == integers {
		return true
	}
	switch c := column.(type) {
	case *array.Int8:
		return noneWithin(c.Int8Values(), within)
	case *array.Int16:
		return noneWithin(c.Int16Values(), within)
	case *array.Int32:
		return noneWithin(c.Int32Values(), within)
	case *array.Int64:
		return noneWithin(c.Int64Values(), within)
	case *array.Uint8:
		return noneWithin(c.Uint8Values(), within)
	case *array.Uint16:
		return noneWithin(c.Uint16Values(), within)
	case *array.Uint32:
		return noneWithin(c.Uint32Values(), within)
	case *array.Date32:
		return noneWithin(c.Date32Values(), within)
	case *array.Timestamp:
		return noneWithin(c.TimestampValues(), within)
	}
	return false
}

func noneWithin[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](values []T, within ring) bool {
	span, from := within.span, within.from
	away := func(v T) uint64 { return uint64(int64(v)) - from }
	for ; len(values) >= 8; values = values[8:] {
		v := (*[8]T)(values)
		if min(away(v[0]), away(v[1]), away(v[2]), away(v[3])) <= span || min(away(v[4]), away(v[5]), away(v[6]), away(v[7])) <= span {
			return false
		}
	}
	for _, v := range values {
		if away(v) <= span {
			return false
		}
	}
	return true
}

func noRealWithin[T float32 | float64](values []T, r bounds) bool {
	low, high, nan, outside := r.fLow, r.fHigh, bit(r.nan), bit(r.outside)
	for len(values) > 0 {
		few := values[:min(8, len(values))]
		wanted := int64(0)
		for _, v := range few {
			wanted |= inReals(float64(v), low, high, nan) ^ outside
		}
		if wanted != 0 {
			return false
		}
		values = values[len(few):]
	}
	return true
}
