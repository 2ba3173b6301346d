// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package stats says what is known of the values in a data file: per column the
// smallest, the largest and how many are null. A [Collector] finds it while the
// file is written, and [Encode] makes a sidecar of it, which docs/formats/lance.md
// describes. Bounds are bounds: no value lies outside, but they need not occur.
package stats

import (
	"math"
	"math/big"

	"github.com/lakeplane/lake/lake/predicate"
)

// File is what is known of one data file.
type File struct {
	// Rows is how many rows it has, deleted ones included; Size its length in
	// bytes.
	Rows, Size uint64
	// Columns are some of its top-level columns, each once.
	Columns []Column
}

// Column is what is known of one column.
type Column struct {
	// Field is the column's field id.
	Field int32
	Stats predicate.Stats
}

const (
	// MaxColumns is how many columns are described at most, the first ones.
	MaxColumns = 4096
	// maxText is where bounds of texts are cut.
	maxText = 64
)

// kind is how the bounds of a column are stored.
type kind uint8

const (
	onlyNulls kind = iota // no bounds
	integers
	naturals
	floats
	texts
	decimals
)

// after returns the smallest text above everything that begins with s, or nil
// where there is none.
func after(s string) any {
	b := []byte(s)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < math.MaxUint8 {
			b[i]++
			return string(b[:i+1])
		}
	}
	return nil
}

// decimalBytes is the length of a stored decimal.
const decimalBytes = 16

// fits reports whether a number can be stored: 128 bits in two's complement.
func fits(n *big.Int) bool { return n.BitLen() < 8*decimalBytes }

// Covers reports whether everything that is true of some rows of a column by
// their own statistics fits those of all of them.
func Covers(all, some predicate.Stats) bool {
	if some.Nulls > all.Nulls || some.Rows-some.Nulls > all.Rows-min(all.Rows, all.Nulls) {
		return false
	}
	bound := func(op predicate.Op, of, v any) bool {
		return of == nil || v == nil || predicate.Holds(predicate.Compare{Op: op, Value: of}, func(int) any { return v })
	}
	return bound(predicate.GreaterOrEqual, all.Min, some.Min) && bound(predicate.LessOrEqual, all.Max, some.Max)
}
