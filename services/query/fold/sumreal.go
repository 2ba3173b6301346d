// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import (
	"math"
	"unsafe"
)

// reals sums floats, in float64.
type reals[T float32 | float64] struct {
	stored[T]
	sums []float64
	room []T
}

// huge is a value with which a sum may leave the range of floats, and come back
// or not by the order of the rows. Without such values only those that are not
// finite make sums that are not, in any order.
const huge = 0x1p961

// Of a value that is huge or not finite, the upper five bits of the exponent are
// set: one more makes them overflow into the sign.
const (
	signBit = 1 << 63
	hugeOne = 1 << 58
)

// reach has its sign bit set for what is huge or not finite.
func reach[T float32 | float64](v T) uint64 {
	if unsafe.Sizeof(v) < 8 {
		return 0 // float32 is nowhere near
	}
	return math.Float64bits(float64(v))&^signBit + hugeOne
}

func (s *reals[T]) add(from, n int, sel *selection) error {
	values := s.slice(from, n)
	var far uint64
	switch {
	case sel.groups == nil:
		far = totalReal(&s.sums[1], chosen(values, &s.room, sel))
	case sel.runs != nil:
		for _, r := range sel.runs {
			far |= totalReal(&s.sums[r.group], values[r.from:r.to])
		}
	default:
		far = addRealTo(s.sums, values, sel.groups)
	}
	if far&signBit != 0 && hasHuge(values, &sel.rows) {
		return ErrEngine
	}
	return nil
}

func hasHuge[T float32 | float64](values []T, rows *mask) bool {
	for i, v := range values {
		if size := math.Abs(float64(v)); size >= huge && size <= math.MaxFloat64 && rows[i/64]>>(i%64)&1 == 1 {
			return true
		}
	}
	return false
}

// addRealTo adds to the sums of groups, and says how far the values reach.
func addRealTo[T float32 | float64](sums []float64, values []T, groups []uint32) (far uint64) {
	values = values[:len(groups)]
	for i, k := range groups {
		v := values[i]
		sums[k] += float64(v)
		far |= reach(v)
	}
	return far
}

// totalReal adds to one sum, of several numbers at a time: an addition takes
// longer than it takes to begin the next.
func totalReal[T float32 | float64](sum *float64, values []T) (far uint64) {
	var a, b, c, d, e, f, g, h float64
	for len(values) >= 8 {
		v := values[:8]
		a += float64(v[0])
		b += float64(v[1])
		c += float64(v[2])
		d += float64(v[3])
		e += float64(v[4])
		f += float64(v[5])
		g += float64(v[6])
		h += float64(v[7])
		far |= reach(v[0]) | reach(v[1]) | reach(v[2]) | reach(v[3]) | reach(v[4]) | reach(v[5]) | reach(v[6]) | reach(v[7])
		values = values[8:]
	}
	for _, v := range values {
		a += float64(v)
		far |= reach(v)
	}
	*sum += ((a + b) + (c + d)) + ((e + f) + (g + h))
	return far
}

func (s *reals[T]) grow(groups int) { s.sums = longer(s.sums, groups, 0) }

func (s *reals[T]) merge(other accumulator, to []uint32) error {
	o := other.(*reals[T])
	for k := 1; k < len(to); k++ {
		s.sums[to[k]] += o.sums[k]
	}
	return nil
}

func (s *reals[T]) size() int { return 8 * cap(s.sums) }
