// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

const (
	// maxTraced is how many statements a slot remembers.
	maxTraced = 256
	// maxTracedSQL bounds the text of one, in bytes: who asks often asks briefly.
	maxTracedSQL = 8 << 10
)

// traces remembers where the columns of statements come from. To find it out
// DuckDB has to bind the statement twice more, which for a small one is a
// quarter of its time, and it depends on nothing but the text and the schemas.
type traces map[traceKey]traced

type traceKey struct {
	sql        string
	parameters bool
	names      string // of the tables, in order
}

// traced is what was found for a statement over tables of these schemas, which
// are kept because they are compared by identity.
type traced struct {
	schemas []*arrow.Schema
	sources []source
}

// source is an origin without the query: table counts in the order of names,
// and is -1 for a computed column.
type source struct {
	table, column int
	nullable      bool
}

// inOrder are the tables of a query, in the order of their names.
func (q *query) inOrder() ([]*boundTable, string) {
	tables := make([]*boundTable, 0, len(q.tables))
	for _, t := range q.tables {
		tables = append(tables, t)
	}
	slices.SortFunc(tables, func(a, b *boundTable) int { return strings.Compare(a.spelled(), b.spelled()) })
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.spelled()
	}
	return tables, strings.Join(names, "\x00")
}

// spelled is the name in a form that no other name has.
func (t *boundTable) spelled() string {
	return strings.Join([]string{t.name.Catalog, t.name.Namespace, t.name.Table}, "\x01")
}

// get returns the origins of a query's columns. The result may be nil even
// though it is known, where columns cannot be traced.
func (m traces) get(q *query, parameters bool) (origins []origin, known bool) {
	tables, names := q.inOrder()
	t, ok := m[traceKey{q.req.SQL, parameters, names}]
	if !ok || !slices.EqualFunc(tables, t.schemas, func(b *boundTable, s *arrow.Schema) bool { return b.table.Schema() == s }) {
		return nil, false
	}
	for _, s := range t.sources {
		o := origin{nullable: s.nullable}
		if s.table >= 0 {
			o.column = &tables[s.table].columns[s.column]
		}
		origins = append(origins, o)
	}
	return origins, true
}

// put remembers the origins of a query's columns.
func (m traces) put(q *query, parameters bool, origins []origin) {
	if len(q.req.SQL) > maxTracedSQL {
		return
	}
	if len(m) >= maxTraced {
		clear(m)
	}
	tables, names := q.inOrder()
	t := traced{schemas: make([]*arrow.Schema, len(tables))}
	for i, b := range tables {
		t.schemas[i] = b.table.Schema()
	}
	for _, o := range origins {
		t.sources = append(t.sources, sourceOf(o, tables))
	}
	m[traceKey{strings.Clone(q.req.SQL), parameters, names}] = t
}

func sourceOf(o origin, tables []*boundTable) source {
	for i, t := range tables {
		for k := range t.columns {
			if o.column == &t.columns[k] {
				return source{i, k, o.nullable}
			}
		}
	}
	return source{table: -1, nullable: o.nullable}
}
