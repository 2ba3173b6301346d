// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package prune

import (
	"math"

	"github.com/lakeplane/lake/services/query/tree"
)

// top is what a statement sorts the rows of its one table by, when it wants only
// the first of them.
type top struct {
	scope      scope
	column     []string
	descending bool
	rows       int64
}

// First says that a statement wants the first rows of a table, and no others,
// by the order of a column. Nulls come last; rows that are equal in the column
// are all wanted.
type First struct {
	// Table is the table's ID.
	Table      int
	Column     int
	Descending bool
	Rows       int64
}

// First returns what the statement wants of its table if that is all it wants.
func (s Statement) First(lookup func(Ref) (Table, bool)) (f First, ok bool) {
	if s.top == nil {
		return f, false
	}
	t, ok := lookup(s.top.scope.tables[0].ref)
	if !ok {
		return f, false
	}
	b := &binder{scope: &s.top.scope, tables: []Table{t}}
	at, ok := b.find(s.top.column)
	return First{Table: t.ID, Column: at, Descending: s.top.descending, Rows: s.top.rows}, ok
}

// readTop reads a statement that selects columns of one table as they are, so
// that a name in ORDER BY cannot mean anything else, and does nothing with its
// rows but to sort them and to take the first.
func readTop(n object) *top {
	if n["type"] != "SELECT_NODE" || n["aggregate_handling"] != "STANDARD_HANDLING" ||
		!tree.NothingBut(n, "type", "aggregate_handling", "select_list", "from_table", "modifiers") || !onlyColumns(n["select_list"]) {
		return nil
	}
	table, _ := n["from_table"].(object)
	if !tree.IsTable(table) {
		return nil
	}
	f := &from{reader: &reader{}}
	f.table(table)
	modifiers, _ := n["modifiers"].([]any)
	if len(f.tables) != 1 || len(modifiers) != 2 {
		return nil
	}
	t := &top{scope: scope{tables: f.tables}}
	if !t.readOrder(modifiers[0]) || !t.readLimit(modifiers[1]) {
		return nil
	}
	return t
}

// onlyColumns takes columns under their own names, and a star.
func onlyColumns(v any) bool {
	list, _ := v.([]any)
	for _, e := range list {
		n, _ := e.(object)
		switch n["class"] {
		case "STAR":
			if !tree.IsStar(n) {
				return false
			}
		case "COLUMN_REF":
			if !tree.NothingBut(n, "class", "type", "query_location", "column_names") {
				return false
			}
		default:
			return false
		}
	}
	return len(list) > 0
}

// readOrder takes the first thing sorted by, with nulls last, which is where
// they are by themselves.
func (t *top) readOrder(v any) bool {
	n, _ := v.(object)
	orders, _ := n["orders"].([]any)
	if n["type"] != "ORDER_MODIFIER" || len(orders) == 0 || !tree.NothingBut(n, "type", "orders") {
		return false
	}
	first, ok := tree.OrderOf(orders[0])
	if !ok || first.NullsFirst {
		return false
	}
	t.descending, t.column = first.Descending, column(first.Expression)
	return t.column != nil
}

// readLimit takes a constant number of rows, after others that are constant,
// too.
func (t *top) readLimit(v any) bool {
	n, _ := v.(object)
	if n["type"] != "LIMIT_MODIFIER" || n["limit"] == nil || !tree.NothingBut(n, "type", "limit", "offset") {
		return false
	}
	limit, ok := count(n["limit"])
	if !ok || limit == 0 {
		return false
	}
	offset := int64(0)
	if n["offset"] != nil {
		if offset, ok = count(n["offset"]); !ok {
			return false
		}
	}
	t.rows = limit + offset
	return true
}

// count reads a constant that is not so large that two of them overflow.
func count(v any) (int64, bool) {
	n, ok := tree.Count(v)
	return n, ok && n <= math.MaxInt32
}
