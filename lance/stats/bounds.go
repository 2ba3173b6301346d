// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// newBounder returns nil for types whose values have no order that predicates
// know.
func newBounder(dt arrow.DataType) bounder {
	switch dt.ID() {
	case arrow.BOOL:
		return &booleanBounds{}
	case arrow.INT8:
		return &intBounds[int8]{}
	case arrow.INT16:
		return &intBounds[int16]{}
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return &intBounds[int32]{}
	case arrow.INT64, arrow.DATE64, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return &intBounds[int64]{}
	case arrow.UINT8:
		return &intBounds[uint8]{}
	case arrow.UINT16:
		return &intBounds[uint16]{}
	case arrow.UINT32:
		return &intBounds[uint32]{}
	case arrow.UINT64:
		return &intBounds[uint64]{}
	case arrow.FLOAT16:
		return &halfBounds{}
	case arrow.FLOAT32:
		return &floatBounds[float32]{}
	case arrow.FLOAT64:
		return &floatBounds[float64]{}
	case arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.LARGE_BINARY, arrow.FIXED_SIZE_BINARY:
		return &textBounds{}
	case arrow.DECIMAL128:
		return &decimalBounds{}
	}
	return nil
}

// each calls f for the index of each value that is not null.
func each(a arrow.Array, f func(i int)) {
	n := a.Len()
	if a.NullN() == 0 {
		for i := range n {
			f(i)
		}
		return
	}
	valid, at := a.NullBitmapBytes(), a.Data().Offset()
	for i := range n {
		if bitutil.BitIsSet(valid, at+i) {
			f(i)
		}
	}
}

// intBounds are those of whole numbers, whatever they stand for.
type intBounds[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64] struct {
	low, high T
	some      bool
}

func (b *intBounds[T]) add(a arrow.Array) {
	values := arrow.GetData[T](a.Data().Buffers()[1].Bytes())[a.Data().Offset():][:a.Len()]
	low, high, some := b.low, b.high, b.some
	if a.NullN() == 0 { // worth a loop of its own: most columns
		if !some {
			low, high = values[0], values[0]
		}
		for _, v := range values {
			low, high = min(low, v), max(high, v)
		}
		b.low, b.high, b.some = low, high, true
		return
	}
	each(a, func(i int) {
		v := values[i]
		if !some {
			low, high, some = v, v, true
		}
		low, high = min(low, v), max(high, v)
	})
	b.low, b.high, b.some = low, high, some
}

func (b *intBounds[T]) bounds() (low, high any) {
	if !b.some {
		return nil, nil
	}
	if l, ok := any(b.low).(uint64); ok {
		return l, any(b.high)
	}
	return int64(b.low), int64(b.high)
}

type booleanBounds struct{ intBounds[uint8] }

func (b *booleanBounds) add(a arrow.Array) {
	values := a.(*array.Boolean)
	each(a, func(i int) {
		v := uint8(0)
		if values.Value(i) {
			v = 1
		}
		if !b.some {
			b.low, b.high, b.some = v, v, true
		}
		b.low, b.high = min(b.low, v), max(b.high, v)
	})
}

// floatBounds are those of floating-point numbers. NaN is the largest.
type floatBounds[T float32 | float64] struct {
	low, high T
	some, nan bool
}

func (b *floatBounds[T]) add(a arrow.Array) {
	values := arrow.GetData[T](a.Data().Buffers()[1].Bytes())[a.Data().Offset():][:a.Len()]
	each(a, func(i int) { b.one(values[i]) })
}

func (b *floatBounds[T]) one(v T) {
	switch {
	case v != v:
		b.nan = true
	case !b.some:
		b.low, b.high, b.some = v, v, true
	case v < b.low:
		b.low = v
	case v > b.high:
		b.high = v
	}
}

func (b *floatBounds[T]) bounds() (low, high any) {
	switch {
	case b.some && b.nan:
		return float64(b.low), math.NaN()
	case b.some:
		return float64(b.low), float64(b.high)
	case b.nan:
		return math.NaN(), math.NaN()
	}
	return nil, nil
}

type halfBounds struct{ floatBounds[float32] }

func (b *halfBounds) add(a arrow.Array) {
	values := a.(*array.Float16).Values()
	each(a, func(i int) { b.one(values[i].Float32()) })
}

// textBounds are those of texts and bytes. It keeps no more of a text than its
// beginning.
type textBounds struct {
	low, high string
	// cut says that a text that begins with high goes on.
	cut, some bool
}

func (b *textBounds) add(a arrow.Array) {
	switch a := a.(type) {
	case *array.String:
		each(a, func(i int) { b.one(a.Value(i)) })
	case *array.LargeString:
		each(a, func(i int) { b.one(a.Value(i)) })
	case interface{ Value(int) []byte }:
		each(a.(arrow.Array), func(i int) { b.bytes(a.Value(i)) })
	}
}

// bytes is one without making a string of each value.
func (b *textBounds) bytes(v []byte) {
	v = v[:min(len(v), maxText+1)]
	if b.some && string(v) >= b.low && string(v) < b.high {
		return
	}
	b.one(string(v))
}

func (b *textBounds) one(v string) {
	begin := v[:min(len(v), maxText)]
	if !b.some {
		b.low, b.high, b.some = clone(begin), clone(begin), true
	}
	if begin < b.low {
		b.low = clone(begin)
	}
	if begin < b.high {
		return
	}
	if begin > b.high {
		b.high, b.cut = clone(begin), false
	}
	b.cut = b.cut || len(v) > maxText
}

// clone copies a string: those of a batch are good only as long as it is.
func clone(s string) string { return string(append([]byte(nil), s...)) }

func (b *textBounds) bounds() (low, high any) {
	switch {
	case !b.some:
		return nil, nil
	case b.cut:
		return b.low, after(b.high)
	}
	return b.low, b.high
}

type decimalBounds struct {
	low, high decimal128.Num
	some      bool
}

func (b *decimalBounds) add(a arrow.Array) {
	values := a.(*array.Decimal128).Values()
	each(a, func(i int) {
		v := values[i]
		if !b.some {
			b.low, b.high, b.some = v, v, true
		}
		if v.Less(b.low) {
			b.low = v
		}
		if b.high.Less(v) {
			b.high = v
		}
	})
}

func (b *decimalBounds) bounds() (low, high any) {
	if !b.some {
		return nil, nil
	}
	return b.low.BigInt(), b.high.BigInt()
}
