// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/test/tpch"
)

// TestIngestQueryDrop is the thin line through the whole system: a real
// Parquet file in, the same values out through Flight SQL, and no object left
// after the drop.
func TestIngestQueryDrop(t *testing.T) {
	d := startDev(t, t.TempDir())
	file := filepath.Join(t.TempDir(), "lineitem.parquet")
	require.NoError(t, tpch.WriteParquet(file, 25_000, 7))

	d.must(t, "ingest", "demo.lineitem", file)
	c := d.client(t)
	got := query(t, c, "SELECT * FROM demo.lineitem ORDER BY l_orderkey, l_linenumber")
	want := readParquet(t, file)
	require.EqualValues(t, 25_000, got.NumRows())
	require.Equal(t, columns(want.Schema()), columns(got.Schema()))
	requireSameColumns(t, want, got)

	require.Contains(t, d.must(t, "table", "list"), "demo.lineitem")
	describe := d.must(t, "table", "describe", "demo.lineitem")
	require.Contains(t, describe, "l_extendedprice")
	require.NotEmpty(t, d.objects(t, "demo/lineitem"))

	name := lake.TableName{Namespace: "demo", Name: "lineitem"}
	drop, err := c.DropTable(t.Context(), name, sdk.DropOptions{Reason: "test"})
	require.NoError(t, err)
	_, err = c.Table(t.Context(), name)
	require.Equal(t, lake.NotFound, lake.KindOf(err), "a dropped table is gone at once: %v", err)
	require.Contains(t, drop.UIURL, d.state.TemporalUI)

	done := awaitProcedure(t, c, drop.Procedure)
	require.Equal(t, sdk.Completed, done.State, "%+v", done)
	require.Empty(t, d.objects(t, "demo/lineitem"))
	require.Contains(t, d.must(t, "procedure", "list"), "completed")
	require.Zero(t, d.stop(t))
}

func TestCommandLineByHand(t *testing.T) {
	d := startDev(t, t.TempDir(), "--no-temporal")
	d.must(t, "table", "create", "robots.episodes", "--column", "robot_id:utf8", "--column", "episode:i64", "--column", "reward:f64?")

	csv := filepath.Join(t.TempDir(), "episodes.csv")
	writeFile(t, csv, "robot_id,episode,reward\narm-1,1,0.5\narm-1,2,\narm-2,1,1.5\n")
	d.must(t, "ingest", "robots.episodes", csv)
	require.Equal(t, "robot_id,n,r\narm-1,2,0.5\narm-2,1,1.5\n", strings.ReplaceAll(
		d.must(t, "sql", "SELECT robot_id, count(*) AS n, sum(reward) AS r FROM robots.episodes GROUP BY ALL ORDER BY ALL", "--format", "csv"), "\r", ""))
	require.Contains(t, d.must(t, "table", "describe", "robots.episodes"), "robot_id")
}

func TestSelftest(t *testing.T) {
	d := startDev(t, t.TempDir())
	began := time.Now()
	require.Contains(t, d.must(t, "selftest"), "self-check ok")
	require.Less(t, time.Since(began), 30*time.Second)
	require.Empty(t, d.objects(t, ".lance/"))
}

// TestBadInput: one clear error each, exit status 1 or 2, nothing half-created.
func TestBadInput(t *testing.T) {
	d := startDev(t, t.TempDir(), "--no-temporal")
	good := filepath.Join(t.TempDir(), "good.parquet")
	require.NoError(t, tpch.WriteParquet(good, 100, 1))
	whole := readFile(t, good)
	truncated := filepath.Join(t.TempDir(), "truncated.parquet")
	writeFile(t, truncated, whole[:len(whole)/2])
	text := filepath.Join(t.TempDir(), "text.parquet")
	writeFile(t, text, "this is no Parquet file")
	d.must(t, "table", "create", "ok.t", "--column", "a:i64", "--column", "b:utf8?")
	other := filepath.Join(t.TempDir(), "other.csv")
	writeFile(t, other, "a,c\n1,x\n")

	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"unknown type", []string{"table", "create", "x.t", "--column", "a:int99"}, "int99"},
		{"dots", []string{"table", "create", "...", "--column", "a:i64"}, "namespace"},
		{"slash", []string{"table", "create", "x.a/b", "--column", "a:i64"}, "'/'"},
		{"empty name", []string{"table", "create", "x.", "--column", "a:i64"}, "table name is empty"},
		{"long name", []string{"table", "create", "x." + strings.Repeat("t", 129), "--column", "a:i64"}, "at most 128"},
		{"look-alike", []string{"table", "create", "x.еpisodes", "--column", "a:i64"}, "'е'"},
		{"duplicate column", []string{"table", "create", "x.t", "--column", "a:i64", "--column", "a:utf8"}, `"a"`},
		{"no columns", []string{"table", "create", "x.t"}, "column"},
		{"unknown table", []string{"sql", "SELECT * FROM ok.missing"}, "ok.missing"},
		{"not a select", []string{"sql", "DELETE FROM ok.t"}, "SELECT"},
		{"two statements", []string{"sql", "SELECT 1; SELECT 2"}, "2 statements"},
		{"not parquet", []string{"ingest", "x.t", text}, "text.parquet"},
		{"truncated parquet", []string{"ingest", "x.t", truncated}, "truncated.parquet"},
		{"missing file", []string{"ingest", "x.t", "/nonexistent.parquet"}, "nonexistent"},
		{"schema mismatch", []string{"ingest", "ok.t", other}, `"c"`},
		{"unknown drop", []string{"table", "drop", "x.t", "--yes"}, "x.t"},
		{"unknown describe", []string{"table", "describe", "x.t"}, "x.t"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := d.lake(t, c.args...)
			require.Contains(t, []int{1, 2}, r.code, "stdout %s stderr %s", r.stdout, r.stderr)
			require.Contains(t, r.stderr, c.says)
			require.Empty(t, r.stdout, "data goes to stdout, errors to stderr")
			require.NotContains(t, r.stderr, "panic")
		})
	}
	require.Equal(t, 1, strings.Count(d.must(t, "table", "list", "--format", "csv"), "\n")-1, "only ok.t exists")
	require.Empty(t, d.objects(t, "objects/x/"), "nothing half-created")
}

func query(t *testing.T, c *sdk.Client, sql string) arrow.Table {
	t.Helper()
	r, err := c.Query(t.Context(), sql)
	require.NoError(t, err)
	defer r.Release()
	var batches []arrow.RecordBatch
	for b, err := range r.Batches() {
		require.NoError(t, err)
		b.Retain()
		batches = append(batches, b)
	}
	table := array.NewTableFromRecords(r.Schema(), batches)
	t.Cleanup(table.Release)
	return table
}

func readParquet(t *testing.T, path string) arrow.Table {
	t.Helper()
	table, err := pqarrow.ReadTable(t.Context(), strings.NewReader(readFile(t, path)), parquet.NewReaderProperties(memory.DefaultAllocator), pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	require.NoError(t, err)
	t.Cleanup(table.Release)
	return table
}

// columns describes names and types; metadata and nullability are compared
// where they matter.
func columns(s *arrow.Schema) []string {
	var out []string
	for _, f := range s.Fields() {
		out = append(out, f.Name+" "+f.Type.String())
	}
	return out
}

func requireSameColumns(t *testing.T, want, got arrow.Table) {
	t.Helper()
	for i := range int(want.NumCols()) {
		w, g := want.Column(i), got.Column(i)
		require.True(t, array.ChunkedEqual(w.Data(), g.Data()), "column %s differs", w.Name())
	}
}

// awaitProcedure watches until the procedure has ended.
func awaitProcedure(t *testing.T, c *sdk.Client, id sdk.ProcedureID) sdk.Procedure {
	t.Helper()
	// After a kill the dead attempt's heartbeat times out first, then its lease.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var last sdk.Procedure
	for p, err := range c.WatchProcedure(ctx, id, 50*time.Millisecond) {
		require.NoError(t, err, "last seen: %+v", last)
		last = p
	}
	return last
}
