// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// maxWindow is how many neighbouring values are numbered by a table of all of
// them.
const maxWindow = 1 << 16

// integerKeys numbers whole numbers, and what is stored as such. Values that are
// close together have a table of all values from base on, circularly: a
// difference in 64 bits is as good as a value. Others are looked up.
type integerKeys[T integer] struct {
	source[T]
	numbers
	values []T // by number; that of null means nothing

	base   uint64
	window []uint32 // 0: not seen
	// low and high are the least and the most that were seen.
	low, high T
	table     *wordTable // instead of window, once that is too small
}

func (s *integerKeys[T]) number(out []uint32, from int) error {
	values := s.slice(from, len(out))
	values = values[:len(out)]
	if s.table != nil {
		return s.lookUp(out, values)
	}
	window, base := s.window, s.base
	for i, v := range values {
		if at := uint64(v) - base; at < uint64(len(window)) {
			if n := window[at]; n != 0 {
				out[i] = n
				continue
			}
		}
		n, err := s.add(v)
		if err != nil {
			return err
		}
		out[i] = n
		if window, base = s.window, s.base; s.table != nil {
			return s.lookUp(out[i+1:], values[i+1:])
		}
	}
	return nil
}

func (s *integerKeys[T]) lookUp(out []uint32, values []T) error {
	slots := s.table.slots
	out = out[:len(values)]
	for i, v := range values {
		at := hash(uint64(v), 0)
		slot := &slots[at&uint64(len(slots)-1)]
		for slot.word != uint64(v) && slot.number != 0 { // half are empty
			at++
			slot = &slots[at&uint64(len(slots)-1)]
		}
		if slot.number != 0 {
			out[i] = slot.number
			continue
		}
		n, err := s.add(v)
		if err != nil {
			return err
		}
		out[i], slots = n, s.table.slots
	}
	return nil
}

// add gives a value a number that has none.
func (s *integerKeys[T]) add(v T) (uint32, error) {
	if s.count() >= maxNumbers {
		return 0, ErrEngine
	}
	n := s.next()
	s.values = append(longer(s.values, int(n)-1, 0), v)
	if s.table != nil {
		return n, s.table.insert(uint64(v), n)
	}
	if s.window == nil {
		s.low, s.high = v, v
	}
	s.low, s.high = min(s.low, v), max(s.high, v)
	if at := uint64(v) - s.base; at < uint64(len(s.window)) {
		s.window[at] = n
		return n, nil
	}
	return n, s.widen()
}

// widen makes room around the values that were seen, or a table.
func (s *integerKeys[T]) widen() error {
	spread := uint64(s.high) - uint64(s.low)
	if spread >= maxWindow {
		s.window, s.table = nil, &wordTable{}
		return s.each(func(v T, n uint32) error { return s.table.insert(uint64(v), n) })
	}
	size := min(uint64(maxWindow), max(uint64(2)<<bits.Len64(spread), smallTable))
	s.base = uint64(s.low) - (size-spread)/2
	s.window = make([]uint32, size)
	return s.each(func(v T, n uint32) error {
		s.window[uint64(v)-s.base] = n
		return nil
	})
}

// each calls f for the values but null.
func (s *integerKeys[T]) each(f func(v T, n uint32) error) error {
	for n := uint32(1); int(n) < len(s.values); n++ {
		if n == s.nothing {
			continue
		}
		if err := f(s.values[n], n); err != nil {
			return err
		}
	}
	return nil
}

// of is the number of a value.
func (s *integerKeys[T]) of(v T) (uint32, error) {
	var n uint32
	if s.table != nil {
		n = s.table.find(uint64(v))
	} else if at := uint64(v) - s.base; at < uint64(len(s.window)) {
		n = s.window[at]
	}
	if n != 0 {
		return n, nil
	}
	return s.add(v)
}

func (s *integerKeys[T]) adopt(other numberer) ([]uint32, error) {
	o := other.(*integerKeys[T])
	to := make([]uint32, o.count()+1)
	if o.nothing != 0 {
		to[o.nothing] = s.null()
	}
	err := o.each(func(v T, n uint32) (err error) {
		to[n], err = s.of(v)
		return err
	})
	return to, err
}

func (s *integerKeys[T]) array(dt arrow.DataType, numbers []uint32) (arrow.Array, error) {
	values := make([]T, len(numbers))
	for i, n := range numbers {
		if n != s.nothing {
			values[i] = s.values[n]
		}
	}
	return fixed(dt, values, func(i int) bool { return numbers[i] != s.nothing }), nil
}

func (s *integerKeys[T]) size() int {
	size := 8*cap(s.values) + 4*len(s.window)
	if s.table != nil {
		size += s.table.size()
	}
	return size
}

// fixed is an array of values of one size; booleans come as bytes.
func fixed[T arrow.FixedWidthType](dt arrow.DataType, values []T, valid func(i int) bool) arrow.Array {
	bitmap, nulls := make([]byte, bitutil.BytesForBits(int64(len(values)))), 0
	for i := range values {
		if valid(i) {
			bitutil.SetBit(bitmap, i)
		} else {
			nulls++
		}
	}
	content := arrow.GetBytes(values)
	if dt.ID() == arrow.BOOL {
		content = make([]byte, len(bitmap))
		for i, v := range arrow.GetBytes(values) {
			bitutil.SetBitTo(content, i, v != 0)
		}
	}
	data := array.NewData(dt, len(values), []*memory.Buffer{memory.NewBufferBytes(bitmap), memory.NewBufferBytes(content)}, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}
