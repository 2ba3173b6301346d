// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"math"
	"slices"
	"strings"

	"github.com/lakeplane/lake/services/query/fold"
	"github.com/lakeplane/lake/services/query/tree"
)

// Statement is what a statement asks of its one table.
type Statement struct {
	// Qualifier is the name by which columns name the table, as t.id does, empty
	// where none does. A column of that name might be what is meant.
	Qualifier string
	// Columns are the columns of the result; nil means all of the table's.
	Columns []Column
	// Where has to be true of the rows, all of it.
	Where []Condition
	// Summary, if set, makes one row of each group of rows.
	Summary *Summary
	// Offset rows of the result are left out, and at most Limit of those that
	// follow are wanted. math.MaxInt64 means all.
	Offset, Limit int64
}

// Column is a column of the result.
type Column struct {
	// Name is the table's column, as it is written; empty for a function of whole
	// rows.
	Name string
	// As is what the statement calls the result, empty where it leaves that to the
	// table or to Call.
	As string
	// Func makes one value of the column's values in each row of a group; 0 is the
	// column itself.
	Func fold.Func
	// Call is the call of Func as SQL writes it, which is its name without As.
	Call string
	// Filter is the boolean column that has to be true of the rows that count, as it
	// is written; empty for all rows.
	Filter string
}

// Read returns what a statement that only names columns, or simple functions of
// them, asks for, and nil for every other one. The statement has passed the gate.
func Read(node map[string]any) *Statement {
	if node["type"] != "SELECT_NODE" || !isTable(node["from_table"]) ||
		!tree.NothingBut(node, "type", "aggregate_handling", "select_list", "from_table", "where_clause", "group_expressions", "group_sets", "modifiers") {
		return nil
	}
	s := &Statement{Limit: math.MaxInt64}
	names := &names{table: tableName(node["from_table"])}
	modifiers, ok := node["modifiers"].([]any)
	if !ok && !tree.Blank(node["modifiers"]) {
		return nil
	}
	r := reader{s, names}
	if !r.readColumns(node["select_list"]) || !r.readWhere(node["where_clause"]) || !r.readGroups(node) || !r.readModifiers(modifiers) {
		return nil
	}
	if names.qualified {
		s.Qualifier = names.table
	}
	return s
}

// Bytes is about how much memory the statement takes; nil takes none.
func (s *Statement) Bytes() int {
	if s == nil {
		return 0
	}
	const each = 128
	n := each * (1 + len(s.Columns) + tests(s.Where))
	if s.Summary != nil {
		n += each * (len(s.Summary.Groups) + len(s.Summary.Order))
	}
	return n
}

// tests counts conditions and their constants.
func tests(all []Condition) (n int) {
	for _, c := range all {
		n += 1 + len(c.Values) + tests(c.Parts)
	}
	return n
}

// reader reads a statement off its syntax tree.
type reader struct {
	*Statement
	names *names
}

// names are those of columns, and whether one of them names the table as well.
type names struct {
	table     string
	qualified bool
}

// column takes a column, by its name alone or with that of the table.
func (s *names) column(v any) (name string, ok bool) {
	n, _ := v.(tree.Object)
	parts, _ := n["column_names"].([]any)
	if n["class"] != "COLUMN_REF" || len(parts) == 0 || !tree.NothingBut(n, "class", "type", "alias", "query_location", "column_names") {
		return "", false
	}
	if len(parts) == 2 {
		table, _ := parts[0].(string)
		if s.qualified = true; !tree.SameName(table, s.table) {
			return "", false
		}
		parts = parts[1:]
	}
	name, ok = parts[0].(string)
	return name, ok && len(parts) == 1
}

// star takes all columns, with the name of the table or without.
func (s *names) star(n tree.Object) bool {
	table, _ := n["relation_name"].(string)
	return tree.NothingBut(n, "class", "type", "query_location", "relation_name") && (table == "" || tree.SameName(table, s.table))
}

// tableName is the name that a table has in its statement.
func tableName(v any) string {
	n, _ := v.(tree.Object)
	for _, key := range []string{"alias", "table_name"} {
		if name, _ := n[key].(string); name != "" {
			return name
		}
	}
	return ""
}

// isTable takes a table alone, under its own column names.
func isTable(v any) bool {
	n, _ := v.(tree.Object)
	schema, _ := n["schema_name"].(string)
	return tree.IsTable(v) && schema != "" && !strings.EqualFold(schema, "information_schema")
}

func (s reader) readColumns(v any) bool {
	list, _ := v.([]any)
	for _, v := range list {
		n, _ := v.(tree.Object)
		switch n["class"] {
		case "STAR":
			return len(list) == 1 && s.names.star(n)
		case "COLUMN_REF":
			name, ok := s.names.column(n)
			if !ok {
				return false
			}
			as, _ := n["alias"].(string)
			s.Columns = append(s.Columns, Column{Name: name, As: as})
		case "FUNCTION":
			c, ok := s.names.call(n)
			if !ok {
				return false
			}
			s.Columns = append(s.Columns, c)
		default:
			return false
		}
	}
	return len(list) > 0
}

// readModifiers takes what is done with the rows of the result, in its order:
// only different ones, sorted, and some of them. Rows that are no groups stay in
// the order of the table.
func (s reader) readModifiers(list []any) bool {
	for _, kind := range []struct {
		name string
		read func(tree.Object) bool
	}{{"DISTINCT_MODIFIER", s.readDistinct}, {"ORDER_MODIFIER", s.readOrder}, {"LIMIT_MODIFIER", s.readLimit}} {
		if len(list) == 0 {
			break
		}
		n, _ := list[0].(tree.Object)
		if n["type"] != kind.name {
			continue
		}
		if !kind.read(n) {
			return false
		}
		list = list[1:]
	}
	return len(list) == 0
}

// readDistinct makes groups of whole rows.
func (s reader) readDistinct(n tree.Object) bool {
	if s.Summary != nil || s.Columns == nil || !tree.NothingBut(n, "type") {
		return false
	}
	s.Summary = &Summary{Groups: s.plain()}
	return true
}

func (s reader) readLimit(n tree.Object) bool {
	return tree.NothingBut(n, "type", "limit", "offset") && countOf(n["limit"], &s.Limit) && countOf(n["offset"], &s.Offset)
}

// countOf takes a constant whole number, and nothing at all.
func countOf(v any, out *int64) (ok bool) {
	if v != nil {
		*out, ok = tree.Count(v)
		return ok
	}
	return true
}

// plain are the names of the columns that are no functions.
func (s *Statement) plain() (names []string) {
	for _, c := range s.Columns {
		if c.Func == 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

func (s *Statement) calls() bool {
	return slices.ContainsFunc(s.Columns, func(c Column) bool { return c.Func != 0 })
}
