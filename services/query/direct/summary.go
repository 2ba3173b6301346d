// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/lakeplane/lake/services/query/tree"
)

// Summary is how rows become groups, and groups the rows of a result.
type Summary struct {
	// Groups are the columns whose values tell groups apart, as they are written:
	// columns of the table or, where it has none of that name, of the result. None
	// means one group of all rows.
	Groups []string
	// Order is what the result is sorted by.
	Order []Order
}

// Order is a column of the result by which it is sorted.
type Order struct {
	Column                 int
	Descending, NullsFirst bool
}

// readGroups takes GROUP BY of columns, of their places in the result, and ALL.
func (s reader) readGroups(node tree.Object) bool {
	list, _ := node["group_expressions"].([]any)
	switch node["aggregate_handling"] {
	case "FORCE_AGGREGATES": // ALL
		if s.Columns == nil || len(list) > 0 || !tree.Blank(node["group_sets"]) {
			return false
		}
		s.Summary = &Summary{Groups: s.plain()}
		return true
	case "STANDARD_HANDLING":
	default:
		return false
	}
	if len(list) == 0 {
		if s.calls() {
			s.Summary = &Summary{}
		}
		return tree.Blank(node["group_expressions"]) && tree.Blank(node["group_sets"])
	}
	s.Summary = &Summary{}
	for _, v := range list {
		name, ok := s.groupName(v)
		if !ok {
			return false
		}
		s.Summary.Groups = append(s.Summary.Groups, name)
	}
	return s.Columns != nil && oneSet(node["group_sets"], len(list))
}

func (s reader) groupName(v any) (string, bool) {
	if place, ok := tree.Count(v); ok {
		at := int(place) - 1
		if at < 0 || at >= len(s.Columns) || s.Columns[at].Func != 0 {
			return "", false
		}
		return s.Columns[at].Name, true
	}
	return s.names.column(v)
}

// oneSet reports whether groups are told apart by all of n columns together.
func oneSet(v any, n int) bool {
	sets, _ := v.([]any)
	if len(sets) != 1 {
		return false
	}
	set, _ := sets[0].([]any)
	for i, e := range set {
		if number, _ := e.(json.Number); number.String() != strconv.Itoa(i) {
			return false
		}
	}
	return len(set) == n
}

// readOrder takes columns of the result, by name, by place or as they stand in it,
// and ALL. Only groups are sorted: there are few of them.
func (s reader) readOrder(n tree.Object) bool {
	orders, _ := n["orders"].([]any)
	if s.Summary == nil || len(orders) == 0 || !tree.NothingBut(n, "type", "orders") {
		return false
	}
	for _, v := range orders {
		by, ok := tree.OrderOf(v)
		if !ok || !s.orderBy(by, len(orders) == 1) {
			return false
		}
	}
	return true
}

func (s reader) orderBy(by tree.Order, alone bool) bool {
	o := Order{Descending: by.Descending, NullsFirst: by.NullsFirst}
	n, _ := by.Expression.(tree.Object)
	if n["class"] == "STAR" {
		if !alone || n["columns"] != true || !tree.NothingBut(n, "class", "type", "query_location", "columns") {
			return false
		}
		for i := range s.Columns {
			o.Column = i
			s.Summary.Order = append(s.Summary.Order, o)
		}
		return true
	}
	at, ok := s.resultColumn(n)
	o.Column = at
	s.Summary.Order = append(s.Summary.Order, o)
	return ok
}

// resultColumn finds what the result is sorted by among its columns. A name is
// first one that the statement gave, as in SQL.
func (s reader) resultColumn(n tree.Object) (at int, ok bool) {
	switch n["class"] {
	case "CONSTANT":
		place, ok := tree.Count(n)
		return int(place) - 1, ok && place >= 1 && place <= int64(len(s.Columns))
	case "COLUMN_REF":
		name, ok := s.names.column(n)
		if !ok {
			return 0, false
		}
		if at, known, ok := s.given(name); known {
			return at, ok && !s.names.qualified // which says that a column of the table is meant
		}
		at = slices.IndexFunc(s.Columns, func(c Column) bool { return c.Func == 0 && tree.SameName(c.Name, name) })
		return at, at >= 0
	case "FUNCTION":
		call, ok := s.names.call(n)
		if !ok {
			return 0, false
		}
		for _, name := range []string{call.Name, call.Filter} {
			if _, known, _ := s.given(name); known {
				return 0, false // it might be meant
			}
		}
		at = slices.IndexFunc(s.Columns, call.same)
		return at, at >= 0
	}
	return 0, false
}

// given finds a column by the name that the statement gave it; ok is false where
// several have it.
func (s *Statement) given(name string) (at int, known, ok bool) {
	for i, c := range s.Columns {
		if c.As != "" && tree.SameName(c.As, name) {
			if known {
				return 0, true, false
			}
			at, known = i, true
		}
	}
	return at, known, known
}

// same reports whether two columns have the same values.
func (c Column) same(other Column) bool {
	return c.Func == other.Func && tree.SameName(c.Name, other.Name) && tree.SameName(c.Filter, other.Filter)
}
