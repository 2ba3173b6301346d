// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFsck checks a live deployment through its metadata server, and the same
// data at rest, before and after something is lost.
func TestFsck(t *testing.T) {
	d := startDev(t, t.TempDir(), "--no-temporal")
	d.must(t, "table", "create", "robots.episodes", "--column", "n:i64")
	csv := filepath.Join(t.TempDir(), "n.csv")
	for range 3 {
		writeFile(t, csv, "n\n1\n2\n")
		d.must(t, "ingest", "robots.episodes", csv)
	}
	objects := "file://" + filepath.Join(d.dir, "objects")
	fsck := func(metastore string, args ...string) (out, said string, status int) {
		cmd := exec.Command(lakeBin, append([]string{"fsck", "--metastore", metastore, "--objects", objects, "--format", "csv"}, args...)...)
		cmd.Env = withoutLake()
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run() // its status says it
		return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
	}
	out, said, status := fsck("lake://" + d.state.Meta)
	require.Zero(t, status, said)
	require.Contains(t, said, "1 table, 4 versions, 7 objects: 0 damaged, 0 other findings")
	require.Equal(t, "table,version,problem,repaired,object,detail\n", out)
	require.Zero(t, d.stop(t))

	files, err := filepath.Glob(filepath.Join(d.dir, "objects/robots/episodes/*/data/*"))
	require.NoError(t, err)
	require.Len(t, files, 3)
	require.NoError(t, os.Remove(files[0]))
	rest := "pebble://" + filepath.Join(d.dir, "metastore")
	for _, what := range [][]string{nil, {"robots"}, {"robots.episodes"}} {
		out, said, status = fsck(rest, what...)
		require.Equal(t, 1, status)
		require.Contains(t, out, "missing,no,robots/episodes/")
		require.Contains(t, out, filepath.Base(files[0]))
		require.Contains(t, said, "something promised is not there")
	}
	_, said, status = fsck(rest, "robots.nothing")
	require.Equal(t, 1, status)
	require.Contains(t, said, "no table robots.nothing")
	_, said, status = fsck("mysql://x")
	require.Equal(t, 2, status)
	require.Contains(t, said, "mysql")
}
