// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package steady knows which statements have the same answer whenever they run
// over the same snapshots, so that an answer, or a plan with its constants
// folded, may be used again. It is a matter of lists of what is allowed: what is
// not known to be steady is not.
//
// Rows may still come in another order, and a LIMIT without an ORDER BY may take
// other rows, at each execution: any of the possible answers is as good.
package steady

import (
	_ "embed" // the list of functions
	"strings"

	"github.com/lakeplane/lake/services/query/divide"
	"github.com/lakeplane/lake/services/query/tree"
)

//go:embed aggregates.txt
var aggregatesText string

// aggregates are the aggregate functions, and those that stand before OVER, that
// depend on nothing but their arguments.
var aggregates = tree.Names(aggregatesText)

// rows are the functions that stand in FROM.
var rows = map[string]bool{"range": true, "generate_series": true, "unnest": true}

// Function reports whether a function's result depends on its arguments alone.
// Case does not matter.
func Function(name string) bool {
	name = strings.ToLower(name)
	return divide.Functions(name) || aggregates[name] || rows[name]
}

// Statement reports whether a statement is steady. node is its syntax tree as
// DuckDB writes it, and has passed the gate; it names no table of
// information_schema, whose rows are of the moment.
func Statement(node map[string]any) bool { return steady(node) }

func steady(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if !steady(e) {
				return false
			}
		}
	case tree.Object:
		return steadyNode(v)
	}
	return true
}

func steadyNode(n tree.Object) bool {
	schema, _ := n["schema_name"].(string)
	switch class, _ := n["class"].(string); {
	case class == "CONSTANT":
		return true // a value and its type
	case class == "COLUMN_REF" && divide.ValueFunction(n):
		return false
	case class == "FUNCTION" || class == "WINDOW":
		if name, _ := n["function_name"].(string); !Function(name) {
			return false
		}
	case n["sample"] != nil: // a part by chance
		return false
	case strings.EqualFold(schema, "information_schema"):
		return false
	}
	for _, child := range n {
		if !steady(child) {
			return false
		}
	}
	return true
}
