// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/cmd/lake/devserver"
)

// versionRow is a row of `lake table versions` in JSON.
type versionRow struct {
	Version, Operations, Rows, Parts, Bytes uint64
	Made, Change                            string
	Tags                                    []string
}

func versionsOf(t *testing.T, printed string) (rows []versionRow) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(printed))
	for dec.More() {
		var r versionRow
		require.NoError(t, dec.Decode(&r))
		require.NotEmpty(t, r.Made)
		r.Made, r.Bytes = "", min(r.Bytes, 1)
		rows = append(rows, r)
	}
	return rows
}

func TestTableVersions(t *testing.T) {
	must(t, "table", "create", "robots.versions", "--column", "id:i64")
	for range 3 {
		must(t, "ingest", "robots.versions", put(t, "rows.csv", "id\n1\n2\n"))
	}
	want := []versionRow{
		{Version: 4, Operations: 1, Rows: 6, Parts: 3, Bytes: 1, Change: "append", Tags: []string{}},
		{Version: 3, Operations: 1, Rows: 4, Parts: 2, Bytes: 1, Change: "append", Tags: []string{}},
		{Version: 2, Operations: 1, Rows: 2, Parts: 1, Bytes: 1, Change: "append", Tags: []string{}},
		{Version: 1, Change: "create", Tags: []string{}},
	}
	require.Equal(t, want, versionsOf(t, must(t, "table", "versions", "robots.versions", "--format", "json")))
	require.Equal(t, want[:2], versionsOf(t, must(t, "table", "versions", "robots.versions", "--limit", "2", "-o", "json")))
	require.Contains(t, must(t, "table", "versions", "robots.versions"), "create")
	fails(t, 1, "list versions of table robots.none: no table robots.none", "table", "versions", "robots.none")
	fails(t, 2, "--limit -1: want 0 or more", "table", "versions", "robots.versions", "--limit", "-1")
	fails(t, 2, "", "table", "versions", "robots")
}

// TestTableCheck looks into a table of a stopped deployment, whole and damaged.
func TestTableCheck(t *testing.T) {
	dir := t.TempDir()
	server, err := devserver.Start(t.Context(), quiet(dir))
	require.NoError(t, err)
	addr := server.State().Query
	require.Zero(t, lakeAt(t, addr, "table", "create", "robots.checked", "--column", "id:i64").code)
	require.Zero(t, lakeAt(t, addr, "ingest", "robots.checked", put(t, "rows.csv", "id\n1\n")).code)
	require.NoError(t, server.Stop())

	check := func(args ...string) outcome {
		var out, errs bytes.Buffer
		args = append([]string{"table", "check", "robots.checked", "--metastore", "pebble://" + dir + "/metastore", "--objects", "file://" + dir + "/objects"}, args...)
		code := run(t.Context(), args, strings.NewReader(""), &out, &errs)
		return outcome{code, out.String(), errs.String()}
	}
	whole := check("--data")
	require.Zero(t, whole.code, whole.stderr)
	require.Contains(t, whole.stderr, "1 table, 2 versions, 3 objects: 0 damaged, 0 other findings")

	files, err := filepath.Glob(dir + "/objects/robots/checked/*/data/*.lance")
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.NoError(t, os.Chmod(files[0], 0o600))
	require.NoError(t, os.WriteFile(files[0], make([]byte, info.Size()-1), 0o600))
	// What was found counts, also when the rest cannot be looked at.
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{
		"fsck", "robots.checked", "robots.none", "--format", "json", "--metastore", "pebble://" + dir + "/metastore", "--objects", "file://" + dir + "/objects",
	}, strings.NewReader(""), &out, &errs)
	require.Equal(t, 1, code)
	require.Contains(t, errs.String(), "so far 1 table, 2 versions, 3 objects: 1 damaged, 0 other findings\nlake: no table robots.none\n")
	require.Contains(t, out.String(), filepath.Base(files[0]))

	require.NoError(t, os.WriteFile(files[0], make([]byte, info.Size()), 0o600))
	damaged := check("--format", "json")
	require.Equal(t, 1, damaged.code)
	require.Contains(t, damaged.stdout, `"problem":"damaged"`)
	require.Contains(t, damaged.stdout, filepath.Base(files[0]))
	require.Contains(t, damaged.stderr, "1 finding means that something promised is not there")
}
