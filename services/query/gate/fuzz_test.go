// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"strings"
	"testing"

	"github.com/lakeplane/lake/lake"
)

// FuzzCheck looks for texts that crash the parser or the gate, and for ones
// that pass although the engine's tree shows something that never may.
func FuzzCheck(f *testing.F) {
	for _, c := range refusals {
		if len(c.sql) < 4096 {
			f.Add(c.sql)
		}
	}
	f.Add("WITH RECURSIVE r AS (SELECT 1 UNION ALL FROM r) SELECT list_transform(l, lambda x: x) FROM r, ns.t PIVOT (sum(a) FOR b IN (1))")
	f.Fuzz(func(t *testing.T, sql string) {
		p, err := check(sql)
		if err != nil {
			if k := lake.KindOf(err); k != lake.Invalid && k != lake.Exhausted {
				t.Fatalf("%q: %s: %v", sql, k, err)
			}
			return
		}
		tree, err := parser().SerializeSQL(t.Context(), textOf(sql, p.Body))
		if err != nil {
			t.Fatal(err)
		}
		for _, never := range []string{`"function_name":"read_`, `"function_name":"getenv"`, `"function_name":"query`, `"function_name":"duckdb_`, `"type":"BOUND_`} {
			if strings.Contains(string(tree), never) {
				t.Fatalf("%q passed with %s", sql, never)
			}
		}
	})
}

func textOf(sql, body string) string {
	if body != "" {
		return body
	}
	return sql
}
