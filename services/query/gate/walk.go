// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lakeplane/lake/services/query/direct"
	"github.com/lakeplane/lake/services/query/divide"
	"github.com/lakeplane/lake/services/query/prune"
	"github.com/lakeplane/lake/services/query/steady"
)

// object is a JSON object of the syntax tree.
type object = map[string]any

// walker checks a statement node by node. Every object of the tree is either
// of a kind it knows or has no kind of its own; anything else is refused.
type walker struct {
	limits Limits
	nodes  int
	depth  int
	// at is the last position that a node told, or -1.
	at int
	// lambdas is how many lambdas the current node lies inside.
	lambdas int
	// allocating is the allocating call the current node is an argument of.
	allocating allocation
	// made is the largest size that the walk met lately, total their sum.
	made, total int64
	scope       *scope
	found       []found
	params      map[string]bool
	// cost is what the query being walked adds up to.
	cost cost
}

// cost is what a query amounts to once common table expressions are expanded.
type cost struct{ joins, expansions int }

// scope is one common table expression that is visible, and those outside it.
type scope struct {
	name  string
	cost  cost
	outer *scope
}

func (s *scope) find(name string) *scope {
	for ; s != nil; s = s.outer {
		if strings.EqualFold(s.name, name) {
			return s
		}
	}
	return nil
}

func (g *Gate) checkStatement(stmt object, words lexed) (Parsed, error) {
	node, _ := stmt["node"].(object)
	if node == nil {
		return Parsed{}, notSelect(words.first)
	}
	if words.first == "SHOW" || words.first == "SUMMARIZE" {
		return checkShow(node)
	}
	w := &walker{limits: g.limits, params: map[string]bool{}, at: -1}
	err := w.walk(node)
	if err == nil {
		err = w.withinCost()
	}
	if r := (*refusal)(nil); errors.As(err, &r) && r.at < 0 {
		r.at = w.at
	}
	if err != nil {
		return Parsed{}, err
	}
	return Parsed{
		References: w.references(), Parameters: len(w.params),
		Filters: prune.Read(node), Divisible: divide.Statement(node), Direct: direct.Read(node), Steady: steady.Statement(node),
	}, nil
}

// checkShow lets SHOW TABLES through, which the parser writes as a query over
// a reference of a kind of its own.
func checkShow(node object) (Parsed, error) {
	from, _ := node["from_table"].(object)
	name, _ := from["table_name"].(string)
	schema, _ := from["schema_name"].(string)
	if from["type"] == "SHOW_REF" && from["query"] == nil && from["show_type"] == "SHOW_UNQUALIFIED" &&
		schema == "" && strings.EqualFold(strings.Trim(name, `"`), "tables") {
		return Parsed{Kind: ShowTables}, nil
	}
	return Parsed{}, refuse(at(from), "only SHOW TABLES is answered: for columns use DESCRIBE, for more information_schema")
}

// found is a table reference and where it is first written.
type found struct {
	ref Ref
	at  int
}

// references are the distinct references in the order of the text.
func (w *walker) references() []Ref {
	slices.SortStableFunc(w.found, func(a, b found) int { return cmp.Compare(a.at, b.at) })
	var refs []Ref
	seen := map[Ref]bool{}
	for _, f := range w.found {
		if !seen[f.ref] {
			seen[f.ref] = true
			refs = append(refs, f.ref)
		}
	}
	return refs
}

// walk checks any value of the tree.
func (w *walker) walk(v any) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := w.walk(e); err != nil {
				return err
			}
		}
	case object:
		return w.node(v)
	}
	return nil
}

// node checks one object and what it holds, within the limits.
func (w *walker) node(n object) error {
	if w.nodes++; w.nodes > w.limits.Nodes {
		return refuse(-1, "the statement is too complex: its syntax tree has more than %d nodes; send long lists as parameters or tables", w.limits.Nodes)
	}
	if p := at(n); p >= 0 {
		w.at = p
	}
	kind, _ := n["type"].(string)
	class, isExpr := n["class"].(string)
	if isExpr || kind != "" && (!flatKinds[kind] || strings.HasSuffix(kind, "_TYPE_INFO")) {
		if w.depth++; w.depth > w.limits.Depth {
			return refuse(at(n), "the statement nests too deep: at most %d levels are allowed, chained operators included", w.limits.Depth)
		}
		defer func() { w.depth-- }()
	}
	switch {
	case isExpr:
		return w.expression(n, class, kind)
	case queryKinds[kind]:
		return w.query(n, kind)
	case refKinds[kind]:
		return w.reference(n, kind)
	case kind == "" || flatKinds[kind]:
		return w.members(n)
	}
	return refuse(at(n), "%s is not supported: use SELECT and its clauses", describeKind(kind))
}

// members walks all that an object holds, but for the keys in except. The order
// is fixed so that the same statement is always refused for the same reason.
func (w *walker) members(n object, except ...string) error {
	for _, key := range slices.Sorted(maps.Keys(n)) {
		if slices.Contains(except, key) {
			continue
		}
		if err := w.walk(n[key]); err != nil {
			return err
		}
	}
	return nil
}

// queryKinds are the nodes that produce rows of their own.
var queryKinds = map[string]bool{"SELECT_NODE": true, "SET_OPERATION_NODE": true, "RECURSIVE_CTE_NODE": true}

// refKinds are what may stand in FROM.
var refKinds = map[string]bool{
	"BASE_TABLE": true, "SUBQUERY": true, "JOIN": true, "TABLE_FUNCTION": true, "EMPTY": true,
	"EXPRESSION_LIST": true, "PIVOT": true,
}

// flatKinds are objects with a "type" that are neither: modifiers, sort orders
// and the details of types.
var flatKinds = map[string]bool{
	"ORDER_MODIFIER": true, "LIMIT_MODIFIER": true, "LIMIT_PERCENT_MODIFIER": true, "DISTINCT_MODIFIER": true,
	"ASCENDING": true, "DESCENDING": true, "ORDER_DEFAULT": true,
	"DECIMAL_TYPE_INFO": true, "LIST_TYPE_INFO": true, "STRUCT_TYPE_INFO": true, "ARRAY_TYPE_INFO": true,
	"ENUM_TYPE_INFO": true, "STRING_TYPE_INFO": true, "UNBOUND_TYPE_INFO": true, "GENERIC_TYPE_INFO": true,
}

// query walks a query with the common table expressions it declares.
func (w *walker) query(n object, kind string) error {
	outer := w.scope
	defer func() { w.scope = outer }()
	ctes, _ := n["cte_map"].(object)
	list, _ := ctes["map"].([]any)
	for _, e := range list {
		entry, _ := e.(object)
		if err := w.declare(entry); err != nil {
			return err
		}
	}
	if kind == "RECURSIVE_CTE_NODE" {
		name, _ := n["cte_name"].(string)
		w.scope = &scope{name: name, outer: w.scope}
	}
	return w.members(n, "cte_map")
}

// declare walks one common table expression. Its name means itself only from
// here on: inside its own query it means what it meant before.
func (w *walker) declare(entry object) error {
	name, _ := entry["key"].(string)
	before := w.cost
	w.cost = cost{}
	if err := w.walk(entry["value"]); err != nil {
		return err
	}
	w.scope = &scope{name: name, cost: w.cost, outer: w.scope}
	w.cost = before
	return w.withinCost()
}

func (w *walker) withinCost() error {
	if w.cost.joins > w.limits.Joins {
		return refuse(-1, "the statement joins too much: at most %d joins are allowed, counting those of a WITH query at each use", w.limits.Joins)
	}
	if w.cost.expansions > w.limits.CTEExpansion {
		return refuse(-1, "the uses of WITH queries expand to more than %d queries: write WITH … AS fewer times, or in fewer steps", w.limits.CTEExpansion)
	}
	return nil
}

// reference walks what stands in FROM.
func (w *walker) reference(n object, kind string) error {
	switch kind {
	case "BASE_TABLE":
		if err := w.table(n); err != nil {
			return err
		}
	case "JOIN":
		if w.cost.joins++; w.cost.joins > w.limits.Joins {
			return w.withinCost()
		}
	case "TABLE_FUNCTION":
		return w.tableFunction(n)
	case "PIVOT":
		if name, _ := n["pivot_enum"].(string); name != "" {
			return refuse(at(n), "PIVOT over an ENUM type is not supported: list the values with IN (…)")
		}
	}
	return w.members(n)
}

// table notes a table reference, or the use of a common table expression.
func (w *walker) table(n object) error {
	ref := Ref{}
	ref.Catalog, _ = n["catalog_name"].(string)
	ref.Schema, _ = n["schema_name"].(string)
	ref.Table, _ = n["table_name"].(string)
	if n["at_clause"] != nil {
		return refuse(at(n), "AT is not supported: a statement reads the current version of each table")
	}
	if ref.Catalog == "" && ref.Schema == "" {
		if cte := w.scope.find(ref.Table); cte != nil {
			w.cost.joins += cte.cost.joins
			w.cost.expansions += 1 + cte.cost.expansions
			return w.withinCost()
		}
	}
	if err := checkName(ref, at(n)); err != nil {
		return err
	}
	w.found = append(w.found, found{ref, at(n)})
	return nil
}

// engineSchemas hold the engine's own views. information_schema is not among
// them: the service answers it from the catalog.
var engineSchemas = map[string]bool{"pg_catalog": true, "system": true, "temp": true, "memory": true}

func checkName(r Ref, at int) error {
	if engineSchemas[strings.ToLower(r.Catalog)] || engineSchemas[strings.ToLower(r.Schema)] {
		return refuse(at, "the engine's own tables cannot be read: use information_schema, SHOW TABLES or DESCRIBE")
	}
	if r.Schema != "" || r.Catalog != "" {
		return nil
	}
	name := strings.ToLower(r.Table)
	if strings.HasPrefix(name, "duckdb_") || strings.HasPrefix(name, "pragma_") || strings.HasPrefix(name, "sqlite_") {
		return refuse(at, "%s: the engine's own tables cannot be read: use information_schema, SHOW TABLES or DESCRIBE", clip(r.Table))
	}
	if looksLikeFile(name) {
		return refuse(at, "%s looks like a file: a statement reads tables, namespace.table", clip(r.Table))
	}
	return nil
}

var fileEndings = []string{".parquet", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".gz", ".zst", ".db", ".duckdb", ".xlsx"}

func looksLikeFile(name string) bool {
	if strings.ContainsAny(name, `/\*?:`) {
		return true
	}
	for _, e := range fileEndings {
		if strings.HasSuffix(name, e) {
			return true
		}
	}
	return false
}

// at is the position of a node, or -1.
func at(n object) int {
	num, _ := n["query_location"].(json.Number)
	return position(string(num))
}

// position reads the parser's position; the largest number means unknown.
func position(s string) int {
	i, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return -1
	}
	return int(i)
}

// describeKind writes SOME_REF as words.
func describeKind(kind string) string {
	words := strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(kind, "_REF"), "_NODE"), "_", " ")
	return "syntax of the kind " + clip(words)
}

// clip keeps names in messages short.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return strconv.Quote(strings.ToValidUTF8(s[:most], "")) + "…"
}
