// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/gate"
)

// noRows is a table that is only planned with.
type noRows struct {
	engine.Table
	schema *arrow.Schema
}

func (t noRows) Schema() *arrow.Schema { return t.schema }
func (t noRows) Rows() uint64          { return 1000 }

// TestDirectPlansAreTheEngines: which path answers must not show in a schema.
func TestDirectPlansAreTheEngines(t *testing.T) {
	g := gate.New(sharedSQL, gate.DefaultLimits())
	schema := everyType()
	planned := 0
	for sql, direct := range map[string]bool{
		"SELECT * FROM lab.t":                                                      false, // it has a decimal
		"SELECT key FROM lab.t":                                                    true,
		"SELECT KEY, \"Text\" AS t, vec AS \"Vec\" FROM lab.t":                     true,
		"SELECT tags, pose, path, berlin_null, bytes, day FROM lab.t LIMIT 3":      true,
		"SELECT s, ms, us, ns, utc, u64, f32, b, i8_null FROM lab.t WHERE key = 3": true,
		"SELECT key FROM lab.t WHERE key = ? AND text < ?":                         true,
		"SELECT key FROM lab.t WHERE key = $2 AND i8 = $1":                         true,
		"SELECT key FROM lab.t WHERE key BETWEEN ?1 AND ?1":                        false,
		"SELECT key FROM lab.t WHERE key = $2":                                     false,
		"SELECT key FROM lab.t WHERE f64 = ?":                                      true,
		"SELECT key AS x, text AS X FROM lab.t":                                    false,
		"SELECT key AS text, text AS key FROM lab.t":                               true,
		"SELECT key FROM lab.t WHERE key = 'x'":                                    false,
		"SELECT key FROM lab.t WHERE text = 3":                                     false,
		"SELECT dec FROM lab.t":                                                    false,
	} {
		stmt, err := g.Check(t.Context(), sql)
		require.NoError(t, err, sql)
		require.NotNil(t, stmt.Direct, sql)
		got, ok := stmt.Direct.Plan(schema, nil)
		require.Equal(t, direct, ok, sql)
		if !ok {
			continue
		}
		planned++
		ref := engine.Name{Namespace: "lab", Table: "t"}
		want, err := sharedSQL.Plan(t.Context(), engine.Request{SQL: sql, Tables: map[engine.Name]engine.Table{ref: noRows{schema: schema}}})
		require.NoError(t, err, sql)
		require.True(t, want.Schema.Equal(got.Schema), "%s\nwant %s\ngot  %s", sql, want.Schema, got.Schema)
		require.True(t, want.Schema.Metadata().Equal(got.Schema.Metadata()), "%s\nwant %s\ngot  %s", sql, want.Schema, got.Schema)
		require.Equal(t, want.Parameters.String(), got.Parameters.String(), sql)
	}
	require.Greater(t, planned, 5)
}
