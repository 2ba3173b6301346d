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

// none looks at integers. What lies below a null may look as if it were wanted.
func (r bounds) none(column arrow.Array) bool {
	switch c := column.(type) {
	case *array.Int8:
		return noneWithin(c.Int8Values(), r.low, r.high)
	case *array.Int16:
		return noneWithin(c.Int16Values(), r.low, r.high)
	case *array.Int32:
		return noneWithin(c.Int32Values(), r.low, r.high)
	case *array.Int64:
		return noneWithin(c.Int64Values(), r.low, r.high)
	case *array.Uint8:
		return noneWithin(c.Uint8Values(), r.low, r.high)
	case *array.Uint16:
		return noneWithin(c.Uint16Values(), r.low, r.high)
	case *array.Uint32:
		return noneWithin(c.Uint32Values(), r.low, r.high)
	case *array.Date32:
		return noneWithin(c.Date32Values(), r.low, r.high)
	case *array.Timestamp:
		return noneWithin(c.TimestampValues(), r.low, r.high)
	}
	return false
}

func noneWithin[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](values []T, low, high int64) bool {
	if low > high {
		return true
	}
	span, from := uint64(high)-uint64(low), uint64(low)
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
