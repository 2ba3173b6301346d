// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build robustness && unix

package worker_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/lakeplane/lake/activities/drop"
	"github.com/lakeplane/lake/activities/drop/droptest"
	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/activities/maintain"
	"github.com/lakeplane/lake/activities/operationgc"
	"github.com/lakeplane/lake/catalog"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore/pebble"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/worker"
	"github.com/lakeplane/lake/workflows"
)

func init() { thorough = true }

// childEnv names the folder of a child worker and the Temporal server it uses.
const childEnv = "LAKE_TEST_WORKER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := beWorker(dir, os.Args[1]); err != nil {
			log.Fatal(err)
		}
		return
	}
	os.Exit(m.Run())
}

// beWorker is a whole worker process over the stores of a folder, until killed.
func beWorker(dir, address string) error {
	store, err := pebble.Open(filepath.Join(dir, "meta"), pebble.Options{})
	if err != nil {
		return err
	}
	objects, err := local.Open(filepath.Join(dir, "objects"))
	if err != nil {
		return err
	}
	tables, err := enginelance.New(enginelance.Options{Store: objects})
	if err != nil {
		return err
	}
	c, err := client.NewLazyClient(client.Options{HostPort: address, Namespace: "lake", Logger: worker.Logger(silent)})
	if err != nil {
		return err
	}
	w, err := worker.New(worker.Options{
		Ensure:   true,
		Temporal: c, Namespace: "lake", Store: store, Objects: &slowObjects{Store: objects, delay: time.Millisecond},
		Engines: map[string]drop.Engine{droptest.EngineName: droptest.Engine, enginelance.Name: tables},
		Maintain: maintain.Options{
			Lease: lease.Options{TTL: 4 * time.Second}, Beat: 100 * time.Millisecond, Saved: 4,
		},
		OperationGC:      operationgc.Options{Budget: lease.Budget{Items: 1, Time: time.Second}},
		OperationGCEvery: time.Second, MaintainEvery: time.Second,
		Drop: drop.Options{
			ListPage: 40, Parallel: 2, Budget: lease.Budget{Items: 200, Time: time.Second}, Settle: time.Nanosecond,
		},
		SweepEvery: time.Second, Log: silent,
	})
	if err != nil {
		return err
	}
	return w.Run(context.Background())
}

// TestWorkerProcessesAreKilled kills the worker at random moments, and now and
// then the Temporal server, while it drops tables; then it lets one finish.
// Report 21: a drop completes whoever dies.
func TestWorkerProcessesAreKilled(t *testing.T) {
	dir := t.TempDir()
	temporal := startTemporal(t, filepath.Join(dir, "temporal.db"))
	steps, neighbour := prepareDrops(t, dir, 8, 400)
	c := dial(t, temporal)
	kills := 0
	for ; kills < 40 && !allClosed(t, c, steps); kills++ {
		cmd := startChild(t, dir, temporal.Address())
		time.Sleep(200*time.Millisecond + rand.N(1500*time.Millisecond))
		if kills%5 == 4 {
			killTemporal(temporal)
		}
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	t.Logf("%d kills of the worker, %d restarts of Temporal", kills, temporal.Restarts())
	require.Greater(t, kills, 3)
	last := startChild(t, dir, temporal.Address())
	require.Eventually(t, func() bool { return allClosed(t, c, steps) }, 3*time.Minute, 500*time.Millisecond)
	require.NoError(t, last.Process.Kill())
	_ = last.Wait()

	w := openWorld(t, dir)
	for _, step := range steps {
		w.RequireGone(t, step)
	}
	require.Equal(t, 5, w.ObjectsLeft(t, neighbour))
}

// prepareDrops leaves dropped tables in a folder, with no workflow started, and
// a live neighbour.
func prepareDrops(t *testing.T, dir string, n, objects int) (steps []workflows.DropStep, neighbour workflows.DropStep) {
	t.Helper()
	store, err := pebble.Open(filepath.Join(dir, "meta"), pebble.Options{})
	require.NoError(t, err)
	files, err := local.Open(filepath.Join(dir, "objects"))
	require.NoError(t, err)
	w := droptest.New(t, store, files)
	for i := range n {
		table := w.Table(t, lake.TableName{Namespace: "robots", Name: fmt.Sprintf("t%d", i)}, 40, 0)
		fill(t, filepath.Join(dir, "objects"), string(table.Snapshot.Location), objects)
		steps = append(steps, w.Drop(t, table, time.Now()))
	}
	live := w.Table(t, lake.TableName{Namespace: "robots", Name: "t00"}, 1, 5)
	neighbour = workflows.DropStep{Namespace: "robots", Name: "t00", Incarnation: live.Snapshot.Incarnation}
	require.NoError(t, files.Close())
	require.NoError(t, store.Close())
	return steps, neighbour
}

func openWorld(t *testing.T, dir string) *droptest.World {
	t.Helper()
	store, err := pebble.Open(filepath.Join(dir, "meta"), pebble.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	files, err := local.Open(filepath.Join(dir, "objects"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = files.Close() })
	return &droptest.World{Store: store, Catalog: catalog.New(store, catalog.Options{}), Objects: files}
}

func startChild(t *testing.T, dir, address string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], address)
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// allClosed reports whether every drop has a workflow that completed.
func allClosed(t *testing.T, c client.Client, steps []workflows.DropStep) bool {
	for _, step := range steps {
		d, err := c.DescribeWorkflow(t.Context(), step.Ref().String(), "")
		if err != nil || d.Status != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
			return false
		}
	}
	return true
}

// TestAStalledWorkerIsFenced stalls a worker in the middle of a page for longer
// than its heartbeats may be missing. Temporal starts the page again on another
// worker, which finishes the drop; the first then wakes up, does not know, and
// must not be able to write.
// Reports 22 and 45: the takeover, and the sleeper that wakes up.
func TestAStalledWorkerIsFenced(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	step := d.dropped(t, "t", 300)
	stalled := &stallingObjects{slowObjects: d.objects, wake: make(chan struct{})}
	first := d.options()
	first.Objects = stalled
	d.work(t, first)
	d.start(t, step)
	require.Eventually(t, stalled.asleep.Load, 30*time.Second, 10*time.Millisecond)
	epoch := d.Procedure(t, step).Epoch

	second := d.options()
	second.Temporal = dial(t, d.temporal)
	d.work(t, second)
	d.wait(t, 2*time.Minute, step)
	d.RequireGone(t, step)
	done := d.Procedure(t, step)
	require.Greater(t, done.Epoch, epoch)
	close(stalled.wake)
	time.Sleep(2 * time.Second) // long enough for the sleeper to try
	require.Equal(t, done.Raw(), d.Procedure(t, step).Raw(), "the sleeper wrote")
	// The page that never got recorded is deleted and not counted.
	require.InDelta(t, 300, done.Counters[workflows.CountObjects], 50)
}

// stallingObjects stops for as long as it is told in one delete, deaf to the
// end of the context, as a stopped process is.
type stallingObjects struct {
	*slowObjects
	calls  atomic.Int64
	asleep atomic.Bool
	wake   chan struct{}
}

func (s *stallingObjects) Delete(ctx context.Context, key string) error {
	if s.calls.Add(1) == 120 {
		s.asleep.Store(true)
		<-s.wake
	}
	return s.slowObjects.Delete(ctx, key)
}

// TestALargeDropKeepsHistoryShort drops a hundred thousand objects with the
// default budgets and reports the rate.
func TestALargeDropKeepsHistoryShort(t *testing.T) {
	const n = 100_000
	d := deploy(t, pebbleStore(t), startTemporal(t, filepath.Join(t.TempDir(), "t.db")))
	step := d.dropped(t, "big", n)
	opts := d.options()
	opts.Drop = drop.Options{Settle: time.Nanosecond}
	d.work(t, opts)
	began := time.Now()
	d.start(t, step)
	d.wait(t, 5*time.Minute, step)
	d.RequireGone(t, step)
	took := time.Since(began)
	require.EqualValues(t, n, d.Procedure(t, step).Counters[workflows.CountObjects])
	events := len(historyOf(t, d.client, step.Ref().String()).Events)
	t.Logf("%d objects in %s: %.0f/s, %d events", n, took.Round(time.Millisecond), n/took.Seconds(), events)
	require.Less(t, events, 100)
}
