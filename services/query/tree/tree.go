// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package tree reads what all readers of a statement's syntax tree read alike.
// The tree is the one that DuckDB's json_serialize_sql writes, decoded with
// numbers as [json.Number]. Whoever reads one goes by lists of what is allowed:
// a key that is not known has to say nothing.
package tree

import (
	"encoding/json"
	"slices"
	"strings"
)

// Object is an object of the tree.
type Object = map[string]any

// NothingBut reports whether an object says nothing beside those keys.
func NothingBut(n Object, keys ...string) bool {
	for key, v := range n {
		if !slices.Contains(keys, key) && !Blank(v) {
			return false
		}
	}
	return true
}

// Blank reports whether a value says nothing: null, false, an empty text or list,
// or an object of such.
func Blank(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case Object:
		return NothingBut(v)
	}
	return false
}

// Constant returns an integer (int64) or a text (string) that stands in a
// statement as such. Integers beyond 64 bits are none.
func Constant(v any) (value any, ok bool) {
	n, _ := v.(Object)
	constant, _ := n["value"].(Object)
	kind, _ := constant["type"].(Object)
	if n["class"] != "CONSTANT" || constant["is_null"] != false || !Blank(kind["type_info"]) {
		return nil, false
	}
	switch kind["id"] {
	case "INTEGER", "BIGINT":
		number, _ := constant["value"].(json.Number)
		i, err := number.Int64()
		return i, err == nil
	case "VARCHAR":
		text, ok := constant["value"].(string)
		return text, ok
	}
	return nil, false
}

// Count returns a constant integer from 0.
func Count(v any) (int64, bool) {
	value, ok := Constant(v)
	n, whole := value.(int64)
	return n, ok && whole && n >= 0
}

// Order is something that rows are sorted by. Nulls come last unless they are
// said to be first.
type Order struct {
	Expression             any
	Descending, NullsFirst bool
}

// OrderOf reads one of the orders of an ORDER BY.
func OrderOf(v any) (o Order, ok bool) {
	n, _ := v.(Object)
	switch n["type"] {
	case "DESCENDING":
		o.Descending = true
	case "ASCENDING", "ORDER_DEFAULT":
	default:
		return o, false
	}
	switch n["null_order"] {
	case "NULLS_FIRST", "NULLS FIRST":
		o.NullsFirst = true
	case "NULLS_LAST", "NULLS LAST", "ORDER_DEFAULT":
	default:
		return o, false
	}
	o.Expression = n["expression"]
	return o, NothingBut(n, "type", "null_order", "expression")
}

// IsTable reports whether a value is a table alone, all of it, under its own
// column names.
func IsTable(v any) bool {
	n, _ := v.(Object)
	return n["type"] == "BASE_TABLE" && NothingBut(n, "type", "alias", "query_location", "catalog_name", "schema_name", "table_name")
}

// IsStar reports whether a value is a star that stands for every column as it is.
func IsStar(v any) bool {
	n, _ := v.(Object)
	return n["class"] == "STAR" && NothingBut(n, "class", "type", "query_location")
}

// Names reads a list of functions, one a line; lines that begin with # and a
// blank are comments.
func Names(text string) map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "# ") {
			set[line] = true
		}
	}
	return set
}

// SameName reports whether SQL takes two names for one. It tells A from a not
// apart, and so on to Z, but all other letters: ä is not Ä.
func SameName(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
