// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/gate"
)

const keywordsHead = `# Words that DuckDB puts into quotes where it writes them as names: the keywords of the
# linked DuckDB.
# Written by go test -run TestTheKeywords -update.
`

// TestTheKeywords fails when a new DuckDB has others.
func TestTheKeywords(t *testing.T) {
	list, count := &strings.Builder{}, 0
	err := sharedSQL.Execute(t.Context(), sqlengine.Request{SQL: "SELECT DISTINCT keyword_name FROM duckdb_keywords() ORDER BY 1"}, func(rec arrow.RecordBatch) error {
		for i := range int(rec.NumRows()) {
			count++
			list.WriteString(rec.Column(0).(*array.String).Value(i) + "\n")
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, count, 400)
	requireListed(t, "direct/keywords.txt", keywordsHead+list.String())
}

// TestCallsAreNamedAsTheEngineNamesThem: a result's column without AS has the call
// as its name, and names are written in many ways.
func TestCallsAreNamedAsTheEngineNamesThem(t *testing.T) {
	g := gate.New(sharedSQL, gate.DefaultLimits())
	names := []string{"plain", "Camel", "_x", "x9", "9x", "a b", "ä", `q"uote`, "x$", "a-b", "", "KEY", "date", "count", "select", "Name", "x.y", "日本"}
	for _, word := range strings.Fields("key name value type year left order group match index limit offset position at by over rows current_date") {
		names = append(names, word, strings.ToUpper(word[:1])+word[1:])
	}
	for _, name := range names {
		if name == "" {
			continue
		}
		id := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		schema := arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: name + "_b", Type: arrow.FixedWidthTypes.Boolean}}, nil)
		filter := `"` + strings.ReplaceAll(name+"_b", `"`, `""`) + `"`
		requireSamePlan(t, g, schema, "SELECT max("+id+"), Count(*), COUNT(7), mean("+id+") FILTER (WHERE "+filter+"), count(*) FILTER (WHERE "+filter+") FROM lab.t")
	}
}

// requireSamePlan compares the plan of a statement that is answered directly with
// the engine's.
func requireSamePlan(t *testing.T, g *gate.Gate, schema *arrow.Schema, sql string) {
	t.Helper()
	stmt, err := g.Check(t.Context(), sql)
	require.NoError(t, err, sql)
	require.NotNil(t, stmt.Direct, sql)
	got, ok := stmt.Direct.Plan(schema, nil)
	require.True(t, ok, sql)
	ref := sqlengine.Name{Namespace: "lab", Table: "t"}
	want, err := sharedSQL.Plan(t.Context(), sqlengine.Request{SQL: sql, Tables: map[sqlengine.Name]sqlengine.Table{ref: noRows{schema: schema}}})
	require.NoError(t, err, sql)
	require.True(t, want.Schema.Equal(got.Schema), "%s\nwant %s\ngot  %s", sql, want.Schema, got.Schema)
	require.True(t, want.Schema.Metadata().Equal(got.Schema.Metadata()), "%s\nwant %s\ngot  %s", sql, want.Schema, got.Schema)
	require.Equal(t, want.Parameters.String(), got.Parameters.String(), sql)
}
