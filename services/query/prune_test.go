// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	lanceengine "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/services/query"
)

// fragments are the counts of lake_query_fragments_total.
func fragments(t *testing.T, r *prometheus.Registry) (read, skipped float64) {
	t.Helper()
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != "lake_query_fragments_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetLabel()[0].GetValue() == "read" {
				read = m.GetCounter().GetValue()
			} else {
				skipped = m.GetCounter().GetValue()
			}
		}
	}
	return read, skipped
}

// TestFragmentsThatCannotMatchAreNotRead: a table of twenty fragments of rows in
// order, asked for some of them, in the ways people ask.
func TestFragmentsThatCannotMatchAreNotRead(t *testing.T) {
	s := newStack(t, func(o *lanceengine.Options) { o.HoldBytes, o.StatsBytes = -1, 1 })
	metrics := prometheus.NewRegistry()
	pruned := &stack{addr: s.replica(t, func(o *query.Options) { o.Metrics = metrics })}
	c := pruned.client(t)
	name := create(t, pruned.catalog(t), "lab.ordered", simple)
	const each, appends = 10, 20
	for i := range appends {
		var text string
		for j := range each {
			id := i*each + j
			text += fmt.Sprintf(`,{"id":%d,"note":"n%03d"}`, id, id)
		}
		_, err := appendRows(t, c, name, rows(t, simple, "["+text[1:]+"]"), false)
		require.NoError(t, err)
	}
	cases := []struct {
		sql     string
		rows    int64
		skipped float64
	}{
		{"SELECT * FROM lab.ordered", 200, 0},
		{"SELECT * FROM lab.ordered WHERE id = 57", 1, 19},
		{"SELECT * FROM lab.ordered WHERE id BETWEEN 55 AND 64", 10, 18},
		{"SELECT * FROM lab.ordered WHERE id >= 195 AND note LIKE 'n19%'", 5, 19},
		{"SELECT * FROM lab.ordered WHERE id IN (3, 103, 1000)", 2, 18},
		{"SELECT * FROM lab.ordered WHERE id < 5 OR note > 'n197'", 7, 18},
		{"SELECT * FROM lab.ordered WHERE note IS NULL", 0, 20},
		{"SELECT * FROM lab.ordered WHERE id % 7 = 100", 0, 0},
		{"SELECT a.id FROM lab.ordered a JOIN lab.ordered b ON a.id = b.id + 100 WHERE a.id = 150 AND b.id < 60", 1, 13},
		{"SELECT max(id) FROM lab.ordered WHERE id > 1000", 1, 20},
		{"SELECT id FROM lab.ordered WHERE id < 2 UNION ALL SELECT id FROM LAB.Ordered WHERE id > 197", 4, 18},
	}
	for _, q := range cases {
		t.Run(q.sql, func(t *testing.T) {
			readBefore, before := fragments(t, metrics)
			require.Equal(t, q.rows, mustRun(t, c, q.sql).rows())
			read, after := fragments(t, metrics)
			require.Equal(t, q.skipped, after-before)
			if q.skipped > 0 {
				require.Equal(t, appends-q.skipped, read-readBefore)
			}
		})
	}
	t.Run("with a parameter", func(t *testing.T) {
		stmt, err := c.Prepare(t.Context(), "SELECT note FROM lab.ordered WHERE id = ?")
		require.NoError(t, err)
		defer func() { require.NoError(t, stmt.Close(t.Context())) }()
		stmt.SetParameters(rows(t, one("1", arrow.PrimitiveTypes.Int64), `[{"1":123}]`))
		_, before := fragments(t, metrics)
		info, err := stmt.Execute(t.Context())
		require.NoError(t, err)
		got, err := fetch(t, t.Context(), c, info)
		require.NoError(t, err)
		require.Equal(t, "{\"note\":\"n123\"}\n", got.json(t))
		_, after := fragments(t, metrics)
		require.Equal(t, 19.0, after-before)
	})
}

// A sample is taken of all rows, and the condition chooses among those: were only
// the rows read that may meet it, all of the sample would.
func TestSamplesAreOfTheWholeTable(t *testing.T) {
	s := newStack(t)
	c := s.client(t)
	_, err := c.ExecuteIngest(t.Context(), many(t, 20_000), ingestOptions(flightsql.TableDefinitionOptionsTableNotExistOptionCreate, flightsql.TableDefinitionOptionsTableExistsOptionAppend))
	require.NoError(t, err)
	for _, sql := range []string{
		"SELECT id FROM lab.bulk WHERE id < 100 USING SAMPLE 100 ROWS",
		"SELECT a.id FROM lab.bulk a JOIN lab.bulk b ON a.id = b.id WHERE b.id < 100 USING SAMPLE 100 ROWS",
		"SELECT id FROM lab.bulk TABLESAMPLE RESERVOIR(100 ROWS) WHERE id < 100",
	} {
		require.Less(t, mustRun(t, c, sql).rows(), int64(20), "every second time it is one row: %s", sql)
	}
}
