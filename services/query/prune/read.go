// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package prune

import (
	"maps"
	"slices"
	"strings"

	"github.com/lakeplane/lake/services/query/literal"
)

// object is a JSON object of the syntax tree, as DuckDB's json_serialize_sql
// writes it, with numbers as [json.Number].
type object = map[string]any

// Read reads a statement off its syntax tree, which the gate has let through.
func Read(node map[string]any) Statement {
	r := &reader{}
	r.walk(node)
	for _, sc := range r.out.scopes {
		if len(sc.where) > 0 {
			return r.out
		}
	}
	return Statement{top: readTop(node)}
}

type reader struct{ out Statement }

// walk finds the SELECTs, in whatever they lie. A table that is not in the FROM
// of one of them is wanted whole.
func (r *reader) walk(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			r.walk(e)
		}
	case object:
		switch v["type"] {
		case "SELECT_NODE":
			r.query(v)
		case "BASE_TABLE":
			r.whole(v)
			r.members(v)
		default:
			r.members(v)
		}
	}
}

func (r *reader) members(n object, except ...string) {
	for _, key := range slices.Sorted(maps.Keys(n)) {
		if !slices.Contains(except, key) {
			r.walk(n[key])
		}
	}
}

func (r *reader) whole(n object) {
	if ref := refOf(n); ref.Schema != "" {
		r.out.whole = append(r.out.whole, ref)
	}
}

func refOf(n object) Ref {
	return Ref{text(n["catalog_name"]), text(n["schema_name"]), text(n["table_name"])}
}

func text(v any) string { s, _ := v.(string); return s }

// query reads one SELECT. Its tables are looked at here and everything else as
// any other part of the tree.
func (r *reader) query(n object) {
	f := &from{reader: r, plain: n["sample"] == nil} // a sample is taken before WHERE
	f.walk(n["from_table"])
	sc := scope{tables: f.tables, others: f.others, using: f.using, outer: f.outer}
	if f.plain {
		sc.where = append(sc.where, conjuncts(n["where_clause"])...)
		if !f.outer {
			for _, on := range f.on {
				sc.where = append(sc.where, conjuncts(on)...)
			}
		}
	}
	if len(sc.tables) > 0 {
		r.out.scopes = append(r.out.scopes, sc)
	}
	r.members(n, "from_table")
}

// from collects what stands in FROM.
type from struct {
	*reader
	tables []source
	others []string
	using  []string
	on     []any
	outer  bool
	// plain says that leaving rows of a table out, for which WHERE does not hold,
	// changes nothing.
	plain bool
}

func (f *from) walk(v any) {
	n, _ := v.(object)
	switch n["type"] {
	case nil:
	case "BASE_TABLE":
		f.table(n)
	case "JOIN":
		f.join(n)
	default:
		f.others = append(f.others, text(n["alias"]))
		f.reader.walk(n)
	}
}

func (f *from) table(n object) {
	src := source{ref: refOf(n), name: text(n["alias"])}
	if src.name == "" {
		src.name = src.ref.Table
	}
	if src.ref.Schema == "" { // a common table expression
		f.others = append(f.others, src.name)
		return
	}
	renamed, _ := n["column_name_alias"].([]any)
	src.sure = len(renamed) == 0 && n["sample"] == nil && n["at_clause"] == nil
	f.tables = append(f.tables, src)
}

// join looks at both sides. Joins that look at the order of rows, at what is
// nearest or at what is not there are not plain.
func (f *from) join(n object) {
	switch n["join_type"] {
	case "INNER":
	case "LEFT", "RIGHT", "OUTER":
		f.outer = true
	default:
		f.plain = false
	}
	if kind := n["ref_type"]; kind != "REGULAR" && kind != "CROSS" || n["sample"] != nil {
		f.plain = false
	}
	columns, _ := n["using_columns"].([]any)
	for _, c := range columns {
		f.using = append(f.using, text(c))
	}
	f.walk(n["left"])
	f.walk(n["right"])
	f.on = append(f.on, n["condition"])
	f.reader.members(n, "left", "right")
}

// conjuncts splits an expression at its ANDs and keeps what is understood.
func conjuncts(v any) []condition {
	n, _ := v.(object)
	if n["type"] != "CONJUNCTION_AND" {
		if c := read(n); c != nil {
			return []condition{c}
		}
		return nil
	}
	var out []condition
	children, _ := n["children"].([]any)
	for _, child := range children {
		out = append(out, conjuncts(child)...)
	}
	return out
}

// read reads an expression that has to be true, or returns nil.
func read(n object) condition {
	switch n["class"] {
	case "COLUMN_REF":
		return truth(n, true)
	case "COMPARISON":
		return comparison(n)
	case "BETWEEN":
		return between(n)
	case "OPERATOR":
		return operator(n)
	case "CONJUNCTION":
		return junction(n)
	case "FUNCTION":
		return prefixed(n)
	}
	return nil
}

func junction(n object) condition {
	if n["type"] == "CONJUNCTION_AND" {
		if all := conjuncts(n); len(all) > 0 {
			return and(all)
		}
		return nil
	}
	if n["type"] != "CONJUNCTION_OR" {
		return nil
	}
	children, _ := n["children"].([]any)
	var some or
	for _, child := range children {
		c, _ := child.(object)
		side := read(c)
		if side == nil {
			return nil
		}
		some = append(some, side)
	}
	return some
}

// column returns the parts of a column's name, or nil.
func column(v any) []string {
	n, _ := v.(object)
	parts, _ := n["column_names"].([]any)
	if n["class"] != "COLUMN_REF" || len(parts) == 0 || len(parts) > 3 {
		return nil
	}
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = text(p)
	}
	return out
}

var comparisons = map[any]op{
	"COMPARE_EQUAL": equal, "COMPARE_NOTEQUAL": notEqual, "COMPARE_LESSTHAN": less, "COMPARE_GREATERTHAN": greater,
	"COMPARE_LESSTHANOREQUALTO": atMost, "COMPARE_GREATERTHANOREQUALTO": atLeast,
}

func comparison(n object) condition {
	o, ok := comparisons[n["type"]]
	if !ok {
		return nil
	}
	name, value := column(n["left"]), literal.Of(n["right"])
	if name == nil {
		name, value, o = column(n["right"]), literal.Of(n["left"]), o.turned()
	}
	if name == nil || value == nil {
		return nil
	}
	return compare{name, o, value}
}

// between needs both bounds: SQL compares all three as one type.
func between(n object) condition {
	name, low, high := column(n["input"]), literal.Of(n["lower"]), literal.Of(n["upper"])
	if name == nil || low == nil || high == nil || n["type"] != "COMPARE_BETWEEN" {
		return nil
	}
	return inside{name, low, high}
}

func operator(n object) condition {
	children, _ := n["children"].([]any)
	if len(children) == 0 {
		return nil
	}
	name := column(children[0])
	if name == nil {
		return nil
	}
	switch n["type"] {
	case "OPERATOR_IS_NULL":
		return null{name, true}
	case "OPERATOR_IS_NOT_NULL":
		return null{name, false}
	case "OPERATOR_NOT":
		return truth(children[0], false)
	case "COMPARE_IN":
		return among(name, children[1:])
	}
	return nil
}

func among(name []string, values []any) condition {
	in := in{column: name}
	for _, v := range values {
		c := literal.Of(v)
		if c == nil {
			return nil
		}
		in.values = append(in.values, c)
	}
	return in
}

// truth is a condition that is a column alone.
func truth(v any, want bool) condition {
	name := column(v)
	if name == nil {
		return nil
	}
	return compare{name, equal, literal.Boolean(want)}
}

// prefixed reads LIKE and starts_with, of which the beginning of the pattern
// says something.
func prefixed(n object) condition {
	args, _ := n["children"].([]any)
	if len(args) != 2 || text(n["schema"]) != "" {
		return nil
	}
	name := column(args[0])
	pattern, ok := literal.Of(args[1]).(literal.Text)
	if name == nil || !ok || pattern.As != "" {
		return nil
	}
	switch n["function_name"] {
	case "~~":
		return like(name, pattern.Value)
	case "starts_with", "^@", "prefix":
		return begins{name, pattern.Value}
	}
	return nil
}

// like keeps what a pattern begins with.
func like(name []string, pattern string) condition {
	if i := strings.IndexAny(pattern, "%_"); i >= 0 {
		pattern = pattern[:i]
	}
	return begins{name, pattern}
}
