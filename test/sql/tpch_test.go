// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sqltest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTPCHAnswersAsDuckDBDoes runs the 22 queries of TPC-H at scale factor 0.1;
// LAKE_SQL_TPCH asks for another, such as 1.
func TestTPCHAnswersAsDuckDBDoes(t *testing.T) {
	factor := "0.1"
	if s := os.Getenv("LAKE_SQL_TPCH"); s != "" {
		factor = s
	}
	p, l := newPeer(t), startLake(t)
	server := l.query(t)
	c := client(t, server)
	data, err := os.ReadFile("testdata/tpch/data.sql")
	require.NoError(t, err)
	p.must(t, strings.ReplaceAll(string(data), "{{sf}}", factor))
	for _, table := range []string{"region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem"} {
		p.copyTo(t, server, "tpch."+table)
	}
	text, err := os.ReadFile("testdata/tpch/queries.sql")
	require.NoError(t, err)
	queries := strings.Split(string(text), "-- Q")[1:]
	require.Len(t, queries, 22)
	for _, q := range queries {
		name, sql, _ := strings.Cut(q, "\n")
		t.Run("Q"+name, func(t *testing.T) {
			n, err := compare(t.Context(), p, c, strings.TrimSpace(sql))
			require.NoError(t, err)
			require.Positive(t, n, "no rows prove nothing")
			got, err := ask(t.Context(), c, strings.TrimSpace(sql))
			require.NoError(t, err)
			require.NotEqual(t, rows{"NULL"}, got, "a sum over nothing proves nothing")
		})
	}
}
