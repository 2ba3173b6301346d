// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/engine/enginetest"
	"github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore/local"
)

// stockRead has the stock LanceDB client dump versions of a table, each to
// <version>.arrow in the folder out.
func stockRead(t *testing.T, dir, table, out string, versions ...string) {
	t.Helper()
	modules := os.Getenv("LAKE_NODE_MODULES")
	if modules == "" {
		modules, _ = filepath.Abs("../../test/interop/node_modules")
	}
	if _, err := os.Stat(filepath.Join(modules, "@lancedb", "lancedb")); err != nil {
		t.Skipf("no stock LanceDB to test against: %v (npm install in test/interop, or set LAKE_NODE_MODULES)", err)
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("no node to run stock LanceDB with: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := append([]string{"../../lance/testdata/lancedb.cjs", "read", dir, table, out}, versions...)
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "node %v\n%s", args, said)
	var got map[string]struct{ Version, Rows int }
	require.NoError(t, json.Unmarshal([]byte(lastLine(string(said))), &got))
	for _, v := range versions {
		require.Equal(t, v, fmt.Sprint(got[v].Version))
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

func jsonRows(t *testing.T, b arrow.RecordBatch) []string {
	t.Helper()
	text, err := b.MarshalJSON()
	require.NoError(t, err)
	var rows []json.RawMessage
	require.NoError(t, json.Unmarshal(text, &rows))
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = string(r)
	}
	return out
}

func readIPC(t *testing.T, path string) (out []string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r, err := ipc.NewFileReader(f)
	require.NoError(t, err)
	defer r.Close()
	for i := range r.NumRecords() {
		b, err := r.RecordBatch(i)
		require.NoError(t, err)
		out = append(out, jsonRows(t, b)...)
	}
	return out
}

// TestStockClientOpensEveryAcknowledgedVersion publishes versions of every
// kind; the stock client finds each by its number and reads the same rows.
func TestStockClientOpensEveryAcknowledgedVersion(t *testing.T) {
	root := t.TempDir()
	store, err := local.Open(root)
	require.NoError(t, err)
	defer store.Close()
	e, err := lance.New(lance.Options{Store: store, StatsBytes: 1}) // sidecars must not disturb it
	require.NoError(t, err)
	defer e.Close()
	tb := &table{t: t, e: e}
	inc := lake.NewID()
	name := lake.TableName{Namespace: "robots", Name: "episodes"}
	staged, err := e.Create(t.Context(), lake.Place(name, inc), inc, enginetest.Schema())
	require.NoError(t, err)
	tb.snap = staged.Snapshot
	require.NoError(t, e.Publish(t.Context(), tb.snap))
	snaps := []lake.Snapshot{tb.snap}
	publish := func(snap lake.Snapshot) {
		tb.snap = snap
		require.NoError(t, e.Publish(t.Context(), snap))
		snaps = append(snaps, snap)
	}
	publish(tb.stage(tb.data(0, 300)))
	publish(tb.stage(tb.data(300, 1), tb.data(301, 99), tb.data(400, 5)))
	publish(tb.stage())
	c, err := e.Compact(t.Context(), tb.snap)
	require.NoError(t, err)
	staged, err = e.StageCompaction(t.Context(), tb.snap, c)
	require.NoError(t, err)
	publish(staged.Snapshot)
	sidecars, err := filepath.Glob(filepath.Join(root, "robots", "episodes", "*", "_lake", "stats", "*.stats"))
	require.NoError(t, err)
	require.NotEmpty(t, sidecars)

	var versions []string
	for _, s := range snaps {
		versions = append(versions, fmt.Sprint(s.Version))
	}
	out := t.TempDir()
	stockRead(t, filepath.Join(root, "robots", "episodes"), inc.String(), out, versions...)
	for _, s := range snaps {
		require.Equal(t, scanRows(t, e, s), readIPC(t, filepath.Join(out, fmt.Sprintf("%d.arrow", s.Version))), "version %d", s.Version)
	}
}

func scanRows(t *testing.T, e *lance.Engine, snap lake.Snapshot) (out []string) {
	t.Helper()
	d, err := e.Open(t.Context(), snap)
	require.NoError(t, err)
	defer d.Close()
	s, err := d.Scan(t.Context(), engine.ScanOptions{Ordered: true})
	require.NoError(t, err)
	defer s.Close()
	for {
		b, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		out = append(out, jsonRows(t, b)...)
		b.Release()
	}
}
