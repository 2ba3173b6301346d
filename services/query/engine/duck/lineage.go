// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"encoding/json"
	"slices"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
)

// origin says where a column of an operator comes from.
type origin struct {
	// column is the table column that is passed through unchanged, or nil for
	// a computed one.
	column *column
	// nullable is set where the operator may add nulls of its own, as the far
	// side of an outer join does.
	nullable bool
}

// planNode is what we read of an operator of DuckDB's logical plan, as
// json_serialize_plan writes it before optimization. Column references are
// positions in the children's outputs, laid side by side.
type planNode struct {
	Type          string     `json:"type"`
	Children      []planNode `json:"children"`
	Expressions   []planExpr `json:"expressions"`
	ProjectionMap []int      `json:"projection_map"`
	Projections   []int      `json:"projections"`

	// aggregates
	Groups            []planExpr        `json:"groups"`
	GroupingSets      [][]int           `json:"grouping_sets"`
	GroupingFunctions []json.RawMessage `json:"grouping_functions"`

	// joins
	JoinType string `json:"join_type"`
	LeftMap  []int  `json:"left_projection_map"`
	RightMap []int  `json:"right_projection_map"`

	// scans
	Name          string      `json:"name"`
	Parameters    []planValue `json:"parameters"`
	ReturnedTypes []planType  `json:"returned_types"`
	ProjectionIDs []int       `json:"projection_ids"`
	ColumnIndexes []struct {
		Index uint64 `json:"index"`
	} `json:"column_indexes"`

	// common table expressions, and operators that make rows
	TableIndex uint64     `json:"table_index"`
	CTEIndex   uint64     `json:"cte_index"`
	ChunkTypes []planType `json:"chunk_types"`
	ExprTypes  []planType `json:"expr_types"`
}

type planType struct {
	ID string `json:"id"`
}

type planValue struct {
	Value json.RawMessage `json:"value"`
}

type planExpr struct {
	Class string `json:"expression_class"`
	Index int    `json:"index"`
}

// UnmarshalJSON reads an expression. Rows of VALUES, which are lists of
// expressions, count as computed.
func (e *planExpr) UnmarshalJSON(b []byte) error {
	type plain planExpr
	if len(b) > 0 && b[0] == '[' {
		return nil
	}
	return json.Unmarshal(b, (*plain)(e))
}

// lineage traces the columns of a plan back to table columns. It knows the
// operators by name; one it does not know makes everything above it computed.
type lineage struct {
	tables map[uint64]*boundTable
	ctes   map[uint64][]origin
}

// errUntraced ends a trace at an operator we do not know.
var errUntraced = lake.Errorf(lake.Unsupported, "an operator whose columns cannot be traced")

// trace reads a plan in JSON. It returns nil where it is not sure.
func (l *lineage) trace(plan []byte) ([]origin, error) {
	var doc struct {
		Error   bool       `json:"error"`
		Message string     `json:"error_message"`
		Plans   []planNode `json:"plans"`
	}
	if err := json.Unmarshal(plan, &doc); err != nil {
		return nil, err
	}
	if doc.Error || len(doc.Plans) != 1 {
		return nil, lake.Errorf(lake.Unsupported, "no plan: %s", doc.Message)
	}
	return l.node(&doc.Plans[0])
}

func (l *lineage) node(n *planNode) ([]origin, error) {
	switch n.Type {
	case "LOGICAL_MATERIALIZED_CTE":
		return l.cte(n)
	case "LOGICAL_CTE_REF":
		if o, ok := l.ctes[n.CTEIndex]; ok {
			return o, nil
		}
		return make([]origin, len(n.ChunkTypes)), nil
	}
	in := make([][]origin, len(n.Children))
	for i := range n.Children {
		var err error
		if in[i], err = l.node(&n.Children[i]); err != nil {
			return nil, err
		}
	}
	return l.derive(n, in)
}

func (l *lineage) cte(n *planNode) ([]origin, error) {
	if len(n.Children) != 2 {
		return nil, errUntraced
	}
	o, err := l.node(&n.Children[0])
	if err != nil {
		return nil, err
	}
	l.ctes[n.TableIndex] = o
	return l.node(&n.Children[1])
}

// derive is the output of one operator, given its children's.
func (l *lineage) derive(n *planNode, in [][]origin) ([]origin, error) {
	switch n.Type {
	case "LOGICAL_GET":
		return l.scan(n), nil
	case "LOGICAL_DUMMY_SCAN":
		return make([]origin, 1), nil
	case "LOGICAL_DELIM_GET", "LOGICAL_CHUNK_GET":
		return make([]origin, len(n.ChunkTypes)), nil
	case "LOGICAL_EXPRESSION_GET":
		return make([]origin, len(n.ExprTypes)), nil
	}
	switch len(in) {
	case 1:
		return deriveUnary(n, in[0])
	case 2:
		return deriveBinary(n, in[0], in[1])
	}
	return nil, errUntraced
}

func (l *lineage) scan(n *planNode) []origin {
	all := make([]origin, len(n.ColumnIndexes))
	if t := l.scanned(n); t != nil {
		for i, c := range n.ColumnIndexes {
			if k := c.Index - markers; k < uint64(len(t.columns)) {
				all[i].column = &t.columns[k]
			}
		}
	}
	return pick(all, n.ProjectionIDs)
}

// scanned is the table of a lake_scan, or nil for other table functions.
func (l *lineage) scanned(n *planNode) *boundTable {
	var id uint64
	if n.Name != "lake_scan" || len(n.Parameters) != 1 || json.Unmarshal(n.Parameters[0].Value, &id) != nil {
		return nil
	}
	return l.tables[id]
}

func deriveUnary(n *planNode, in []origin) ([]origin, error) {
	switch n.Type {
	case "LOGICAL_PROJECTION":
		return refs(n.Expressions, in), nil
	case "LOGICAL_FILTER":
		return pick(in, n.ProjectionMap), nil
	case "LOGICAL_ORDER_BY":
		return pick(in, n.Projections), nil
	case "LOGICAL_LIMIT", "LOGICAL_TOP_N", "LOGICAL_DISTINCT", "LOGICAL_SAMPLE":
		return in, nil
	case "LOGICAL_WINDOW", "LOGICAL_UNNEST":
		return append(slices.Clone(in), make([]origin, len(n.Expressions))...), nil
	case "LOGICAL_AGGREGATE_AND_GROUP_BY":
		out := refs(n.Groups, in)
		if len(n.GroupingSets) > 1 {
			out = nulled(out)
		}
		return append(out, make([]origin, len(n.Expressions)+len(n.GroupingFunctions))...), nil
	}
	return nil, errUntraced
}

func deriveBinary(n *planNode, left, right []origin) ([]origin, error) {
	switch n.Type {
	case "LOGICAL_CROSS_PRODUCT":
		return slices.Concat(left, right), nil
	case "LOGICAL_POSITIONAL_JOIN":
		return slices.Concat(nulled(left), nulled(right)), nil
	case "LOGICAL_COMPARISON_JOIN", "LOGICAL_ANY_JOIN", "LOGICAL_DELIM_JOIN", "LOGICAL_DEPENDENT_JOIN", "LOGICAL_ASOF_JOIN":
		return join(n.JoinType, pick(left, n.LeftMap), pick(right, n.RightMap))
	case "LOGICAL_EXCEPT", "LOGICAL_INTERSECT":
		return left, nil
	case "LOGICAL_UNION":
		return union(left, right), nil
	}
	return nil, errUntraced
}

func join(kind string, left, right []origin) ([]origin, error) {
	switch kind {
	case "INNER":
		return slices.Concat(left, right), nil
	case "LEFT", "SINGLE":
		return slices.Concat(left, nulled(right)), nil
	case "RIGHT":
		return slices.Concat(nulled(left), right), nil
	case "OUTER", "FULL":
		return slices.Concat(nulled(left), nulled(right)), nil
	case "SEMI", "ANTI":
		return left, nil
	case "RIGHT_SEMI", "RIGHT_ANTI":
		return right, nil
	case "MARK":
		return append(slices.Clone(left), origin{}), nil
	}
	return nil, errUntraced
}

// union keeps a column only where both sides register the same field.
func union(left, right []origin) []origin {
	out := make([]origin, len(left))
	for i := range min(len(left), len(right)) {
		a, b := left[i], right[i]
		if a.column == nil || b.column == nil || !engine.SameType(a.column.field.Type, b.column.field.Type) ||
			!a.column.field.Metadata.Equal(b.column.field.Metadata) {
			continue
		}
		out[i] = origin{column: a.column, nullable: a.nullable || b.nullable || b.column.field.Nullable}
	}
	return out
}

func refs(exprs []planExpr, in []origin) []origin {
	out := make([]origin, len(exprs))
	for i, e := range exprs {
		if e.Class == "BOUND_REF" && e.Index >= 0 && e.Index < len(in) {
			out[i] = in[e.Index]
		}
	}
	return out
}

// pick applies a projection map; an empty one means all.
func pick(in []origin, ids []int) []origin {
	if len(ids) == 0 {
		return in
	}
	out := make([]origin, len(ids))
	for i, id := range ids {
		if id >= 0 && id < len(in) {
			out[i] = in[id]
		}
	}
	return out
}

func nulled(in []origin) []origin {
	out := slices.Clone(in)
	for i := range out {
		out[i].nullable = true
	}
	return out
}
