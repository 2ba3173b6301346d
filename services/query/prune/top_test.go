// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package prune_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/prune"
	"github.com/lakeplane/lake/services/query/rowfilter"
)

// first is what a statement wants of the table t, whose schema is given.
func (a *asker) first(sql string, schema *arrow.Schema) (prune.First, bool) {
	a.t.Helper()
	parsed, err := a.g.Check(a.t.Context(), sql)
	require.NoError(a.t, err, sql)
	return parsed.Filters.First(func(r prune.Ref) (prune.Table, bool) {
		return prune.Table{ID: 5, Schema: schema}, strings.EqualFold(r.Table, "t")
	})
}

func TestFirst(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64},
		{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64})},
	}, nil)
	a := newAsker(t, nil)
	for sql, want := range map[string]prune.First{
		"SELECT * FROM ns.t ORDER BY x LIMIT 10":                              {Column: 1, Rows: 10},
		"SELECT id, x FROM ns.t ORDER BY X DESC, id LIMIT 10 OFFSET 5":        {Column: 1, Rows: 15, Descending: true},
		"SELECT id FROM ns.t u ORDER BY u.x ASC NULLS LAST LIMIT 1":           {Column: 1, Rows: 1},
		`SELECT "id" FROM ns.t ORDER BY ns.t.id DESC NULLS LAST LIMIT 2`:      {Column: 0, Rows: 2, Descending: true},
		"SELECT x, *, s.x FROM ns.t ORDER BY id DESC, lower('a'), 3 LIMIT 20": {Column: 0, Rows: 20, Descending: true},
	} {
		want.Table = 5
		got, ok := a.first(sql, schema)
		require.True(t, ok, sql)
		require.Equal(t, want, got, sql)
	}
	for _, sql := range []string{
		"SELECT * FROM ns.t", "SELECT * FROM ns.t LIMIT 10", "SELECT * FROM ns.t ORDER BY x", "SELECT * FROM ns.t ORDER BY x LIMIT 0",
		"SELECT * FROM ns.t ORDER BY x NULLS FIRST LIMIT 10", "SELECT * FROM ns.t ORDER BY -x LIMIT 10", "SELECT * FROM ns.t ORDER BY 1 LIMIT 10", "SELECT * FROM ns.t ORDER BY ALL LIMIT 10",
		"SELECT * FROM ns.t WHERE id > 1 ORDER BY x LIMIT 10", "SELECT DISTINCT x FROM ns.t ORDER BY x LIMIT 10", "SELECT -x AS x FROM ns.t ORDER BY x LIMIT 10",
		"SELECT id AS x FROM ns.t ORDER BY x LIMIT 10", "SELECT x + 1 FROM ns.t ORDER BY x LIMIT 10", "SELECT max(x) FROM ns.t ORDER BY x LIMIT 10", "SELECT * REPLACE (-x AS x) FROM ns.t ORDER BY x LIMIT 10",
		"SELECT * RENAME (id AS x, x AS y) FROM ns.t ORDER BY x LIMIT 10",
		"SELECT x FROM ns.t GROUP BY x ORDER BY x LIMIT 10", "SELECT x, row_number() OVER () FROM ns.t ORDER BY x LIMIT 10", "SELECT x FROM ns.t QUALIFY row_number() OVER () = 1 ORDER BY x LIMIT 10",
		"SELECT a.x FROM ns.t a, ns.t b ORDER BY a.x LIMIT 10", "SELECT * FROM (FROM ns.t) ORDER BY x LIMIT 10", "SELECT x FROM ns.t UNION ALL SELECT x FROM ns.t ORDER BY x LIMIT 10",
		"SELECT * FROM ns.t ORDER BY x LIMIT 10%", "SELECT * FROM ns.t ORDER BY x LIMIT 5 + 5", "SELECT * FROM ns.t ORDER BY x LIMIT 3000000000", "SELECT * FROM ns.t ORDER BY x LIMIT (SELECT 3)",
		"SELECT * FROM ns.t USING SAMPLE 5 ORDER BY x LIMIT 10", "SELECT * FROM ns.t TABLESAMPLE 5 ROWS ORDER BY x LIMIT 10", "SELECT * FROM ns.t u(x, id) ORDER BY x LIMIT 10", "SELECT * FROM ns.t ORDER BY y LIMIT 10",
		"SELECT * FROM ns.t s ORDER BY s.x LIMIT 10", "WITH t AS (SELECT 1 AS x) SELECT * FROM t ORDER BY x LIMIT 10", "SELECT (SELECT x FROM ns.t ORDER BY x LIMIT 1)",
	} {
		if _, err := a.g.Check(t.Context(), sql); err != nil {
			continue // no statement at all here
		}
		_, ok := a.first(sql, schema)
		require.False(t, ok, sql)
	}
}

// TestTheFirstRowsAreTheSame: a statement answers the same over the rows that
// are left to it as over all.
func TestTheFirstRowsAreTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	less := 0
	for range 5 {
		a := newAsker(t, map[string]rows{"t": table(t, r, 400)})
		tab := a.tables["t"]
		for _, f := range tab.Schema().Fields() {
			for _, order := range []string{"", "DESC", "DESC NULLS LAST", "ASC NULLS FIRST"} {
				sql := fmt.Sprintf(`SELECT "%s" FROM ns.t ORDER BY "%s" %s LIMIT %d OFFSET %d`, f.Name, f.Name, order, 1+r.IntN(20), r.IntN(3))
				want, err := a.ask(sql, a.tables, nil)
				require.NoError(t, err, sql)
				first, ok := a.first(sql, tab.Schema())
				if !ok || !rowfilter.Sortable(f.Type) {
					continue
				}
				less++
				got := a.over(sql, rowfilter.NewFirst(tab, rowfilter.Order{Column: first.Column, Descending: first.Descending, Rows: int(first.Rows)}))
				require.Equal(t, withoutSign(want), withoutSign(got), sql)
			}
		}
	}
	require.Greater(t, less, 40)
}

// withoutSign makes zeros one: they are equal, so either may be among the first.
func withoutSign(rows []string) []string {
	out := slices.Clone(rows)
	for i, r := range out {
		if r == "-0|" {
			out[i] = "0|"
		}
	}
	slices.Sort(out)
	return out
}

func (a *asker) over(sql string, table sqlengine.Table) (out []string) {
	a.t.Helper()
	req := sqlengine.Request{SQL: sql, Tables: map[sqlengine.Name]sqlengine.Table{{Namespace: "ns", Table: "t"}: table}}
	require.NoError(a.t, a.e.Execute(a.t.Context(), req, func(batch arrow.RecordBatch) error {
		for i := range int(batch.NumRows()) {
			out = append(out, batch.Column(0).ValueStr(i)+"|")
		}
		return nil
	}))
	slices.Sort(out)
	return out
}
