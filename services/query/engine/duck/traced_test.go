// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
)

// What is remembered of a statement is not taken for the same text over other
// tables.
func TestTracesKnowTheirTables(t *testing.T) {
	e := newEngine(t, Options{})
	const sql = "SELECT id, max(name) AS m FROM ns.t GROUP BY id"
	plain := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int32},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	other := newTable(plain, jsonBatch(t, plain, `[{"id":7,"name":"x"}]`))
	tab := episodes(t)
	for range 3 {
		_, s := ask(t, e, sql, "t", tab)
		require.Equal(t, "id", originOf(s.Field(0)))
		_, s = ask(t, e, sql, "t", other)
		require.Equal(t, arrow.Field{Name: "id", Type: arrow.PrimitiveTypes.Int32}, s.Field(0))
		_, s = ask(t, e, sql, "t", tab, "unused", other)
		require.Equal(t, "id", originOf(s.Field(0)))
	}
}

func TestTracesAreBounded(t *testing.T) {
	e := newEngine(t, Options{})
	tab := episodes(t)
	for i := range maxTraced + 3 {
		ask(t, e, fmt.Sprintf("SELECT id FROM ns.t LIMIT %d", i), "t", tab)
	}
	ask(t, e, "SELECT id FROM ns.t -- "+strings.Repeat("long ", maxTracedSQL/5), "t", tab)
	s := <-e.free
	require.Len(t, s.traces, 3)
	for key, found := range s.traces {
		require.Equal(t, []source{{table: 0, column: 0}}, found.sources, key.sql)
	}
	e.free <- s
}
