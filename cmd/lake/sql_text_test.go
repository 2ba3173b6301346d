// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestStatementsAreCutAtSemicolons(t *testing.T) {
	for _, c := range []struct {
		text      string
		statement string
		rest      string
		complete  bool
	}{
		{"", "", "", false},
		{"SELECT 1", "SELECT 1", "", false},
		{"SELECT 1;", "SELECT 1", "", true},
		{"SELECT 1; SELECT 2;", "SELECT 1", " SELECT 2;", true},
		{"SELECT ';';x", "SELECT ';'", "x", true},
		{"SELECT 'it''s;';x", "SELECT 'it''s;'", "x", true},
		{`SELECT ";";x`, `SELECT ";"`, "x", true},
		{"SELECT 1 -- ;\n;x", "SELECT 1 -- ;\n", "x", true},
		{"SELECT 1 /* ; /* ; */ ; */;x", "SELECT 1 /* ; /* ; */ ; */", "x", true},
		{"SELECT $$;$$;x", "SELECT $$;$$", "x", true},
		{"SELECT $a$;$$;$a$;x", "SELECT $a$;$$;$a$", "x", true},
		{"SELECT $1, $2;x", "SELECT $1, $2", "x", true},
		{"SELECT 'open;", "SELECT 'open;", "", false},
		{"SELECT /* open;", "SELECT /* open;", "", false},
	} {
		statement, rest, complete := cutStatement(c.text)
		require.Equal(t, []any{c.statement, c.rest, c.complete}, []any{statement, rest, complete}, c.text)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching("[a;'\"$/*\\- \n]{0,20}").Draw(t, "text")
		statement, rest, complete := cutStatement(text)
		whole := statement + rest
		if complete {
			whole = statement + ";" + rest
		}
		if whole != text {
			t.Fatalf("%q was cut into %q and %q", text, statement, rest)
		}
	})
}

func TestParametersOfTheCommandLine(t *testing.T) {
	for text, want := range map[string]any{
		"5": int64(5), "-7": int64(-7), "1.5": 1.5, "1e3": 1000.0, "true": true, "NULL": nil, "": "", "pick": "pick", "text:5": "5", "inf": "inf", "nano": "nano", "1a": "1a",
	} {
		require.Equal(t, want, parameter(text), "%q", text)
	}
	got := must(t, "sql", "--format", "json", "--param", "41", "--param", "text:41", "--param", "null", "SELECT ? + 1 AS a, ? AS b, ? AS c")
	require.Equal(t, `{"a":42,"b":"41","c":null}`+"\n", got)
	fails(t, 1, "has 1 parameters and none is bound", "sql", "SELECT ?::INTEGER")
}

func TestSQLPrintsAnArrowStream(t *testing.T) {
	out := must(t, "sql", "--format", "arrow", "SELECT 1::BIGINT AS x, 'a' AS y")
	r, err := ipc.NewReader(strings.NewReader(out))
	require.NoError(t, err)
	defer r.Release()
	require.True(t, r.Next())
	require.Equal(t, "x", r.Schema().Field(0).Name)
	require.EqualValues(t, 1, r.RecordBatch().NumRows())
	fails(t, 2, "want table, json or csv", "table", "list", "--format", "arrow")
	fails(t, 2, "want table, json, csv or arrow", "sql", "SELECT 1", "--format", "xml")
}

func TestSQLRunsTheStatementsOfItsInput(t *testing.T) {
	var out, errs bytes.Buffer
	script := "SELECT 1 AS x; -- one\n/* nothing */;\nSELECT 'a;b' AS y;\nSELECT 3 AS z"
	code := run(t.Context(), []string{"sql", "--format", "csv", "--timing=false", "--addr", served.State().Query}, strings.NewReader(script), &out, &errs)
	require.Zero(t, code, errs.String())
	require.Equal(t, "x\n1\ny\na;b\nz\n3\n", out.String())
	require.Empty(t, errs.String())
	out.Reset()
	code = run(t.Context(), []string{"sql", "--format", "csv", "--addr", served.State().Query}, strings.NewReader("SELECT 1 AS x; SELEC 2; SELECT 3"), &out, &errs)
	require.Equal(t, 1, code)
	require.Equal(t, "x\n1\n", out.String(), "up to the first that fails")
}

func TestHistoryKeepsStatementsOnOneLine(t *testing.T) {
	h := &history{path: filepath.Join(t.TempDir(), "new", "sql_history")}
	h.remember("SELECT\n  1;")
	h.remember("SELECT\n  1;") // once
	h.remember("SELECT 'a  b',\n 2;")
	h.remember("SELECT 1 -- note\n, 2;")
	require.Equal(t, []string{"SELECT 1;", "SELECT 'a  b',  2;", "SELECT 1 -- note", ", 2;"}, h.entries)
	for i := range maxHistory + 5 {
		h.remember(fmt.Sprint("SELECT ", i, ";"))
	}
	require.Equal(t, maxHistory, h.Len())
	require.Equal(t, fmt.Sprint("SELECT ", maxHistory+4, ";"), h.At(0))
}
