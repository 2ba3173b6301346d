// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
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
