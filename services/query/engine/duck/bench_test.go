// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/services/query/engine"
)

// BenchmarkSmallQuery is the fixed cost of a statement over one small table:
// views, binding, lineage, execution, rollback.
func BenchmarkSmallQuery(b *testing.B) {
	e := newEngine(b, Options{Threads: 1})
	tab := episodes(b)
	for name, req := range map[string]engine.Request{
		"none":    {SQL: "SELECT 1"},
		"lineage": {SQL: "SELECT id, name FROM ns.t WHERE id > 1", Tables: tables("t", tab)},
		"plain":   {SQL: "SELECT id, val FROM ns.t WHERE id > 1", Tables: tables("t", numbers(3, 3))},
	} {
		b.Run("execute/"+name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, e.Execute(context.Background(), req, discard))
			}
		})
		b.Run("plan/"+name, func(b *testing.B) {
			for b.Loop() {
				_, err := e.Plan(context.Background(), req)
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	e := newEngine(b, Options{})
	for b.Loop() {
		_, err := e.SerializeSQL(context.Background(), "SELECT a, count(*) FROM ns.t WHERE b > 1 GROUP BY a ORDER BY 2 LIMIT 10")
		require.NoError(b, err)
	}
}
