// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/services/query/gate"
	"github.com/lakeplane/lake/services/query/steady"
)

const steadyAggregates = "steady/aggregates.txt"

const steadyHead = `# Aggregate and window functions that statements may call whose result depends on their
# arguments alone: those of the linked DuckDB that the gate lets through and that
# are aggregates and CONSISTENT in every form.
# Written by go test -run TestTheSteadyFunctions -update.
`

// chance are aggregates that DuckDB calls consistent and that draw lots.
var chance = map[string]string{"reservoir_quantile": "keeps some of its values"}

// TestTheSteadyFunctions fails when a new DuckDB changes what is an aggregate and
// consistent, and when anything that is not consistent counts as steady.
func TestTheSteadyFunctions(t *testing.T) {
	list := steadyHead + callable(t, "bool_and(function_type = 'aggregate' AND coalesce(stability, 'CONSISTENT') = 'CONSISTENT')", chance)
	requireListed(t, steadyAggregates, list)
	changing := 0
	functionsThat(t, "bool_or(stability NOT IN ('CONSISTENT'))", func(name string) {
		changing++
		require.False(t, steady.Function(name), name)
	})
	require.Greater(t, changing, 10)
}

func TestSteadyStatements(t *testing.T) {
	g := gate.New(sharedSQL, gate.DefaultLimits())
	for sql, want := range map[string]bool{
		"SELECT a, sum(b) FROM ns.t WHERE c < 5 GROUP BY ALL ORDER BY 2 LIMIT 3":    true,
		"WITH x AS (SELECT max(a) AS m FROM ns.t) SELECT upper(m) FROM x":           true,
		"SELECT row_number() OVER (ORDER BY a), lag(a) OVER (ORDER BY b) FROM ns.t": true,
		"SELECT * FROM range(10), ns.t":                                             true,
		"SELECT list_transform([1, 2], lambda x: x + 1), [y FOR y IN [1, 2]]":       true,
		"SELECT count(*) FILTER (WHERE a > 1), quantile_cont(a, 0.5) FROM ns.t":     true,
		"SELECT a FROM ns.t WHERE b IN (SELECT b FROM ns.u) AND c = ?":              true,
		"SELECT now()":                                              false,
		"SELECT current_date":                                       false,
		"SELECT CURRENT_TIMESTAMP FROM ns.t":                        false,
		"SELECT localtimestamp":                                     false,
		"SELECT age(ts) FROM ns.t":                                  false,
		"SELECT a FROM ns.t WHERE ts > today() - INTERVAL 1 DAY":    false,
		"SELECT random() FROM ns.t":                                 false,
		"SELECT uuid()":                                             false,
		"SELECT a FROM ns.t ORDER BY random()":                      false,
		"SELECT * FROM (SELECT sum(random()) FROM ns.t)":            false,
		"WITH x AS (SELECT gen_random_uuid() AS u) SELECT u FROM x": false,
		"SELECT sum(a) OVER (ORDER BY random()) FROM ns.t":          false,
		"SELECT a FROM ns.t USING SAMPLE 10 ROWS":                   false,
		"SELECT a FROM ns.t TABLESAMPLE 10%":                        false,
		"SELECT * FROM information_schema.tables":                   false,
		"SELECT * FROM ns.t, INFORMATION_SCHEMA.columns":            false,
	} {
		p, err := g.Check(t.Context(), sql)
		require.NoError(t, err, sql)
		require.Equal(t, want, p.Steady, sql)
	}
}
