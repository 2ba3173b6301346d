// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/lakeplane/lake/activities/drop"
	"github.com/lakeplane/lake/activities/drop/droptest"
	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/activities/sweep"
	"github.com/lakeplane/lake/internal/devtemporal"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/worker"
	"github.com/lakeplane/lake/workflows"
)

var silent = slog.New(slog.DiscardHandler)

// startTemporal starts a real server; with a database file it survives a kill.
func startTemporal(t *testing.T, dbFile string) *devtemporal.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: the first build of the Temporal server takes minutes")
	}
	binary, err := devtemporal.Binary(t.Context(), devtemporal.BuildOptions{}, nil)
	require.NoError(t, err)
	s, err := devtemporal.Start(t.Context(), devtemporal.Options{
		Binary: binary, DBFile: dbFile, Headless: true,
		DynamicConfig: map[string]string{"history.timerProcessorMaxTimeShift": `"1ms"`},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Stop(0) }) // nothing is needed of it any more
	return s
}

func dial(t *testing.T, s *devtemporal.Server) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: s.Address(), Namespace: s.Namespace(), Logger: worker.Logger(silent)})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// slowObjects delays deletes, so that there is a middle to break things in, and
// counts them.
type slowObjects struct {
	objstore.Store
	delay   time.Duration
	deletes atomic.Int64
}

func (s *slowObjects) Delete(ctx context.Context, key string) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.delay):
	}
	s.deletes.Add(1)
	return s.Store.Delete(ctx, key)
}

// deployment is a world with a Temporal server.
type deployment struct {
	*droptest.World
	temporal *devtemporal.Server
	client   client.Client
	starter  *workflows.Client
	root     string // of the objects
	objects  *slowObjects
	store    metastore.Store
}

func deploy(t *testing.T, store metastore.Store, temporal *devtemporal.Server) *deployment {
	t.Helper()
	root := t.TempDir()
	files, err := local.Open(root)
	require.NoError(t, err)
	t.Cleanup(func() { _ = files.Close() })
	d := &deployment{
		temporal: temporal, client: dial(t, temporal), root: root,
		objects: &slowObjects{Store: files}, store: store,
	}
	d.World = droptest.New(t, store, d.objects)
	d.starter = workflows.NewClient(d.client, temporal.Namespace(), "")
	return d
}

func memoryStore(t *testing.T) metastore.Store {
	s := memory.New()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// options of a worker whose pages and pauses are small, and which never sweeps.
func (d *deployment) options() worker.Options {
	return worker.Options{
		Temporal: d.client, Namespace: d.temporal.Namespace(), Store: d.store, Objects: d.objects,
		Engines: map[string]drop.Engine{droptest.EngineName: droptest.Engine},
		Drop: drop.Options{
			ListPage: 50, Parallel: 4, Budget: lease.Budget{Items: 150, Time: time.Second},
			Lease: lease.Options{TTL: 4 * time.Second}, Settle: time.Nanosecond,
		},
		Sweep:      sweep.Options{StartEvery: time.Millisecond},
		SweepEvery: time.Hour, Ensure: true, StopGrace: 5 * time.Second, Log: silent,
	}
}

// work runs a worker until the returned function, or the end of the test,
// stops it.
func (d *deployment) work(t *testing.T, opts worker.Options) (stop func()) {
	t.Helper()
	w, err := worker.New(opts)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		require.NoError(t, <-done)
	}
	t.Cleanup(stop)
	return stop
}

// dropped makes a table of n objects and drops it, due at once. The objects are
// written past the store: its syncs would take most of the test's time.
func (d *deployment) dropped(t *testing.T, name string, n int) workflows.DropStep {
	t.Helper()
	table := d.Table(t, lake.TableName{Namespace: "robots", Name: name}, 3, 0)
	fill(t, d.root, string(table.Snapshot.Location), n)
	return d.Drop(t, table, time.Now())
}

func fill(t *testing.T, root, location string, n int) {
	t.Helper()
	folder := filepath.Join(root, location, "data")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for i := range n {
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%06d.lance", i)), []byte("0123456789"), 0o644))
	}
}

func (d *deployment) start(t *testing.T, step workflows.DropStep) {
	t.Helper()
	ref := step.Ref()
	require.NoError(t, d.starter.Start(t.Context(), string(ref.Kind), ref.ID))
}

// wait waits for the end of a drop by its record, which is the truth.
func (d *deployment) wait(t *testing.T, within time.Duration, steps ...workflows.DropStep) {
	t.Helper()
	deadline := time.Now().Add(within)
	for _, step := range steps {
		for !d.Procedure(t, step).State.Terminal() {
			if time.Now().After(deadline) {
				t.Fatalf("drop %s did not end within %s: %+v", step.Ref(), within, d.Procedure(t, step))
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// middle waits until some, but not all, of the objects were deleted.
func (d *deployment) middle(t *testing.T, deletes int64) {
	t.Helper()
	require.Eventually(t, func() bool { return d.objects.deletes.Load() >= deletes }, 30*time.Second, time.Millisecond)
}

// killTemporal ends the current child, if there is one: between two there is
// none, and a signal to process 0 would end the test and all it belongs to.
func killTemporal(s *devtemporal.Server) {
	if pid := s.PID(); pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
	}
}
