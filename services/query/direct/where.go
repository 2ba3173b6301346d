// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"github.com/lakeplane/lake/services/query/literal"
	"github.com/lakeplane/lake/services/query/tree"
)

// Condition is something that has to be true of a row.
type Condition struct {
	Test Test
	// Column is what is tested, as it is written.
	Column string
	// Values are the constants and placeholders it is held against.
	Values []literal.Value
	// Parts are those of All and of Any.
	Parts []Condition
}

// Test is what is asked of a column.
type Test uint8

// The tests. Those that compare are true of no null, and have one value, two that
// bound a range, or at least one that it may be.
const (
	Equal Test = iota + 1 // in the order of [predicate.Op]
	NotEqual
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
	Between
	NotBetween
	In
	NotIn
	Null
	NotNull
	All // of the parts is true
	Any // of them
)

const (
	// maxConditions bounds how often the rows of a batch are looked at.
	maxConditions = 64
	// maxSides bounds alternatives, each of which looks at all rows.
	maxSides = 16
	// maxMembers bounds the memory that a statement is remembered with.
	maxMembers = 1000
)

// comparisons are those of the syntax tree, what they are with their sides
// exchanged, and what is true when they are false.
var comparisons = map[any]struct{ test, exchanged, denied Test }{
	"COMPARE_EQUAL":                {Equal, Equal, NotEqual},
	"COMPARE_NOTEQUAL":             {NotEqual, NotEqual, Equal},
	"COMPARE_LESSTHAN":             {Less, Greater, GreaterOrEqual},
	"COMPARE_LESSTHANOREQUALTO":    {LessOrEqual, GreaterOrEqual, Greater},
	"COMPARE_GREATERTHAN":          {Greater, Less, LessOrEqual},
	"COMPARE_GREATERTHANOREQUALTO": {GreaterOrEqual, LessOrEqual, Less},
}

// exchanged is the test with column and value exchanged.
func (t Test) exchanged() Test {
	for _, c := range comparisons {
		if c.test == t {
			return c.exchanged
		}
	}
	return t
}

// readWhere takes tests of columns that are joined by AND, OR and NOT.
func (s reader) readWhere(v any) bool {
	if v == nil {
		return true
	}
	r := whereReader{names: s.names}
	c, ok := r.read(v, true)
	if s.Where = c.Parts; c.Test != All {
		s.Where = []Condition{c}
	}
	return ok
}

// whereReader reads conditions off the syntax tree.
type whereReader struct {
	names      *names
	conditions int
}

// read reads a condition that has to be true or, if want is not, false. What is
// neither, because of a null, is not wanted in either case.
func (r *whereReader) read(v any, want bool) (c Condition, ok bool) {
	n, _ := v.(tree.Object)
	if r.conditions++; r.conditions > maxConditions {
		return c, false
	}
	switch n["class"] {
	case "CONJUNCTION":
		return r.junction(n, want)
	case "OPERATOR":
		return r.operator(n, want)
	case "COLUMN_REF":
		c.Column, ok = r.names.column(n)
		c.Test, c.Values = Equal, []literal.Value{literal.Boolean(want)}
		return c, ok
	case "BETWEEN":
		c, ok = r.condition(Between, n["input"], n["lower"], n["upper"])
		return c.unless(want), ok && n["type"] == "COMPARE_BETWEEN" && tree.NothingBut(n, "class", "type", "query_location", "input", "lower", "upper")
	case "COMPARISON":
		return r.comparison(n, want)
	}
	return c, false
}

func (r *whereReader) junction(n tree.Object, want bool) (c Condition, ok bool) {
	children, _ := n["children"].([]any)
	and, or := n["type"] == "CONJUNCTION_AND", n["type"] == "CONJUNCTION_OR"
	c.Test = Any
	if and == want {
		c.Test = All
	}
	if !and && !or || len(children) == 0 || !tree.NothingBut(n, "class", "type", "query_location", "children") {
		return c, false
	}
	for _, child := range children {
		part, ok := r.read(child, want)
		if !ok {
			return c, false
		}
		if part.Test == c.Test {
			c.Parts = append(c.Parts, part.Parts...)
		} else {
			c.Parts = append(c.Parts, part)
		}
	}
	return c, c.Test == All || len(c.Parts) <= maxSides
}

func (r *whereReader) comparison(n tree.Object, want bool) (c Condition, ok bool) {
	is, known := comparisons[n["type"]]
	if !known || !tree.NothingBut(n, "class", "type", "query_location", "left", "right") {
		return c, false
	}
	test := is.test
	if !want {
		test = is.denied
	}
	if c, ok = r.condition(test, n["left"], n["right"]); !ok {
		c, ok = r.condition(test.exchanged(), n["right"], n["left"])
	}
	return c, ok
}

func (r *whereReader) operator(n tree.Object, want bool) (c Condition, ok bool) {
	children, _ := n["children"].([]any)
	if len(children) == 0 || !tree.NothingBut(n, "class", "type", "query_location", "children") {
		return c, false
	}
	least, most := 0, 0
	switch n["type"] {
	case "OPERATOR_NOT":
		c, ok = r.read(children[0], !want)
		return c, ok && len(children) == 1
	case "OPERATOR_IS_NULL":
		c, ok = r.condition(Null, children...)
	case "OPERATOR_IS_NOT_NULL":
		c, ok = r.condition(NotNull, children...)
	case "COMPARE_IN":
		c, ok = r.condition(In, children...)
		least, most = 1, maxMembers
	case "COMPARE_NOT_IN":
		c, ok = r.condition(NotIn, children...)
		least, most = 1, maxMembers
	}
	if c = c.unless(want); c.Test == NotIn {
		most = maxSides
	}
	return c, ok && least <= len(c.Values) && len(c.Values) <= most
}

// opposites are tests of which one is true when the other is false.
var opposites = map[Test]Test{Between: NotBetween, In: NotIn, NotIn: In, Null: NotNull, NotNull: Null}

// unless is the condition, or its opposite.
func (c Condition) unless(same bool) Condition {
	if !same {
		c.Test = opposites[c.Test]
	}
	return c
}

// condition tests a column with values, which follow it.
func (r *whereReader) condition(test Test, operands ...any) (c Condition, ok bool) {
	c.Test = test
	if c.Column, ok = r.names.column(operands[0]); !ok {
		return c, false
	}
	for _, v := range operands[1:] {
		value := literal.Of(v)
		if value == nil || value == (literal.Null{}) {
			return c, false
		}
		c.Values = append(c.Values, value)
	}
	return c, true
}
