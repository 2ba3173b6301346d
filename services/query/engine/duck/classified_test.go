// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/gate"
)

// TestEveryFunctionIsClassified fails when a new DuckDB brings a function
// nobody has looked at.
func TestEveryFunctionIsClassified(t *testing.T) {
	e := newEngine(t, Options{})
	got, _ := ask(t, e, "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro')")
	names := columnText(got, 0)
	require.Greater(t, len(names), 500)
	callable := 0
	for _, name := range names {
		ok, known := gate.Classify(name)
		require.True(t, known, "function %s is in neither functions.txt nor denied.txt", name)
		if ok {
			callable++
		}
	}
	require.Greater(t, callable, 400)
}

// TestFunctionsOfFROM: a table function is never callable as another kind
// unless it is one under the same name.
func TestFunctionsOfFROM(t *testing.T) {
	e := newEngine(t, Options{})
	got, _ := ask(t, e, `SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type NOT IN ('scalar', 'aggregate', 'macro')
		AND function_name NOT IN (SELECT function_name FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro'))`)
	g := gate.New(e, gate.DefaultLimits())
	for _, name := range columnText(got, 0) {
		if name == "unnest" {
			continue
		}
		ok, _ := gate.Classify(name)
		require.False(t, ok, "%s is callable", name)
		_, err := g.Check(context.Background(), "SELECT * FROM "+quote(name)+"('x')")
		require.Error(t, err, name)
	}
}

// TestDeclarations compiles duckdb_api.h next to the linked release's header.
func TestDeclarations(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/duckdb/duckdb-go-bindings").Output()
	if err != nil {
		t.Skipf("the module's directory is not known here: %v", err)
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skipf("no C compiler in the path: %v", err)
	}
	file := filepath.Join(t.TempDir(), "check.c")
	code := `#include "duckdb.h"
#include "duckdb_api.h"
#include "result.h"
_Static_assert(DUCKDB_TYPE_UBIGINT == 9, "UBIGINT");
`
	for name, id := range map[string]typeID{
		"BOOLEAN": tBoolean, "TINYINT": tTinyint, "BIGINT": tBigint, "TIMESTAMP": tTimestamp, "DATE": tDate, "TIME": tTime, "INTERVAL": tInterval,
		"HUGEINT": tHugeint, "VARCHAR": tVarchar, "BLOB": tBlob, "DECIMAL": tDecimal, "TIMESTAMP_S": tTimestampS, "TIMESTAMP_MS": tTimestampMS,
		"TIMESTAMP_NS": tTimestampNS, "ENUM": tEnum, "LIST": tList, "STRUCT": tStruct, "MAP": tMap, "UUID": tUUID, "UNION": tUnion, "BIT": tBit,
		"TIME_TZ": tTimeTZ, "TIMESTAMP_TZ": tTimestampTZ, "UHUGEINT": tUHugeint, "ARRAY": tArray, "ANY": tAny, "BIGNUM": tBignum,
		"SQLNULL": tSQLNull, "TIME_NS": tTimeNS, "GEOMETRY": tGeometry, "VARIANT": tVariant,
	} {
		code += "_Static_assert(DUCKDB_TYPE_" + name + " == " + strconv.Itoa(int(id)) + ", \"" + name + "\");\n"
	}
	require.NoError(t, os.WriteFile(file, []byte(code), 0o600))
	here, err := os.Getwd()
	require.NoError(t, err)
	msg, err := exec.Command(cc, "-fsyntax-only", "-Werror", "-I", filepath.Join(strings.TrimSpace(string(out)), "include"), "-I", here, file).CombinedOutput()
	require.NoError(t, err, "%s", msg)
}

// What the gate lets through must also run: the allow-lists and the engine
// agree on names.
func TestGatedStatementsRun(t *testing.T) {
	e := newEngine(t, Options{})
	g := gate.New(e, gate.DefaultLimits())
	tab := episodes(t)
	for _, sql := range []string{
		"SELECT id, upper(name), name.lower(), date_trunc('day', stamp), stamp AT TIME ZONE 'UTC' FROM ns.t",
		"SELECT list_transform([1, 2], lambda x: x + 1), [x FOR x IN [1, 2] IF x > 1], list_aggregate([1, 2], 'sum')",
		"SELECT count(*), count(DISTINCT id), string_agg(name, ',' ORDER BY id), quantile_cont(id, 0.5), approx_count_distinct(id) FROM ns.t",
		"SELECT id, lag(id) OVER (ORDER BY id), sum(id) OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM ns.t",
		"SELECT a.id FROM ns.t a SEMI JOIN ns.t b USING (id)", "FROM range(3) r(i), unnest([1, 2]) u(v)", "SELECT repeat('ab', 3), lpad('x', 5, '0'), printf('%05d', 3), format('{:>5}', 1)",
		"WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT max(n) FROM r", "PIVOT ns.t ON id IN (1, 2) USING count(*) GROUP BY name",
		"SELECT regexp_extract(name, 'p(.)', 1), name LIKE 'p%', name ^@ 'p', name SIMILAR TO 'p.*' FROM ns.t", "SELECT version(), current_schema(), uuid(), now()",
	} {
		p, err := g.Check(context.Background(), sql)
		require.NoError(t, err, sql)
		req := engine.Request{SQL: sql, Tables: map[engine.Name]engine.Table{}}
		for _, r := range p.References {
			req.Tables[engine.Name{Catalog: r.Catalog, Namespace: r.Schema, Table: r.Table}] = tab
		}
		_, _ = collect(t, e, req)
	}
}
