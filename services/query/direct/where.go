// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake/predicate"
	"github.com/lakeplane/lake/services/query/tree"
)

// Condition compares a column with a constant or a parameter.
type Condition struct {
	Column string // as it is written
	Op     predicate.Op
	// Value is an int64 or a string, and nil for a parameter.
	Value any
	// Parameter is the number of the placeholder, from 1.
	Parameter int
}

// comparisons are those of the syntax tree, and what they are with their sides
// exchanged.
var comparisons = map[any]struct{ op, exchanged predicate.Op }{
	"COMPARE_EQUAL":                {predicate.Equal, predicate.Equal},
	"COMPARE_LESSTHAN":             {predicate.Less, predicate.Greater},
	"COMPARE_LESSTHANOREQUALTO":    {predicate.LessOrEqual, predicate.GreaterOrEqual},
	"COMPARE_GREATERTHAN":          {predicate.Greater, predicate.Less},
	"COMPARE_GREATERTHANOREQUALTO": {predicate.GreaterOrEqual, predicate.LessOrEqual},
}

// readWhere takes comparisons that are joined by AND.
func (s *Statement) readWhere(v any) bool {
	n, _ := v.(tree.Object)
	switch n["class"] {
	case nil:
		return v == nil
	case "CONJUNCTION":
		children, _ := n["children"].([]any)
		for _, child := range children {
			if child == nil || !s.readWhere(child) {
				return false
			}
		}
		return n["type"] == "CONJUNCTION_AND" && len(children) > 0 && tree.NothingBut(n, "class", "type", "query_location", "children")
	case "BETWEEN":
		return tree.NothingBut(n, "class", "type", "query_location", "input", "lower", "upper") &&
			s.condition(n["input"], predicate.GreaterOrEqual, n["lower"]) && s.condition(n["input"], predicate.LessOrEqual, n["upper"])
	case "COMPARISON":
		c, ok := comparisons[n["type"]]
		return ok && tree.NothingBut(n, "class", "type", "query_location", "left", "right") &&
			(s.condition(n["left"], c.op, n["right"]) || s.condition(n["right"], c.exchanged, n["left"]))
	}
	return false
}

// condition takes a comparison of a column with a value.
func (s *Statement) condition(column any, op predicate.Op, value any) bool {
	name, ok := columnName(column)
	if !ok {
		return false
	}
	c := Condition{Column: name, Op: op}
	n, _ := value.(tree.Object)
	switch n["class"] {
	case "PARAMETER":
		number, _ := n["identifier"].(string)
		i, err := strconv.Atoi(number)
		c.Parameter, ok = i, err == nil && i > 0
	case "CONSTANT":
		c.Value, ok = tree.Constant(n)
	default:
		ok = false
	}
	if ok {
		s.Where = append(s.Where, c)
	}
	return ok
}

// resolveWhere is the conditions over the columns of a table. ok is false where
// what SQL would compare is not a whole number with a whole number, or text with
// text.
func (s *Statement) resolveWhere(table *arrow.Schema, params arrow.RecordBatch) (where predicate.And, ok bool) {
	for _, c := range s.Where {
		column, ok := columnNamed(table, c.Column)
		if !ok {
			return nil, false
		}
		value, dt := c.Value, table.Field(column).Type
		if c.Parameter > 0 {
			if value, ok = parameter(params, c.Parameter, dt); !ok {
				return nil, false
			}
		}
		switch value.(type) {
		case int64:
			ok = wholeNumbers(dt)
		case string:
			ok = dt.ID() == arrow.STRING || dt.ID() == arrow.LARGE_STRING
		}
		if !ok {
			return nil, false
		}
		where = append(where, predicate.Compare{Column: column, Op: c.Op, Value: value})
	}
	return where, true
}

// wholeNumbers reports whether a column's values are integers that an int64
// holds.
func wholeNumbers(dt arrow.DataType) bool {
	return arrow.IsInteger(dt.ID()) && dt.ID() != arrow.UINT64
}
