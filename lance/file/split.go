// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// split cuts a page between rows until every run of levels without a value fits
// a chunk, and returns the pieces, mostly the page itself. A page without values
// needs no chunk, and one row cannot be cut.
//
// Without it such pages would have to be full-zip, which costs bytes for every
// empty list, and which other readers get wrong below structs that may be null.
func (a *accum) split() []*accum {
	if a.leaf.levels.maxRep == 0 || a.leaf.value.kind == nullValues || a.rows < 2 || a.longestRun() <= a.levelRoom() {
		return []*accum{a}
	}
	half := a.rows / 2
	return append(a.slice(0, half).split(), a.slice(half, a.rows).split()...)
}

// levelRoom is the number of levels that fit a chunk beside one value.
func (a *accum) levelRoom() int {
	s := a.leaf.levels
	value := a.leaf.value.width
	if a.leaf.value.kind == variableValues && a.maxLen <= miniMaxNested {
		value = a.maxLen
	}
	return maxLevelsIn(maxMiniBytes-miniHeaderBytes-value, widthOf(uint64(s.maxRep))+widthOf(uint64(s.maxDef)))
}

// longestRun is the largest number of levels that a chunk of one value must
// hold: those since the value before, and for the last value those behind it
// too. It is 0 without values.
func (a *accum) longestRun() int {
	if a.n == 0 {
		return 0
	}
	visible := a.leaf.levels.visible[0]
	longest, last, before := 0, -1, -1
	for i, d := range a.def {
		if d <= visible {
			longest, last, before = max(longest, i-last), i, last
		}
	}
	return max(longest, len(a.def)-1-before)
}

// slice returns rows [from, to) of a page of lists. It shares memory with a.
func (a *accum) slice(from, to int) *accum {
	lo, hi := a.rowStart(from), a.rowStart(to)
	first := a.valuesIn(0, lo)
	out := &accum{leaf: a.leaf, page: a.page, rows: to - from, entries: hi - lo, rep: a.rep[lo:hi:hi], maxLen: a.maxLen, itemNull: a.itemNull}
	out.n = a.valuesIn(lo, hi)
	if len(a.def) > 0 {
		out.def = a.def[lo:hi:hi]
	}
	out.takeValues(a, first)
	return out
}

// takeValues fills in values [first, first+n) of another page.
func (a *accum) takeValues(from *accum, first int) {
	last := first + a.n
	switch t := a.leaf.value; t.kind {
	case boolValues:
		a.fixed = appendBits(nil, from.fixed, first, a.n)
	case fixedValues:
		a.fixed = from.fixed[first*t.width : last*t.width]
	case variableValues:
		base := from.valueStart(first)
		for _, end := range from.offsets[first:last] {
			a.offsets = append(a.offsets, end-base)
		}
		a.data = from.data[base:from.valueStart(last)]
	}
	if a.itemNull {
		items := a.leaf.value.items
		a.itemValid = make([]byte, bitutil.BytesForBits(int64(a.n*items)))
		bitutil.CopyBitmap(from.itemValid, first*items, a.n*items, a.itemValid, 0)
	}
}

// rowStart is the first entry of a row, or their number for the row behind the
// last.
func (a *accum) rowStart(row int) int {
	if row == a.rows {
		return a.entries
	}
	for i, r := range a.rep {
		if r == a.leaf.levels.maxRep {
			if row == 0 {
				return i
			}
			row--
		}
	}
	return a.entries
}

// valuesIn counts the values of entries [from, to).
func (a *accum) valuesIn(from, to int) int {
	if len(a.def) == 0 {
		return to - from
	}
	n := 0
	for _, d := range a.def[from:to] {
		if d <= a.leaf.levels.visible[0] {
			n++
		}
	}
	return n
}
