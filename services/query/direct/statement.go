// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	sqlengine "github.com/lakeplane/lake/services/query/engine"
)

// object is a JSON object of the syntax tree, as DuckDB's json_serialize_sql
// writes it.
type object = map[string]any

// Statement is what a statement asks of its one table.
type Statement struct {
	// Columns are the columns as they are written; nil means all of them.
	Columns []string
	// Offset rows are left out, and at most Limit of those that follow are
	// wanted. math.MaxInt64 means all.
	Offset, Limit int64
}

// Read returns what a statement that only names columns asks for, and nil for
// every other one. The statement has passed the gate.
func Read(node map[string]any) *Statement {
	if node["type"] != "SELECT_NODE" || node["aggregate_handling"] != "STANDARD_HANDLING" ||
		!nothingBut(node, "type", "aggregate_handling", "select_list", "from_table", "modifiers") || !isTable(node["from_table"]) {
		return nil
	}
	s := &Statement{Limit: math.MaxInt64}
	if !s.readColumns(node["select_list"]) || !s.readLimit(node["modifiers"]) {
		return nil
	}
	return s
}

// nothingBut reports whether the tree says nothing beside those keys.
func nothingBut(n object, keys ...string) bool {
	for key, v := range n {
		if !slices.Contains(keys, key) && !blank(v) {
			return false
		}
	}
	return true
}

// blank reports whether v says nothing: null, false, an empty text or list, or
// an object of such.
func blank(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case object:
		return nothingBut(v)
	}
	return false
}

// isTable reports whether v is a table alone, under its own column names.
func isTable(v any) bool {
	n, _ := v.(object)
	schema, _ := n["schema_name"].(string)
	return n["type"] == "BASE_TABLE" && schema != "" && !strings.EqualFold(schema, "information_schema") &&
		nothingBut(n, "type", "alias", "query_location", "catalog_name", "schema_name", "table_name")
}

// readColumns takes one star, or columns by their bare names: behind a
// qualifier may be the field of a struct.
func (s *Statement) readColumns(v any) bool {
	list, _ := v.([]any)
	for i, v := range list {
		n, _ := v.(object)
		switch n["class"] {
		case "STAR":
			return len(list) == 1 && nothingBut(n, "class", "type", "query_location")
		case "COLUMN_REF":
			names, _ := n["column_names"].([]any)
			if len(names) != 1 || !nothingBut(n, "class", "type", "alias", "query_location", "column_names") {
				return false
			}
			name, _ := names[0].(string)
			if i == 0 {
				s.Columns = make([]string, 0, len(list))
			}
			s.Columns = append(s.Columns, name)
		default:
			return false
		}
	}
	return len(list) > 0
}

// readLimit takes LIMIT and OFFSET of constant whole numbers.
func (s *Statement) readLimit(v any) bool {
	list, _ := v.([]any)
	if len(list) == 0 {
		return blank(v)
	}
	n, _ := list[0].(object)
	return len(list) == 1 && n["type"] == "LIMIT_MODIFIER" && nothingBut(n, "type", "limit", "offset") &&
		wholeNumber(n["limit"], &s.Limit) && wholeNumber(n["offset"], &s.Offset)
}

// wholeNumber reads a constant from 0 into out, or nothing where there is none.
func wholeNumber(v any, out *int64) bool {
	if v == nil {
		return true
	}
	n, _ := v.(object)
	constant, _ := n["value"].(object)
	kind, _ := constant["type"].(object)
	if n["class"] != "CONSTANT" || constant["is_null"] != false || kind["id"] != "INTEGER" && kind["id"] != "BIGINT" {
		return false
	}
	number, _ := constant["value"].(json.Number)
	i, err := number.Int64()
	*out = i
	return err == nil && i >= 0
}

// Resolve returns which columns of a table the statement names, in its order,
// given the schema it was planned to have. ok is false when reading the table
// would not be what the plan says.
func (s *Statement) Resolve(table, planned *arrow.Schema) (columns []int, ok bool) {
	if s.Columns == nil {
		for i := range table.NumFields() {
			columns = append(columns, i)
		}
	}
	for _, name := range s.Columns {
		i, ok := columnNamed(table, name)
		if !ok || slices.Contains(columns, i) {
			return nil, false
		}
		columns = append(columns, i)
	}
	if len(columns) == 0 || len(columns) != planned.NumFields() {
		return nil, false
	}
	for i, c := range columns {
		stored, wanted := table.Field(c), planned.Field(i)
		if !sqlengine.SameType(stored.Type, wanted.Type) || !sqlengine.SameType(sqlengine.Delivered(stored.Type), stored.Type) || stored.Nullable && !wanted.Nullable {
			return nil, false
		}
	}
	return columns, true
}

// columnNamed finds a column without regard to case, as SQL does. Two that
// match are the engine's to tell apart.
func columnNamed(table *arrow.Schema, name string) (at int, ok bool) {
	for i, f := range table.Fields() {
		if strings.EqualFold(f.Name, name) {
			if ok {
				return 0, false
			}
			at, ok = i, true
		}
	}
	return at, ok
}
