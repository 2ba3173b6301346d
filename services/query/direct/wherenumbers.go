// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/services/query/literal"
)

// spotsOfNumbers follows SQL: with floating-point columns and constants it
// compares in floating point, with the number of bits that the widest of them
// has, and everything else as exact decimals.
func spotsOfNumbers(numbers []literal.Number, dt arrow.DataType) ([]spot, bool) {
	double := false
	for _, n := range numbers {
		double = double || n.Float == 64
	}
	switch id := dt.ID(); {
	case id == arrow.FLOAT64 || id == arrow.FLOAT32 && double:
		return spotsOfFloats(numbers, 64)
	case id == arrow.FLOAT32:
		return spotsOfFloats(numbers, 32)
	case id == arrow.DECIMAL128:
		t := dt.(*arrow.Decimal128Type)
		return spotsOfExact(numbers, int(t.Precision-t.Scale), int(t.Scale), dt)
	case literal.ColumnDigits(dt) > 0 && double:
		return spotsAmongDoubles(numbers, dt)
	case literal.ColumnDigits(dt) > 0:
		return spotsOfExact(numbers, literal.ColumnDigits(dt), 0, dt)
	}
	return nil, false
}

// spotsOfFloats makes constants of as many bits.
func spotsOfFloats(numbers []literal.Number, bits int) ([]spot, bool) {
	spots := make([]spot, len(numbers))
	for i, n := range numbers {
		v, ok := floatOf(n, bits)
		if !ok {
			return nil, false
		}
		spots[i] = spot{v, true}
	}
	return spots, true
}

// floatOf makes a number of 32 or 64 bits where SQL rounds it to the nearest. It
// divides a decimal's digits by a power of ten, which does that as long as both
// are exact; with others it may be off by one.
func floatOf(n literal.Number, bits int) (float64, bool) {
	most, powers := int64(1<<53), 22
	if bits == 32 {
		most, powers = 1<<24, 10
	}
	digits := new(big.Rat).Mul(n.Value, new(big.Rat).SetInt(literal.Pow10(n.Fraction)))
	if n.Fraction > powers || n.Fraction > 0 && digits.Abs(digits).Cmp(new(big.Rat).SetInt64(most)) > 0 {
		return 0, false
	}
	if bits == 32 {
		v, exact := n.Value.Float32()
		return float64(v), exact || n.Float == 0
	}
	v, exact := n.Value.Float64()
	return v, exact || n.Float == 0
}

// spotsAmongDoubles is for whole numbers that SQL makes floating-point ones of 64
// bits. Below 2^53 that changes none, and none that is larger becomes smaller.
func spotsAmongDoubles(numbers []literal.Number, dt arrow.DataType) ([]spot, bool) {
	whole := make([]literal.Number, len(numbers))
	for i, n := range numbers {
		v, ok := floatOf(n, 64)
		if !ok || v <= -1<<53 || v >= 1<<53 {
			return nil, false
		}
		whole[i].Value = new(big.Rat).SetFloat64(v)
	}
	return spotsOfExact(whole, 0, 0, dt)
}

// spotsOfExact is for columns and constants that are decimals, or become such. A
// column has so many digits before and after the point.
func spotsOfExact(numbers []literal.Number, whole, fraction int, dt arrow.DataType) ([]spot, bool) {
	scale, ok := fraction, fraction >= 0
	for _, n := range numbers {
		whole, fraction = max(whole, n.Whole), max(fraction, n.Fraction)
		ok = ok && n.Float == 0
	}
	if !ok || fraction > 0 && whole+fraction > literal.MaxDigits {
		return nil, false
	}
	spots := make([]spot, len(numbers))
	for i, n := range numbers {
		scaled := n.Value
		if scale > 0 {
			scaled = new(big.Rat).Mul(scaled, new(big.Rat).SetInt(literal.Pow10(scale)))
		}
		below := scaled.Num()
		if !scaled.IsInt() {
			below = new(big.Int).Div(below, scaled.Denom()) // which rounds down
		}
		value, ok := valueOf(below, dt)
		if !ok {
			return nil, false
		}
		spots[i] = spot{value, scaled.IsInt()}
	}
	return spots, true
}

// valueOf is a whole number as predicates on a column have it.
func valueOf(n *big.Int, dt arrow.DataType) (any, bool) {
	switch dt.ID() {
	case arrow.UINT64:
		return n.Uint64(), n.IsUint64()
	case arrow.DECIMAL128:
		return n, true
	}
	return n.Int64(), n.IsInt64()
}
