// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/gate"
)

var update = flag.Bool("update", false, "write divide/functions.txt anew")

const dividedFunctions = "divide/functions.txt"

const dividedHead = `# Scalar functions that statements may call whose results are answered in parts:
# those of the linked DuckDB that the gate lets through and that are scalar and
# CONSISTENT in every form. Written by go test -run TestTheFunctionsOfParts -update.
`

// whyNot are functions that DuckDB calls consistent and that still depend on more
// than their arguments.
var whyNot = map[string]string{
	"stats":       "what is known of a column of the whole table",
	"vector_type": "how rows lie together in memory",
	"age":         "of one argument, the clock",

	"current_localtime":      "the clock",
	"current_localtimestamp": "the clock",
}

// TestTheFunctionsOfParts fails when a new DuckDB changes what is scalar and
// consistent.
func TestTheFunctionsOfParts(t *testing.T) {
	list := dividedHead + callable(t, "bool_and(function_type = 'scalar' AND stability = 'CONSISTENT')", whyNot)
	requireListed(t, dividedFunctions, list)
	for _, name := range []string{"random", "now", "sum", "count", "uuid", "unnest", "row_number", "current_date", "any_value", "first"} {
		require.NotContains(t, list, "\n"+name+"\n")
	}
	require.NotContains(t, list, "\ncurrent_", "the clock, or the session")
	require.Contains(t, list, "\nupper\n")
}

// functionsThat calls each with the names of those functions of the linked DuckDB
// whose forms together meet a condition, in their order.
func functionsThat(t *testing.T, having string, each func(name string)) {
	t.Helper()
	err := sharedSQL.Execute(t.Context(), sqlengine.Request{SQL: `SELECT lower(function_name) AS name FROM duckdb_functions()
		GROUP BY 1 HAVING ` + having + ` ORDER BY 1`}, func(rec arrow.RecordBatch) error {
		for i := range int(rec.NumRows()) {
			each(strings.Clone(rec.Column(0).(*array.String).Value(i)))
		}
		return nil
	})
	require.NoError(t, err)
}

// callable lists, a line each, those that the gate lets through, without some that
// are left out for a reason.
func callable(t *testing.T, having string, without map[string]string) string {
	t.Helper()
	var list strings.Builder
	functionsThat(t, having, func(name string) {
		if callable, _ := gate.Classify(name); callable && without[name] == "" {
			list.WriteString(name + "\n")
		}
	})
	return list.String()
}

// requireListed compares a file with what it should be, and writes it first where
// that was asked for.
func requireListed(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o600))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want, string(have), "%s is not that of the linked DuckDB: run this test with -update and read the difference", file)
}
