// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import (
	"math"
	"math/big"
	"runtime"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// floats is an array of what value says of the groups; it is null for a group of
// fewer than least rows.
func floats(dt arrow.DataType, groups int, rows *selection, least int64, value func(k int) float64) arrow.Array {
	out := make([]float64, groups)
	for i := range out {
		if rows.of(i+1) >= least {
			out[i] = value(i + 1)
		}
	}
	return fixed(dt, out, func(i int) bool { return rows.of(i+1) >= least })
}

// exact is an array of sums.
func exact(dt arrow.DataType, groups int, rows *selection, value func(k int) wide) (arrow.Array, error) {
	out := make([]decimal128.Num, groups)
	for i := range out {
		v := value(i + 1)
		if beyond(v, powerOfTen(sumPrecision)) {
			return nil, ErrEngine
		}
		out[i] = decimal128.New(v.high, v.low)
	}
	return fixed(dt, out, func(i int) bool { return rows.of(i+1) > 0 }), nil
}

// powerOfTen is 10^n - 1, the most that n digits hold.
func powerOfTen(n int32) wide {
	most := decimal128.GetMaxValue(n)
	return wide{most.LowBits(), most.HighBits()}
}

func (s *integers[T]) result(f Func, dt arrow.DataType, groups int, rows *selection) (arrow.Array, error) {
	if f == Sum {
		return exact(dt, groups, rows, s.sum)
	}
	return floats(dt, groups, rows, 1, func(k int) float64 { return mean[T](s.sum(k), rows.of(k)) }), nil
}

// longDouble is how many bits the engine divides sums of larger integers with.
var longDouble = func() uint {
	switch {
	case runtime.GOARCH == "amd64":
		return 64
	case runtime.GOOS == "darwin":
		return 53
	}
	return 113
}()

// mean divides as the engine does: sums of small integers as doubles, those of
// others as long doubles, whose quotient is rounded once more.
func mean[T integer](sum wide, count int64) float64 {
	signed := T(0)-1 < 0
	if size := unsafe.Sizeof(T(0)); size == 1 || size == 2 && signed {
		return float64(int64(sum.low)) / float64(count)
	}
	if q, ok := quotient(sum, count); ok {
		return q
	}
	long := new(big.Float).SetPrec(longDouble).SetMode(big.ToNearestEven)
	dividend := new(big.Float).SetPrec(longDouble).SetInt(sum.big())
	q, _ := long.Quo(dividend, new(big.Float).SetPrec(longDouble).SetInt64(count)).Float64()
	return q
}

// quotient divides numbers that doubles hold. ok is false where the quotient is
// so close to the middle between two doubles that rounding it twice may matter.
func quotient(sum wide, count int64) (q float64, ok bool) {
	const exact = 1 << 53
	s, c := float64(int64(sum.low)), float64(count)
	if sum.high != int64(sum.low)>>63 || math.Abs(s) >= exact || c >= exact {
		return 0, false
	}
	q = s / c
	rest := math.Abs(math.FMA(-q, c, s)) / c // what q is off by
	half := (math.Nextafter(math.Abs(q), math.Inf(1)) - math.Abs(q)) / 2
	// Below a power of two, doubles lie twice as close.
	return q, s == 0 || rest < 0.49*half || rest > 0.51*half && rest < 0.98*half
}

func (w wide) big() *big.Int {
	high, low := w.magnitude()
	n := new(big.Int).Lsh(new(big.Int).SetUint64(high), 64)
	n.Or(n, new(big.Int).SetUint64(low))
	if w.high < 0 {
		n.Neg(n)
	}
	return n
}

func (s *reals[T]) result(f Func, dt arrow.DataType, groups int, rows *selection) (arrow.Array, error) {
	return floats(dt, groups, rows, 1, func(k int) float64 {
		if f == Sum {
			return s.sums[k]
		}
		return s.sums[k] / float64(rows.of(k))
	}), nil
}

func (s *decimals) result(_ Func, dt arrow.DataType, groups int, rows *selection) (arrow.Array, error) {
	return exact(dt, groups, rows, func(k int) wide { return s.sums[k] })
}

func (s *extreme[T]) result(_ Func, dt arrow.DataType, groups int, rows *selection) (arrow.Array, error) {
	return fixed(dt, s.best[1:groups+1], func(i int) bool { return rows.of(i+1) > 0 }), nil
}

func (s *extremeText) result(_ Func, dt arrow.DataType, groups int, _ *selection) (arrow.Array, error) {
	return texts(dt, groups, func(i int) ([]byte, bool) { return s.best[i+1].bytes, s.best[i+1].known })
}

// certain is how large a variance may be for the engine to be sure to have it
// too. It refuses those that are not finite, and steps to them by another way.
const certain = 1e300

func (s *deviations[T]) result(f Func, dt arrow.DataType, groups int, rows *selection) (arrow.Array, error) {
	least, less, doubtful := int64(1), 0.0, false
	if f == VarSamp || f == StddevSamp {
		least, less = 2, 1
	}
	out := floats(dt, groups, rows, least, func(k int) float64 {
		m := &s.states[k]
		if m.count == 1 {
			return 0
		}
		variance := m.squares / (m.count - less)
		doubtful = doubtful || !(variance < certain)
		if f == StddevSamp || f == StddevPop {
			return math.Sqrt(variance)
		}
		return variance
	})
	if doubtful {
		return nil, ErrEngine
	}
	return out, nil
}
