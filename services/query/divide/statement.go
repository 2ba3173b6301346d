// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package divide

import (
	_ "embed" // the list of functions
	"strings"

	"github.com/lakeplane/lake/services/query/tree"
)

// object is a JSON object of the syntax tree, as DuckDB's json_serialize_sql
// writes it.
type object = map[string]any

//go:embed functions.txt
var functionsText string

// functions are the scalar functions whose result is the same whenever and
// wherever they are called with the same arguments, in lower case.
var functions = tree.Names(functionsText)

// Functions reports whether statements in parts may call the function of this
// name.
func Functions(name string) bool { return functions[strings.ToLower(name)] }

// Statement reports whether the statement may be answered in parts: a SELECT of
// columns and scalar expressions from one table, perhaps with a WHERE, without
// anything that looks at several rows, at their order, at the clock or at
// chance. The statement has passed the gate.
func Statement(node map[string]any) bool {
	if node["type"] != "SELECT_NODE" || node["aggregate_handling"] != "STANDARD_HANDLING" {
		return false
	}
	ctes, _ := node["cte_map"].(object)
	for _, none := range []any{
		node["modifiers"], ctes["map"], node["group_expressions"], node["group_sets"], node["having"], node["sample"], node["qualify"],
	} {
		if !empty(none) {
			return false
		}
	}
	return table(node["from_table"]) && rowwise(node["select_list"]) && rowwise(node["where_clause"])
}

func empty(v any) bool {
	list, isList := v.([]any)
	return v == nil || isList && len(list) == 0
}

// table reports whether v is a table alone, all of it.
func table(v any) bool {
	n, _ := v.(object)
	schema, _ := n["schema_name"].(string)
	return n["type"] == "BASE_TABLE" && schema != "" && !strings.EqualFold(schema, "information_schema") &&
		empty(n["sample"]) && empty(n["at_clause"])
}

// classes are the kinds of expression that look at one row.
var classes = map[string]bool{
	"COLUMN_REF": true, "CONSTANT": true, "PARAMETER": true, "STAR": true, "COMPARISON": true, "CONJUNCTION": true, "BETWEEN": true,
	"CASE": true, "CAST": true, "FUNCTION": true, "OPERATOR": true, "LAMBDA": true, "LAMBDA_REF": true,
}

// rowwise reports whether every expression in v looks at one row.
func rowwise(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if !rowwise(e) {
				return false
			}
		}
	case object:
		return rowwiseNode(v)
	}
	return true
}

func rowwiseNode(n object) bool {
	class, isExpr := n["class"].(string)
	switch {
	case isExpr && !classes[class]:
		return false
	case class == "CONSTANT":
		return true // a value and its type
	case class == "COLUMN_REF":
		return !ValueFunction(n)
	case class == "FUNCTION" && !call(n):
		return false
	case class == "OPERATOR" && n["type"] == "GROUPING_FUNCTION":
		return false
	case !isExpr && n["type"] == "SELECT_NODE":
		return false
	}
	for _, child := range n {
		if !rowwise(child) {
			return false
		}
	}
	return true
}

// valueFunctions are names that mean a function where no column has them.
var valueFunctions = map[string]bool{"localtime": true, "localtimestamp": true, "session_user": true, "user": true, "today": true}

// ValueFunction reports whether a column's name, a node of the syntax tree, may be a
// call in disguise, such as CURRENT_TIMESTAMP.
func ValueFunction(n object) bool {
	parts, _ := n["column_names"].([]any)
	if len(parts) != 1 {
		return false
	}
	name, _ := parts[0].(string)
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "current_") || valueFunctions[name]
}

// call reports whether a call is of a function on the list, as a scalar
// function is called.
func call(n object) bool {
	name, _ := n["function_name"].(string)
	orders, _ := n["order_bys"].(object)
	return Functions(name) && empty(n["filter"]) && n["distinct"] != true && empty(orders["orders"])
}
