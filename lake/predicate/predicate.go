// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package predicate says which rows a reader wants, in terms simple enough to
// hold against what is known of many rows at once: their smallest and largest
// value and how many are null. It is used to leave data unread, so whoever makes
// a predicate may ask for more rows than are wanted, and never for fewer; unless
// rows are filtered by it, for which it has to say exactly which are wanted.
package predicate

import "math/big"

// Predicate is a condition on a row; nil is the one that holds for all. The
// types of this package are the only ones. A predicate is not changed once made,
// so it is safe for concurrent use.
type Predicate interface {
	// holds reports whether the condition is true for a row, which SQL's third
	// value, unknown, is not.
	holds(row Row) bool
	// possible reports whether it may be true for one of the rows.
	possible(about About) bool
	// visit calls f for each column, perhaps more than once.
	visit(f func(column int))
}

// Row returns a row's value of a column, nil for null.
type Row func(column int) any

// About returns what is known of the rows' values of a column. false means that
// nothing is.
type About func(column int) (Stats, bool)

// Stats is what is known of one column in a number of rows.
type Stats struct {
	// Rows is how many rows there are, Nulls for how many the column is null.
	Rows, Nulls uint64
	// Min and Max bound all values but nulls: none is smaller than Min or larger
	// than Max. They need not occur. nil means that there is no such bound.
	Min, Max any
}

// Compare is a comparison of a column with a constant. It holds for no null.
//
// The dynamic type of values follows from the column's Arrow type:
//
//	int64     bool (0, 1), integers but uint64, dates, times, timestamps and
//	          durations, the last ones in the column's unit
//	uint64    uint64
//	float64   floating-point numbers
//	string    texts and bytes of any kind, compared byte by byte
//	*big.Int  decimals, unscaled, at the column's scale
//
// NaN equals itself and is larger than all other numbers, as SQL engines order
// it; 0 equals -0. A constant of another type compares with nothing: what it
// asks for is not known, so no rows are ruled out by it.
type Compare struct {
	Column int
	Op     Op
	Value  any
}

// Op is how to compare.
type Op uint8

// The comparisons, with the column on the left.
const (
	Equal Op = iota + 1
	NotEqual
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
)

// In holds for rows whose value is among the given ones.
type In struct {
	Column int
	Values []any
}

// Null holds for rows without a value.
type Null struct{ Column int }

// NotNull holds for rows with a value.
type NotNull struct{ Column int }

// And holds where all of it does; without any it always holds.
type And []Predicate

// Or holds where one of it does; without any it never holds.
type Or []Predicate

// Holds reports whether a row is wanted.
func Holds(p Predicate, row Row) bool { return p == nil || p.holds(row) }

// Possible reports whether one of the rows that are known by their statistics
// alone may be wanted. false is certain.
func Possible(p Predicate, about About) bool { return p == nil || p.possible(about) }

// Columns returns the columns of a predicate, each once, in the order in which
// they come first.
func Columns(p Predicate) []int {
	if p == nil {
		return nil
	}
	var out []int
	seen := map[int]bool{}
	p.visit(func(c int) {
		if !seen[c] {
			seen[c] = true
			out = append(out, c)
		}
	})
	return out
}

func (p Compare) visit(f func(int)) { f(p.Column) }
func (p In) visit(f func(int))      { f(p.Column) }
func (p Null) visit(f func(int))    { f(p.Column) }
func (p NotNull) visit(f func(int)) { f(p.Column) }

func (p And) visit(f func(int)) {
	for _, q := range p {
		q.visit(f)
	}
}

func (p Or) visit(f func(int)) {
	for _, q := range p {
		q.visit(f)
	}
}

func (p Compare) holds(row Row) bool {
	v := row(p.Column)
	if v == nil {
		return false
	}
	c, ok := order(v, p.Value)
	return !ok || p.Op.accepts(c)
}

// accepts reports whether the comparison is true of a value that is smaller
// (-1), equal (0) or larger (1) than the constant.
func (o Op) accepts(c int) bool {
	switch o {
	case Equal:
		return c == 0
	case NotEqual:
		return c != 0
	case Less:
		return c < 0
	case LessOrEqual:
		return c <= 0
	case Greater:
		return c > 0
	case GreaterOrEqual:
		return c >= 0
	}
	return true
}

func (p Compare) possible(about About) bool {
	s, ok := about(p.Column)
	if !ok {
		return true
	}
	if s.empty() {
		return false
	}
	// Between the bounds, the constant and both sides of it are within reach, so
	// it is enough to look at the bounds themselves and at whether the constant
	// lies between them.
	low, lowKnown := order(s.Min, p.Value)
	high, highKnown := order(s.Max, p.Value)
	switch p.Op {
	case Less, LessOrEqual:
		return !lowKnown || p.Op.accepts(low)
	case Greater, GreaterOrEqual:
		return !highKnown || p.Op.accepts(high)
	case Equal:
		return (!lowKnown || low <= 0) && (!highKnown || high >= 0)
	case NotEqual:
		return !lowKnown || !highKnown || low != 0 || high != 0
	}
	return true
}

// empty reports whether there is no value.
func (s Stats) empty() bool { return s.Nulls >= s.Rows }

func (p In) holds(row Row) bool {
	for _, v := range p.Values {
		if (Compare{p.Column, Equal, v}).holds(row) {
			return true
		}
	}
	return false
}

func (p In) possible(about About) bool {
	for _, v := range p.Values {
		if (Compare{p.Column, Equal, v}).possible(about) {
			return true
		}
	}
	return false
}

func (p Null) holds(row Row) bool    { return row(p.Column) == nil }
func (p NotNull) holds(row Row) bool { return row(p.Column) != nil }

func (p Null) possible(about About) bool {
	s, ok := about(p.Column)
	return !ok || s.Nulls > 0
}

func (p NotNull) possible(about About) bool {
	s, ok := about(p.Column)
	return !ok || !s.empty()
}

func (p And) holds(row Row) bool {
	for _, q := range p {
		if !q.holds(row) {
			return false
		}
	}
	return true
}

func (p And) possible(about About) bool {
	for _, q := range p {
		if !q.possible(about) {
			return false
		}
	}
	return true
}

func (p Or) holds(row Row) bool {
	for _, q := range p {
		if q.holds(row) {
			return true
		}
	}
	return false
}

func (p Or) possible(about About) bool {
	for _, q := range p {
		if q.possible(about) {
			return true
		}
	}
	return false
}

// order compares two values; ok is false for values of different types and of
// types that are not known here.
func order(a, b any) (c int, ok bool) {
	switch a := a.(type) {
	case int64:
		b, ok := b.(int64)
		return compare(a, b), ok
	case uint64:
		b, ok := b.(uint64)
		return compare(a, b), ok
	case float64:
		b, ok := b.(float64)
		return compareFloats(a, b), ok
	case string:
		b, ok := b.(string)
		return compare(a, b), ok
	case *big.Int:
		b, ok := b.(*big.Int)
		if !ok {
			return 0, false
		}
		return a.Cmp(b), true
	}
	return 0, false
}

func compare[T int64 | uint64 | string | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func compareFloats(a, b float64) int {
	switch aNaN, bNaN := a != a, b != b; {
	case aNaN && bNaN:
		return 0
	case aNaN:
		return 1
	case bNaN:
		return -1
	}
	return compare(a, b)
}
