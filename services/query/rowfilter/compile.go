// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rowfilter

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake/predicate"
)

// narrower is a condition made ready for the batches of one scan. It is not
// changed by its use, so it is safe for concurrent use.
type narrower interface {
	// narrow returns, in their order, the rows among the given ones that may meet
	// the condition. The result may take the place of rows.
	narrow(batch arrow.RecordBatch, rows []int32) []int32
}

// compile makes a predicate ready, nil when nothing can be told by it. columns
// are the fields that batches hold.
func compile(p predicate.Predicate, schema *arrow.Schema, columns []int) narrower {
	switch p := p.(type) {
	case predicate.And:
		return conjunction(p, schema, columns)
	case predicate.Or:
		return disjunction(p, schema, columns)
	case predicate.Null:
		return nullness(columns, p.Column, true)
	case predicate.NotNull:
		return nullness(columns, p.Column, false)
	case predicate.Compare:
		if r, ok := rangeOf(p, schema, columns); ok {
			return r
		}
	case predicate.In:
		return membership(p, schema, columns)
	}
	return nil
}

type (
	every []narrower // one after the other
	some  []narrower // any of them
)

func (e every) narrow(batch arrow.RecordBatch, rows []int32) []int32 {
	for _, n := range e {
		if len(rows) == 0 {
			break
		}
		rows = n.narrow(batch, rows)
	}
	return rows
}

func (s some) narrow(batch arrow.RecordBatch, rows []int32) []int32 {
	var chosen []int32
	for _, n := range s {
		found := n.narrow(batch, slices.Clone(rows))
		if len(found) == len(rows) {
			return rows
		}
		chosen = union(chosen, found)
	}
	return chosen
}

// union merges two ascending lists.
func union(a, b []int32) []int32 {
	if len(a) == 0 {
		return b
	}
	out := make([]int32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case a[0] > b[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// conjunction makes one range of the comparisons of a column, and begins with
// what is cheap to look at.
func conjunction(p predicate.And, schema *arrow.Schema, columns []int) narrower {
	var others every
	var ranges []bounds
	var flatten func(predicate.And)
	flatten = func(p predicate.And) {
		for _, q := range p {
			switch q := q.(type) {
			case predicate.And:
				flatten(q)
			case predicate.Compare:
				if r, ok := rangeOf(q, schema, columns); ok {
					ranges = meet(ranges, r)
				}
			default:
				if n := compile(q, schema, columns); n != nil {
					others = append(others, n)
				}
			}
		}
	}
	flatten(p)
	slices.SortStableFunc(ranges, func(a, b bounds) int { return a.cost() - b.cost() })
	out := make(every, 0, len(ranges)+len(others))
	for _, r := range ranges {
		out = append(out, r)
	}
	out = append(out, others...)
	switch len(out) {
	case 0:
		return nil
	case 1:
		return out[0]
	}
	return out
}

// disjunction needs to know every side.
func disjunction(p predicate.Or, schema *arrow.Schema, columns []int) narrower {
	out := make(some, len(p))
	for i, q := range p {
		if out[i] = compile(q, schema, columns); out[i] == nil {
			return nil
		}
	}
	return out
}

// meet adds a range to those of other columns.
func meet(ranges []bounds, r bounds) []bounds {
	for i := range ranges {
		if joined, ok := ranges[i].meet(r); ok {
			ranges[i] = joined
			return ranges
		}
	}
	return append(ranges, r)
}

// missing chooses by whether a column is null.
type missing struct {
	at   int
	want bool
}

func nullness(columns []int, column int, want bool) narrower {
	at := slices.Index(columns, column)
	if at < 0 {
		return nil
	}
	return missing{at, want}
}

func (m missing) narrow(batch arrow.RecordBatch, rows []int32) []int32 {
	column := batch.Column(m.at)
	if column.DataType().ID() == arrow.NULL {
		if m.want {
			return rows
		}
		return nil
	}
	if column.NullN() == 0 {
		if m.want {
			return nil
		}
		return rows
	}
	bits := column.NullBitmapBytes()
	if bits == nil { // a type that keeps its nulls in another place
		return where(rows, func(i int) bool { return column.IsNull(i) == m.want })
	}
	wanted := [2]int{int(bit(m.want)), int(bit(!m.want))} // of what is null, and of what is not
	return byBit(rows, bits, column.Data().Offset(), wanted)
}

// byBit keeps rows by a bit of each, without a branch that depends on it. wanted
// is 1 for a bit, 0 or 1, whose rows are kept.
func byBit(rows []int32, bits []byte, offset int, wanted [2]int) []int32 {
	n := 0
	for _, i := range rows {
		rows[n] = i
		at := uint(offset + int(i))
		n += wanted[bits[at/8]>>(at%8)&1]
	}
	return rows[:n]
}
