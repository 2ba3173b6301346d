// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

var numbers = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)

func batchOf(values ...int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, numbers)
	defer b.Release()
	b.Field(0).(*array.Int64Builder).AppendValues(values, nil)
	return b.NewRecordBatch()
}

// TestKillMidDrop kills the process while it deletes objects and starts it
// again: the drop completes, no object is left, and the neighbour whose name
// begins the same keeps all of its own.
func TestKillMidDrop(t *testing.T) {
	dir := t.TempDir()
	d := startDev(t, dir)
	c := d.client(t)
	name, neighbour := lake.TableName{Namespace: "crash", Name: "t"}, lake.TableName{Namespace: "crash", Name: "t2"}
	for _, n := range []lake.TableName{name, neighbour} {
		_, err := c.CreateTable(t.Context(), n, numbers)
		require.NoError(t, err)
		_, err = c.Append(t.Context(), n, batchOf(1, 2, 3))
		require.NoError(t, err)
	}
	table, err := c.Table(t.Context(), name)
	require.NoError(t, err)
	// Enough objects that the deletion takes a while, as a table of millions
	// of files would.
	stuffed := filepath.Join(dir, "objects", string(table.Snapshot.Location), "data")
	for i := range 60_000 {
		require.NoError(t, os.WriteFile(filepath.Join(stuffed, fmt.Sprintf("stuffed-%06d.lance", i)), nil, 0o600))
	}

	drop, err := c.DropTable(t.Context(), name, sdk.DropOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(d.objects(t, "stuffed-")) < 60_000 }, time.Minute, time.Millisecond, "deletion never began")
	d.kill()
	left := len(d.objects(t, "stuffed-"))
	require.Positive(t, left, "the kill came too late to prove anything")

	d = startDev(t, dir)
	c = d.client(t)
	done := awaitProcedure(t, c, drop.Procedure)
	require.Equal(t, sdk.Completed, done.State, "%+v", done)
	require.Empty(t, d.objects(t, "objects/crash/t/"))
	require.EqualValues(t, 3, query(t, c, "SELECT * FROM crash.t2").NumRows())
	t.Logf("killed with %d objects left; epoch %d", left, done.Epoch)
}

// TestHotPathsWithoutTemporal stops the Temporal child with SIGSTOP, so that
// connections hang instead of failing, and uses everything that must not care.
func TestHotPathsWithoutTemporal(t *testing.T) {
	d := startDev(t, t.TempDir())
	c := d.client(t)
	name := lake.TableName{Namespace: "hot", Name: "t"}
	_, err := c.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)

	var servers []int // beside the engine slots
	for _, pid := range d.children(t) {
		if command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && !strings.Contains(string(command), "engine-slot") {
			servers = append(servers, pid)
		}
	}
	require.NotEmpty(t, servers, "lake dev supervises a Temporal server")
	for _, pid := range servers {
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	began := time.Now()
	res, err := c.Append(t.Context(), name, batchOf(1, 2, 3))
	require.NoError(t, err)
	require.EqualValues(t, 2, res.Version)
	require.EqualValues(t, 3, query(t, c, "SELECT * FROM hot.t").NumRows())
	_, err = c.Table(t.Context(), name)
	require.NoError(t, err)
	drop, err := c.DropTable(t.Context(), name, sdk.DropOptions{})
	require.NoError(t, err, "a drop returns its procedure's id whether Temporal answers or not")
	require.Less(t, time.Since(began), 15*time.Second)

	for _, pid := range servers {
		require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
	}
	require.Equal(t, sdk.Completed, awaitProcedure(t, c, drop.Procedure).State)
}

// TestKillMidAppends: every acknowledged append is there once after a kill.
func TestKillMidAppends(t *testing.T) {
	dir := t.TempDir()
	d := startDev(t, dir, "--no-temporal")
	name := lake.TableName{Namespace: "crash", Name: "appends"}
	_, err := d.client(t).CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	acked := map[int64]bool{}
	next := int64(0)
	for round := range 3 {
		c := d.client(t)
		stop := time.AfterFunc(time.Duration(200+round*150)*time.Millisecond, func() { _ = d.cmd.Process.Kill() })
		for {
			n := next
			next++
			ctx, cancel := contextWithTimeout(t, 3*time.Second)
			_, err := c.Append(ctx, name, batchOf(n))
			cancel()
			if err != nil {
				break
			}
			acked[n] = true
		}
		stop.Stop()
		d.kill()
		d = startDev(t, dir, "--no-temporal")
		seen := counts(query(t, d.client(t), "SELECT n, count(*) AS c FROM crash.appends GROUP BY n"))
		for n := range acked {
			require.EqualValues(t, 1, seen[n], "acknowledged append %d", n)
		}
		for n, c := range seen {
			require.EqualValues(t, 1, c, "append %d", n)
		}
	}
	require.NotEmpty(t, acked)
	// Versions are dense: one for the create, one for each append at most.
	table, err := d.client(t).Table(t.Context(), name)
	require.NoError(t, err)
	rows := query(t, d.client(t), "SELECT n FROM crash.appends").NumRows()
	require.EqualValues(t, rows+1, table.Snapshot.Version)
}

func counts(table arrow.Table) map[int64]int64 {
	out := map[int64]int64{}
	reader := array.NewTableReader(table, 0)
	defer reader.Release()
	for reader.Next() {
		b := reader.RecordBatch()
		for i := range int(b.NumRows()) {
			out[b.Column(0).(*array.Int64).Value(i)] = b.Column(1).(*array.Int64).Value(i)
		}
	}
	return out
}
