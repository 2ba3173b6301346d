// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import (
	"math/bits"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// wide is a whole number of 128 bits.
type wide struct {
	low  uint64
	high int64
}

// plus adds; ok is false when the sum has more bits.
func (w wide) plus(v wide) (sum wide, ok bool) {
	low, carry := bits.Add64(w.low, v.low, 0)
	high := w.high + v.high + int64(carry)
	return wide{low, high}, (w.high < 0) != (v.high < 0) || (high < 0) == (w.high < 0)
}

// widen is a whole number of 64 bits.
func widen[T integer](v T) wide {
	if v < 0 {
		return wide{uint64(v), -1}
	}
	return wide{uint64(v), 0}
}

// magnitude is the number of the bits of the value itself, apart from its sign.
func (w wide) magnitude() (high, low uint64) {
	if w.high >= 0 {
		return uint64(w.high), w.low
	}
	low, borrow := bits.Sub64(0, w.low, 0)
	high, _ = bits.Sub64(0, uint64(w.high), borrow)
	return high, low
}

// integers sums whole numbers exactly. Sums are kept in 64 bits as long as those
// cannot be too few, which is told by the largest value of each chunk.
type integers[T integer] struct {
	source[T]
	sums []int64
	// reach bounds the absolute value of each of sums.
	reach uint64
	// wides have what was in sums when their reach was used up; nil before.
	wides []wide
	room  []T
}

// maxReach is as far as sums may get. A chunk that needs more by itself is added
// in 128 bits.
const maxReach = 1 << 62

func (s *integers[T]) add(from, n int, sel *selection) error {
	values := s.slice(from, n)
	if sel.groups == nil {
		values = chosen(values, &s.room, sel)
	}
	size := sizeOf(values)
	if size > maxReach/chunkRows {
		s.spill()
		s.addWide(values, sel.groups)
		return nil
	}
	if s.reach += uint64(n) * size; s.reach > maxReach {
		s.spill()
		s.reach = uint64(n) * size
	}
	switch {
	case sel.groups == nil:
		s.sums[1] += total(values)
	case sel.runs != nil:
		for _, r := range sel.runs {
			s.sums[r.group] += total(values[r.from:r.to])
		}
	default:
		addTo(s.sums, values, sel.groups)
	}
	return nil
}

// sizeOf bounds the absolute values: by their type, or by the bits that are in
// use.
func sizeOf[T integer](values []T) uint64 {
	if size := unsafe.Sizeof(T(0)); size < 8 {
		return 1 << (8 * size)
	}
	var a, b, c, d uint64
	for len(values) >= 4 {
		v := values[:4]
		a |= extent(v[0])
		b |= extent(v[1])
		c |= extent(v[2])
		d |= extent(v[3])
		values = values[4:]
	}
	for _, v := range values {
		a |= extent(v)
	}
	return 1 << min(bits.Len64(a|b|c|d), 63)
}

// extent is a value without its sign.
func extent[T integer](v T) uint64 {
	if T(0)-1 < 0 {
		return uint64(v) ^ uint64(int64(v)>>63)
	}
	return uint64(v)
}

// total is the sum in 64 bits, of several numbers at a time.
func total[T integer](values []T) int64 {
	var a, b, c, d int64
	for len(values) >= 4 {
		v := values[:4]
		a += int64(v[0])
		b += int64(v[1])
		c += int64(v[2])
		d += int64(v[3])
		values = values[4:]
	}
	for _, v := range values {
		a += int64(v)
	}
	return a + b + c + d
}

func addTo[T integer](sums []int64, values []T, groups []uint32) {
	values = values[:len(groups)]
	for i, k := range groups {
		sums[k] += int64(values[i])
	}
}

// addWide adds in 128 bits.
func (s *integers[T]) addWide(values []T, groups []uint32) {
	for i, v := range values {
		k := uint32(1)
		if groups != nil {
			k = groups[i]
		}
		// 2^64 rows of 2^64 fit.
		s.wides[k], _ = s.wides[k].plus(widen(v))
	}
}

// spill empties sums into wides.
func (s *integers[T]) spill() {
	s.wides = longer(s.wides, len(s.sums)-1, wide{})
	for k, v := range s.sums {
		s.wides[k], _ = s.wides[k].plus(widen(v))
		s.sums[k] = 0
	}
	s.reach = 0
}

// sum is that of a group.
func (s *integers[T]) sum(k int) wide {
	sum := widen(s.sums[k])
	if k < len(s.wides) {
		sum, _ = sum.plus(s.wides[k])
	}
	return sum
}

func (s *integers[T]) grow(groups int) {
	s.sums = longer(s.sums, groups, 0)
	if s.wides != nil {
		s.wides = longer(s.wides, groups, wide{})
	}
}

func (s *integers[T]) merge(other accumulator, to []uint32) error {
	o := other.(*integers[T])
	s.spill()
	for k := 1; k < len(to); k++ {
		s.wides[to[k]], _ = s.wides[to[k]].plus(o.sum(k))
	}
	return nil
}

func (s *integers[T]) size() int { return 8*cap(s.sums) + 16*cap(s.wides) }

// decimals sums decimals of 128 bits.
type decimals struct {
	values []decimal128.Num
	most   wide // no value of the type is larger
	sums   []wide
}

func (s *decimals) bind(a arrow.Array) (err error) {
	s.values, err = valuesOf[decimal128.Num](a)
	return err
}

func (s *decimals) add(from, n int, sel *selection) error {
	for i, v := range s.values[from : from+n] {
		k := uint32(1)
		if sel.groups != nil {
			k = sel.groups[i]
		}
		if k == 0 || sel.rows[i/64]>>(i%64)&1 == 0 {
			continue
		}
		w := wide{v.LowBits(), v.HighBits()}
		sum, ok := s.sums[k].plus(w)
		if !ok || beyond(w, s.most) {
			return ErrEngine
		}
		s.sums[k] = sum
	}
	return nil
}

// beyond reports whether w is larger than most, whatever its sign.
func beyond(w, most wide) bool {
	high, low := w.magnitude()
	return high > uint64(most.high) || high == uint64(most.high) && low > most.low
}

func (s *decimals) grow(groups int) { s.sums = longer(s.sums, groups, wide{}) }

func (s *decimals) merge(other accumulator, to []uint32) error {
	o := other.(*decimals)
	for k := 1; k < len(to); k++ {
		sum, ok := s.sums[to[k]].plus(o.sums[k])
		if !ok {
			return ErrEngine
		}
		s.sums[to[k]] = sum
	}
	return nil
}

func (s *decimals) size() int { return 16 * cap(s.sums) }
