// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package prune

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake/predicate"
	"github.com/lakeplane/lake/services/query/literal"
)

// interval holds every value of a column that may equal a constant once SQL has
// converted both: bounds as predicates have them, both included.
type interval struct{ low, high any }

func (i interval) exact() bool {
	b, ok := i.low.(*big.Int)
	if ok {
		return b.Cmp(i.high.(*big.Int)) == 0
	}
	return i.low == i.high
}

// compare returns what must hold of a column that compares with the constant.
func (i interval) compare(at int, o op) predicate.Predicate {
	is := func(op predicate.Op, v any) predicate.Predicate {
		return predicate.Compare{Column: at, Op: op, Value: v}
	}
	switch o {
	case equal:
		if i.exact() {
			return is(predicate.Equal, i.low)
		}
		return predicate.And{is(predicate.GreaterOrEqual, i.low), is(predicate.LessOrEqual, i.high)}
	case notEqual:
		if i.exact() {
			return is(predicate.NotEqual, i.low)
		}
		return nil
	case less:
		return is(map[bool]predicate.Op{true: predicate.Less, false: predicate.LessOrEqual}[i.exact()], i.high)
	case atMost:
		return is(predicate.LessOrEqual, i.high)
	case greater:
		return is(map[bool]predicate.Op{true: predicate.Greater, false: predicate.GreaterOrEqual}[i.exact()], i.low)
	}
	return is(predicate.GreaterOrEqual, i.low)
}

// hull is the smallest interval around all.
func hull(all []interval) interval {
	out := all[0]
	for _, i := range all[1:] {
		if predicate.Holds(predicate.Compare{Op: predicate.Less, Value: out.low}, func(int) any { return i.low }) {
			out.low = i.low
		}
		if predicate.Holds(predicate.Compare{Op: predicate.Greater, Value: out.high}, func(int) any { return i.high }) {
			out.high = i.high
		}
	}
	return out
}

// interval returns the values of a column that may equal a constant. false:
// not known, or none.
func (b *binder) interval(c literal.Value, at int) (interval, bool) {
	dt := b.field(at).Type
	switch c := b.value(c).(type) {
	case literal.Number:
		return number(c).within(dt)
	case literal.Text:
		return words(c).within(dt)
	case literal.Moment:
		return moment(c).around(dt, false)
	case literal.Boolean:
		if dt.ID() != arrow.BOOL {
			return interval{}, false
		}
		v := int64(0)
		if c {
			v = 1
		}
		return interval{v, v}, true
	}
	return interval{}, false
}

func isText(dt arrow.DataType) bool {
	return dt.ID() == arrow.STRING || dt.ID() == arrow.LARGE_STRING
}

func isBytes(dt arrow.DataType) bool {
	switch dt.ID() {
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.FIXED_SIZE_BINARY:
		return true
	}
	return false
}

// The values that are looked at here.
type (
	number literal.Number
	words  literal.Text
	moment literal.Moment
)

func (n number) within(dt arrow.DataType) (interval, bool) {
	switch dt.ID() {
	case arrow.FLOAT16, arrow.FLOAT32:
		return n.floats(32)
	case arrow.FLOAT64:
		return n.floats(64)
	case arrow.DECIMAL128:
		t := dt.(*arrow.Decimal128Type)
		if t.Scale < 0 || n.Float == 0 && max(n.Whole, int(t.Precision-t.Scale))+max(n.Fraction, int(t.Scale)) > literal.MaxDigits {
			return interval{}, false
		}
		low, high := n.around(int(t.Scale))
		return interval{low, high}, true
	}
	digits := literal.ColumnDigits(dt)
	if digits == 0 || n.Float == 0 && n.Fraction > 0 && max(n.Whole, digits)+n.Fraction > literal.MaxDigits {
		return interval{}, false
	}
	low, high := n.around(0)
	if dt.ID() == arrow.UINT64 {
		if !low.IsUint64() || !high.IsUint64() {
			return interval{}, false
		}
		return interval{low.Uint64(), high.Uint64()}, true
	}
	if !low.IsInt64() || !high.IsInt64() {
		return interval{}, false
	}
	return interval{low.Int64(), high.Int64()}, true
}

// slack is how far two numbers of that many bits may lie apart, as a share of
// either, and still be equal after a conversion: a few units in the last place.
func slack(bits int) *big.Rat {
	if bits == 32 {
		return big.NewRat(1, 1<<21)
	}
	return big.NewRat(1, 1<<50)
}

// spread returns the bounds of what may be the number.
func (n number) spread(bits int) (low, high *big.Rat) {
	d := new(big.Rat).Abs(n.Value)
	d.Mul(d, slack(bits))
	return new(big.Rat).Sub(n.Value, d), new(big.Rat).Add(n.Value, d)
}

// around returns the whole numbers, at a scale, around the number.
func (n number) around(scale int) (low, high *big.Int) {
	from, to := n.Value, n.Value
	if n.Float != 0 { // SQL converts the column
		from, to = n.spread(n.Float)
	}
	factor := new(big.Rat).SetInt(literal.Pow10(scale))
	return floor(new(big.Rat).Mul(from, factor)), ceil(new(big.Rat).Mul(to, factor))
}

func floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) } // Euclidean, and the denominator is positive

func ceil(r *big.Rat) *big.Int {
	f := floor(new(big.Rat).Neg(r))
	return f.Neg(f)
}

// floats returns the floating-point numbers around the number. It is converted
// with as many bits as the column has, or with fewer.
func (n number) floats(bits int) (interval, bool) {
	if n.Float == 32 {
		bits = 32
	}
	from, to := n.spread(bits)
	low, _ := from.Float64()
	high, _ := to.Float64()
	low, high = math.Nextafter(low, math.Inf(-1)), math.Nextafter(high, math.Inf(1))
	if math.IsInf(low, 0) || math.IsInf(high, 0) || bits == 32 && max(-low, high) > math.MaxFloat32/2 {
		return interval{}, false
	}
	if tiny := smallest(bits); n.Value.Sign() != 0 && low < tiny && high > -tiny {
		low, high = min(low, -tiny), max(high, tiny) // conversions may end at zero
	}
	return interval{low, high}, true
}

// smallest is above all numbers that may become zero, or lose digits, when they
// are converted.
func smallest(bits int) float64 {
	if bits == 32 {
		return 0x1p-120
	}
	return 0x1p-1000
}

// within reads a text as SQL does when it meets a column.
func (w words) within(dt arrow.DataType) (interval, bool) {
	typed := w.As != ""
	switch {
	case isText(dt):
		return interval{w.Value, w.Value}, w.As == "" || w.As == "VARCHAR"
	case isBytes(dt):
		return interval{w.Value, w.Value}, (w.As == "" || w.As == "BLOB") && plainBytes(w.Value)
	case w.As == "VARCHAR" || w.As == "BLOB":
		return interval{}, false
	case !typed && literal.ColumnDigits(dt) > 0:
		n, ok := literal.WholeText(w.Value)
		if !ok {
			return interval{}, false
		}
		return number(n).within(dt)
	}
	m, ok := w.moment(dt)
	if !ok {
		return interval{}, false
	}
	return m, true
}

// plainBytes reports whether a text stands for its own bytes.
func plainBytes(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 || s[i] == '\\' {
			return false
		}
	}
	return true
}
