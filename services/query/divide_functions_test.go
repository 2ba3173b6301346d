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
	var list strings.Builder
	list.WriteString(dividedHead)
	err := sharedSQL.Execute(t.Context(), sqlengine.Request{SQL: `SELECT lower(function_name) AS name FROM duckdb_functions()
		GROUP BY 1 HAVING bool_and(function_type = 'scalar' AND stability = 'CONSISTENT') ORDER BY 1`}, func(rec arrow.RecordBatch) error {
		for i := range int(rec.NumRows()) {
			name := strings.Clone(rec.Column(0).(*array.String).Value(i))
			if callable, _ := gate.Classify(name); callable && whyNot[name] == "" {
				list.WriteString(name + "\n")
			}
		}
		return nil
	})
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(dividedFunctions, []byte(list.String()), 0o600))
	}
	have, err := os.ReadFile(dividedFunctions)
	require.NoError(t, err)
	require.Equal(t, list.String(), string(have), "%s is not that of the linked DuckDB: run this test with -update and read the difference", dividedFunctions)
	for _, name := range []string{"random", "now", "sum", "count", "uuid", "unnest", "row_number", "current_date", "any_value", "first"} {
		require.NotContains(t, list.String(), "\n"+name+"\n")
	}
	require.NotContains(t, list.String(), "\ncurrent_", "the clock, or the session")
	require.Contains(t, list.String(), "\nupper\n")
}
