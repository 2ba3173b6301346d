// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
)

// column is one field of a bound table and how it crosses into DuckDB.
type column struct {
	field  arrow.Field
	typ    logical
	layout layout
}

// boundTable is one table of a running query, known to C by its id.
type boundTable struct {
	id      uint64
	name    engine.Name
	table   engine.Table
	columns []column
	query   *query
}

// query is everything the callbacks of one statement share.
type query struct {
	ctx  context.Context
	stop context.CancelCauseFunc
	// dry makes scans end at once: the statement is only being planned.
	dry    bool
	req    engine.Request
	tables map[uint64]*boundTable

	mu    sync.Mutex
	cause error // the first error of a callback
}

// fail keeps the first error, which explains what DuckDB then reports.
func (q *query) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.cause == nil {
		q.cause = err
	}
}

func (q *query) failure() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.cause
}

// bindTables translates the schemas of the request's tables. Names that SQL
// cannot tell apart, of which some may say the catalog, must mean the same table.
func (q *query) bindTables(catalog string, ids func() uint64) ([]*boundTable, error) {
	seen := map[engine.Name]engine.Table{}
	var bound []*boundTable
	for _, name := range q.names() {
		key, table := foldName(name, catalog), q.req.Tables[name]
		if other, ok := seen[key]; ok {
			if !sameTable(other, table) {
				return nil, lake.Errorf(lake.Invalid, "table %q: another table of the statement differs only by letter case, which SQL ignores", name.Table)
			}
			continue
		}
		seen[key] = table
		columns, err := bindColumns(table.Schema())
		if err != nil {
			return nil, lake.Wrap("table "+dotted(name), err)
		}
		b := &boundTable{id: ids(), name: name, table: table, columns: columns, query: q}
		q.tables[b.id] = b
		bound = append(bound, b)
	}
	return bound, nil
}

// names are those of the request's tables, in an order that is always the same.
func (q *query) names() []engine.Name {
	return slices.SortedFunc(maps.Keys(q.req.Tables), func(a, b engine.Name) int {
		return cmp.Or(strings.Compare(a.Catalog, b.Catalog), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Table, b.Table))
	})
}

// foldName is the same for all names that mean one table of a catalog.
func foldName(n engine.Name, catalog string) engine.Name {
	return engine.Name{Catalog: strings.ToLower(cmp.Or(n.Catalog, catalog)), Namespace: strings.ToLower(n.Namespace), Table: strings.ToLower(n.Table)}
}

func dotted(n engine.Name) string {
	s := n.Table
	if n.Namespace != "" {
		s = n.Namespace + "." + s
	}
	if n.Catalog != "" {
		s = n.Catalog + "." + s
	}
	return s
}

func sameTable(a, b engine.Table) bool {
	t := reflect.TypeOf(a)
	return t == reflect.TypeOf(b) && t.Comparable() && a == b
}

func bindColumns(schema *arrow.Schema) ([]column, error) {
	if schema.NumFields() == 0 {
		return nil, lake.Errorf(lake.Unsupported, "a table without columns cannot be queried")
	}
	if err := checkDistinct("column", schema.Fields()); err != nil {
		return nil, err
	}
	columns := make([]column, schema.NumFields())
	for i, f := range schema.Fields() {
		typ, lay, err := scanType(f.Type)
		if err != nil {
			return nil, lake.Wrap("column "+f.Name, err)
		}
		columns[i] = column{field: f, typ: typ, layout: lay}
	}
	return columns, nil
}

// checkDistinct refuses names that SQL cannot tell apart: DuckDB would rename
// one of them without a word.
func checkDistinct(what string, fields []arrow.Field) error {
	seen := make(map[string]string, len(fields))
	for _, f := range fields {
		if strings.ContainsRune(f.Name, 0) || f.Name == "" || !utf8.ValidString(f.Name) {
			return lake.Errorf(lake.Unsupported, "%s name %q: SQL names are UTF-8, not empty, and hold no NUL", what, f.Name)
		}
		key := strings.ToLower(f.Name)
		if other, ok := seen[key]; ok {
			return lake.Errorf(lake.Unsupported, "%s names %q and %q differ at most by letter case, which SQL ignores", what, other, f.Name)
		}
		seen[key] = f.Name
	}
	return nil
}

// markers is the number of columns lake_scan declares before the table's own.
//
// DuckDB scans a statement that needs no column, such as count(*), through the
// first one. So the first is a marker without values, which views leave out
// and which costs no reading.
const markers = 1

// rowMarker is a name for the marker that no column of the table has.
func rowMarker(columns []column) string {
	name := "lake_row"
	for slices.ContainsFunc(columns, func(c column) bool { return strings.EqualFold(c.field.Name, name) }) {
		name += "_"
	}
	return name
}
