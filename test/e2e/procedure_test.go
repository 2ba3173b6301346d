// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/devtemporal"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// shown is what `lake procedure show -o json` prints.
type shown struct {
	Procedure, State, Phase, UI string
	Counters                    map[string]int64
	Stopped                     bool
	Rate                        float64
	Audit                       []struct{ Action, By, Reason, Phase, State string }
}

func (d *dev) show(t *testing.T, id string) (s shown) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(d.must(t, "procedure", "show", id, "-o", "json")), &s))
	return s
}

func (d *dev) awaitShown(t *testing.T, id string, want func(shown) bool) (s shown) {
	t.Helper()
	require.Eventually(t, func() bool { s = d.show(t, id); return want(s) }, time.Minute, 100*time.Millisecond)
	return s
}

// dropLarge makes a table with many files beside its own, drops it, and returns
// the id of the drop.
func (d *dev) dropLarge(t *testing.T, name lake.TableName, files int, args ...string) string {
	t.Helper()
	c := d.client(t)
	table, err := c.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	folder := filepath.Join(d.dir, "objects", string(table.Snapshot.Location), "extra")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for i := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%05d", i)), []byte("x"), 0o644))
	}
	out := d.must(t, append([]string{"table", "drop", name.String(), "--yes", "--format", "csv", "--undrop-window", "0"}, args...)...)
	return strings.Split(strings.Split(out, "\n")[1], ",")[2]
}

// TestOperatorsControlADrop slows a drop down while it runs, pauses it, lets it
// go on, cancels it and begins it again, all by the command line.
func TestOperatorsControlADrop(t *testing.T) {
	d := startDev(t, t.TempDir())
	name := lake.TableName{Namespace: "ops", Name: "big"}
	// The undrop window is the time to slow it down before it begins.
	id := d.dropLarge(t, name, 600, "--undrop-window", "3s", "--reason", "no longer of use")
	d.must(t, "procedure", "rate", id, "50", "--reason", "others read from this disk")
	s := d.awaitShown(t, id, func(s shown) bool { return s.Counters["objects_deleted"] > 0 })
	require.InDelta(t, 50, s.Rate, 0)
	require.Equal(t, "deleting-objects", s.Phase)
	require.Contains(t, s.UI, "/namespaces/lake/workflows/drop-table%2Fops%2Fbig%2F")

	require.Contains(t, d.must(t, "procedure", "pause", id, "--reason", "lunch"), "paused")
	held := d.awaitStill(t, id)
	require.Equal(t, "paused", held.State)
	require.Less(t, held.Counters["objects_deleted"], int64(600))
	require.Contains(t, d.must(t, "procedure", "list", "--state", "paused", "--format", "csv"), id)

	d.must(t, "procedure", "resume", id)
	moved := d.awaitShown(t, id, func(s shown) bool { return s.Counters["objects_deleted"] > held.Counters["objects_deleted"] })
	require.Less(t, moved.Counters["objects_deleted"], int64(600), "the bound is still in force")

	require.Equal(t, exitUsage, d.lake(t, "procedure", "cancel", id).code, "it needs a reason")
	r := d.lake(t, "procedure", "cancel", id, "--reason", "wrong table", "-o", "json")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "left behind: The tombstone and the objects that were not deleted yet")
	stopped := d.awaitStill(t, id)
	require.Equal(t, "cancelled", stopped.State)
	require.True(t, stopped.Stopped)
	time.Sleep(12 * time.Second) // a sweep passes, and leaves it alone
	require.Equal(t, stopped.Counters, d.show(t, id).Counters)
	require.NotEmpty(t, d.objects(t, "/ops/big/"))
	require.Equal(t, 1, d.lake(t, "procedure", "pause", id).code)

	d.must(t, "procedure", "retry", id, "--reason", "it was the right one")
	d.must(t, "procedure", "rate", id, "0")
	done := awaitProcedure(t, d.client(t), parsed(t, id))
	require.Equal(t, sdk.Completed, done.State, "%+v", done)
	require.Empty(t, d.objects(t, "/ops/big/"))
	var audit []string
	for _, e := range d.show(t, id).Audit {
		require.Equal(t, "developer", e.By)
		audit = append(audit, strings.TrimSpace(e.Action+" "+e.Reason))
	}
	require.Equal(t, []string{
		"start no longer of use", "set-rate others read from this disk", "pause lunch", "resume", "cancel wrong table",
		"retry it was the right one", "set-rate",
	}, audit)
	require.Equal(t, 1, d.lake(t, "procedure", "approve", id, "--reason", "why not").code, "a drop waits for no approval")
	require.Zero(t, d.stop(t))
}

const exitUsage = 2

// awaitStill waits until the counters of a procedure stay as they are.
func (d *dev) awaitStill(t *testing.T, id string) (s shown) {
	t.Helper()
	last := shown{}
	require.Eventually(t, func() bool {
		last, s = s, d.show(t, id)
		return s.Counters["objects_deleted"] == last.Counters["objects_deleted"] && last.Procedure != ""
	}, time.Minute, 3*time.Second)
	return s
}

func parsed(t *testing.T, id string) sdk.ProcedureID {
	t.Helper()
	p, err := sdk.ParseProcedureID(id)
	require.NoError(t, err)
	return p
}

// TestTemporalIsLost deletes Temporal's database under a running deployment and
// brings everything back by the command line.
func TestTemporalIsLost(t *testing.T) {
	c := newCluster(t)
	db := c.file("temporal.db")
	binary := os.Getenv(devtemporal.EnvBinary)
	first, err := devtemporal.Start(t.Context(), devtemporal.Options{Binary: binary, DBFile: db, Headless: true})
	require.NoError(t, err)
	c.temporal = first
	// What Temporal keeps is encrypted, and all that follows works with it.
	secret := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{'p'}, 32))
	writeFile(t, c.file("payload.json"), fmt.Sprintf(`{"active": %q}`, secret))
	temporal := append(c.temporalArgs(), "--temporal-payload-keys-file", c.file("payload.json"))
	meta := c.start(t, "meta", append(slices.Clone(temporal), "--metastore", "pebble://"+c.file("metastore"), "--listen", "127.0.0.1:0")...)
	q := c.start(t, "query", "--meta", meta.address, "--listen", "127.0.0.1:0").awaitReady(t)
	store := []string{"--metastore", "lake://" + meta.address}
	w := c.start(t, "worker", append(append(slices.Clone(temporal), store...), "--drop-settle", "1s", "--procedure-sweep-every", "1h")...).awaitReady(t)
	d := &dev{dir: c.dir, state: devState{Query: q.address}}

	ensure := append([]string{"worker", "ensure", "--format", "csv"}, temporal...)
	differs := runLake(t, append(ensure, "--dry-run")...)
	require.Zero(t, differs.code, differs.stderr)
	require.Contains(t, differs.stdout, "schedule,procedure-sweep,would be updated,every 1h0m0s → 1m0s")
	ensure = append(ensure, "--procedure-sweep-every", "1h")
	same := runLake(t, ensure...)
	require.Zero(t, same.code, same.stderr)
	require.Equal(t, 7, strings.Count(same.stdout, "unchanged"), same.stdout)

	id := d.dropLarge(t, lake.TableName{Namespace: "lost", Name: "t"}, 10, "--undrop-window", "5s")
	d.awaitShown(t, id, func(s shown) bool { return s.Phase == "waiting" })
	require.NoError(t, w.cmd.Process.Kill())
	require.NoError(t, first.Stop(5*time.Second))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(db + suffix) // the last two may be gone
	}
	second, err := devtemporal.Start(t.Context(), devtemporal.Options{Binary: binary, DBFile: db, Headless: true, Port: portOf(t, first.Address())})
	require.NoError(t, err)
	t.Cleanup(func() { _ = second.Stop(10 * time.Second) })

	rebuild := append(append([]string{"procedure", "rebuild", "--procedure-sweep-every", "1h", "--format", "csv"}, temporal...), store...)
	look := runLake(t, append(rebuild, "--dry-run")...)
	require.Zero(t, look.code, look.stderr)
	require.Contains(t, look.stdout, id+",would be started")
	done := runLake(t, rebuild...)
	require.Zero(t, done.code, done.stderr)
	require.Contains(t, done.stdout, id+",started")
	require.Contains(t, done.stderr, "1 unfinished procedures: 0 had a workflow, 1 started")
	again := runLake(t, rebuild...)
	require.Contains(t, again.stderr, "1 had a workflow, 0 started")

	c.start(t, "worker", w.args[:len(w.args)-len(c.every)]...)
	require.Equal(t, sdk.Completed, awaitProcedure(t, d.client(t), parsed(t, id)).State)
	require.Empty(t, d.objects(t, "/lost/t/"))

	// A dry run of the operation GC by hand, followed to its end.
	dry := d.lake(t, "procedure", "start", "operation-gc", "--dry-run", "--wait", "--reason", "how many are there", "-o", "json")
	require.Zero(t, dry.code, dry.stderr)
	var s shown
	require.NoError(t, json.Unmarshal([]byte(dry.stdout), &s))
	require.Equal(t, "operation-gc/dry-run", s.Procedure)
	require.Equal(t, "completed", s.State)
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	return n
}
