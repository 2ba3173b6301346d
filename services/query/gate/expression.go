// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package gate

import "strings"

// classes are the kinds of expression a statement may hold.
var classes = map[string]bool{
	"COLUMN_REF": true, "CONSTANT": true, "FUNCTION": true, "OPERATOR": true, "COMPARISON": true, "CONJUNCTION": true,
	"CAST": true, "CASE": true, "BETWEEN": true, "STAR": true, "SUBQUERY": true, "WINDOW": true, "LAMBDA": true,
	"LAMBDA_REF": true, "PARAMETER": true, "COLLATE": true, "POSITIONAL_REFERENCE": true, "DEFAULT": true, "TYPE": true,
}

// operators are the forms of an OPERATOR expression.
var operators = map[string]bool{
	"OPERATOR_NOT": true, "OPERATOR_IS_NULL": true, "OPERATOR_IS_NOT_NULL": true, "OPERATOR_COALESCE": true,
	"OPERATOR_NULLIF": true, "OPERATOR_TRY": true, "COMPARE_IN": true, "COMPARE_NOT_IN": true, "ARRAY_EXTRACT": true,
	"ARRAY_SLICE": true, "STRUCT_EXTRACT": true, "ARRAY_CONSTRUCTOR": true, "ARROW": true, "GROUPING_FUNCTION": true,
	"OPERATOR_UNPACK": true,
}

func (w *walker) expression(n object, class, kind string) error {
	if !classes[class] {
		return refuse(at(n), "%s is not supported: use a function or an operator instead", describeKind(class))
	}
	switch class {
	case "OPERATOR":
		if !operators[kind] {
			return refuse(at(n), "%s is not supported: use a function or an operator instead", describeKind(kind))
		}
	case "PARAMETER":
		id, _ := n["identifier"].(string)
		w.params[id] = true
	case "LAMBDA":
		return w.lambda(n)
	case "FUNCTION":
		return w.function(n)
	case "WINDOW":
		return w.window(n)
	case "CONSTANT":
		return nil // holds a value and its type
	}
	return w.members(n)
}

func (w *walker) lambda(n object) error {
	if w.lambdas++; w.lambdas > w.limits.LambdaDepth {
		return refuse(at(n), "lambdas lie inside lambdas: at most %d deep are allowed; unnest the lists instead", w.limits.LambdaDepth)
	}
	defer func() { w.lambdas-- }()
	return w.members(n)
}

// function checks a call of a scalar or aggregate function.
func (w *walker) function(n object) error {
	name, err := functionName(n)
	if err != nil {
		return err
	}
	if err := allowed(name, at(n)); err != nil {
		return err
	}
	if n["export_state"] == true {
		return refuse(at(n), "EXPORT_STATE is not supported: leave it out")
	}
	return w.arguments(n, name)
}

// functionName is the called name in lower case. A name with something before
// it, a.upper(), is a call on a column, unless that is a schema of the engine.
func functionName(n object) (string, error) {
	name, _ := n["function_name"].(string)
	schema, _ := n["schema"].(string)
	if engineSchemas[strings.ToLower(schema)] || strings.EqualFold(schema, "information_schema") {
		return "", refuse(at(n), "function %s is called in a schema of the engine: call it by its name alone", clip(name))
	}
	return strings.ToLower(name), nil
}

// callArguments are the arguments as the function gets them: those of a call
// on a column begin with the column.
func callArguments(n object) []any {
	args, _ := n["children"].([]any)
	schema, _ := n["schema"].(string)
	if schema == "" || strings.EqualFold(schema, "main") {
		return args
	}
	return append([]any{object{"class": "COLUMN_REF"}}, args...)
}

// noWindow are aggregates that break the engine as window functions.
var noWindow = map[string]bool{
	"arg_min": true, "arg_max": true, "argmin": true, "argmax": true, "min_by": true, "max_by": true,
	"arg_min_null": true, "arg_max_null": true, "arg_min_nulls_last": true, "arg_max_nulls_last": true,
}

func (w *walker) window(n object) error {
	name, err := functionName(n)
	if err != nil {
		return err
	}
	if noWindow[name] {
		return refuse(at(n), "%s OVER is not supported: use first_value(… ORDER BY …) OVER, or %s without OVER", name, name)
	}
	if err := allowed(name, at(n)); err != nil {
		return err
	}
	return w.arguments(n, name)
}

// tableFunctions are the functions that may stand in FROM.
var tableFunctions = map[string]bool{"range": true, "generate_series": true, "unnest": true}

func (w *walker) tableFunction(n object) error {
	call, _ := n["function"].(object)
	name, err := functionName(call)
	if err != nil {
		return err
	}
	bare := call["schema"] == "" && call["catalog"] == ""
	if call["class"] != "FUNCTION" || !tableFunctions[name] || !bare {
		return refuse(at(n), "table function %s is not allowed: FROM takes tables, range, generate_series and unnest", clip(name))
	}
	// Rows of a table function are made as they are read: its arguments need
	// no caps, only to be expressions that are allowed.
	if err := w.members(call); err != nil {
		return err
	}
	return w.members(n, "function")
}
