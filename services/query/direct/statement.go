// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"math"
	"strings"

	"github.com/lakeplane/lake/services/query/tree"
)

// Statement is what a statement asks of its one table.
type Statement struct {
	// Columns are the columns of the result; nil means all of the table's.
	Columns []Column
	// Where has to be true of the rows, all of it.
	Where []Condition
	// Offset rows are left out, and at most Limit of those that follow are
	// wanted. math.MaxInt64 means all.
	Offset, Limit int64
}

// Column is a column of the table, as it is written, and what the statement
// calls it in its result, empty where it leaves that to the table.
type Column struct{ Name, As string }

// Read returns what a statement that only names columns asks for, and nil for
// every other one. The statement has passed the gate.
func Read(node map[string]any) *Statement {
	if node["type"] != "SELECT_NODE" || node["aggregate_handling"] != "STANDARD_HANDLING" ||
		!tree.NothingBut(node, "type", "aggregate_handling", "select_list", "from_table", "where_clause", "modifiers") || !isTable(node["from_table"]) {
		return nil
	}
	s := &Statement{Limit: math.MaxInt64}
	if !s.readColumns(node["select_list"]) || !s.readWhere(node["where_clause"]) || !s.readLimit(node["modifiers"]) {
		return nil
	}
	return s
}

// isTable reports whether v is a table alone that is stored.
func isTable(v any) bool {
	n, _ := v.(tree.Object)
	schema, _ := n["schema_name"].(string)
	return tree.IsTable(v) && schema != "" && !strings.EqualFold(schema, "information_schema")
}

// readColumns takes one star, or columns by their bare names: behind a
// qualifier may be the field of a struct.
func (s *Statement) readColumns(v any) bool {
	list, _ := v.([]any)
	for _, v := range list {
		n, _ := v.(tree.Object)
		switch n["class"] {
		case "STAR":
			return len(list) == 1 && tree.IsStar(n)
		case "COLUMN_REF":
			name, ok := columnName(n)
			if !ok {
				return false
			}
			as, _ := n["alias"].(string)
			s.Columns = append(s.Columns, Column{name, as})
		default:
			return false
		}
	}
	return len(list) > 0
}

// columnName is the name of a column that stands alone.
func columnName(v any) (name string, ok bool) {
	n, _ := v.(tree.Object)
	names, _ := n["column_names"].([]any)
	if n["class"] != "COLUMN_REF" || len(names) != 1 || !tree.NothingBut(n, "class", "type", "alias", "query_location", "column_names") {
		return "", false
	}
	name, ok = names[0].(string)
	return name, ok
}

// readLimit takes LIMIT and OFFSET of constant whole numbers.
func (s *Statement) readLimit(v any) bool {
	list, _ := v.([]any)
	if len(list) == 0 {
		return tree.Blank(v)
	}
	n, _ := list[0].(tree.Object)
	return len(list) == 1 && n["type"] == "LIMIT_MODIFIER" && tree.NothingBut(n, "type", "limit", "offset") &&
		countOf(n["limit"], &s.Limit) && countOf(n["offset"], &s.Offset)
}

// countOf reads a constant from 0 into out, or nothing where there is none.
func countOf(v any, out *int64) (ok bool) {
	if v != nil {
		*out, ok = tree.Count(v)
		return ok
	}
	return true
}
