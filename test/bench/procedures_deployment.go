// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/internal/devtemporal"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore/pebble"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/worker"
)

// deployment is a metadata server, two workers and a Temporal server.
type deployment struct {
	bin, dir  string
	address   string
	log       io.WriteCloser
	temporal  *devtemporal.Server
	workflows client.Client
	client    *sdk.Client
	meta      *exec.Cmd
	workers   []*exec.Cmd
}

func startDeployment(ctx context.Context, bin, dir string) (d *deployment, err error) {
	d = &deployment{bin: bin, dir: dir}
	defer func() {
		if err != nil {
			d.stop()
		}
	}()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return d, err
	}
	if d.log, err = os.Create(filepath.Join(dir, "processes.log")); err != nil {
		return d, err
	}
	if err := seedOperations(ctx, filepath.Join(dir, "metastore")); err != nil {
		return d, err
	}
	binary, err := devtemporal.Binary(ctx, devtemporal.BuildOptions{}, nil)
	if err != nil {
		return d, err
	}
	if d.temporal, err = devtemporal.Start(ctx, devtemporal.Options{Binary: binary, DBFile: filepath.Join(dir, "temporal.db"), Headless: true}); err != nil {
		return d, err
	}
	d.workflows, err = client.Dial(client.Options{HostPort: d.temporal.Address(), Namespace: d.temporal.Namespace(), Logger: worker.Logger(slog.New(slog.DiscardHandler))})
	if err != nil {
		return d, err
	}
	if d.address, err = freeAddress(); err != nil {
		return d, err
	}
	if d.meta, err = d.process("meta", "--listen", d.address, "--metastore", "pebble://"+filepath.Join(dir, "metastore")); err != nil {
		return d, err
	}
	if d.client, err = connect(ctx, d.address); err != nil {
		return d, err
	}
	for range 2 {
		if err := d.addWorker(); err != nil {
			return d, err
		}
	}
	return d, d.awaitLeader(ctx)
}

// appended is the table that is appended to.
var appended = lake.TableName{Namespace: "bench", Name: "appended"}

// awaitLeader makes the first table, which takes a leader.
func (d *deployment) awaitLeader(ctx context.Context) (err error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		if _, err = d.client.CreateTable(ctx, appended, small); !lake.Is(err, lake.Unavailable) {
			return err
		}
	}
	return err
}

// connect connects to a server that is coming up.
func connect(ctx context.Context, address string) (c *sdk.Client, err error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if c, err = sdk.Connect(ctx, address); err == nil {
			return c, nil
		}
	}
	return nil, err
}

func (d *deployment) addWorker() error {
	w, err := d.process("worker", "--metastore", "lake://"+d.address, "--drop-settle", "2s", "--procedure-sweep-every", "10s") // as `lake dev` has them
	if err == nil {
		d.workers = append(d.workers, w)
	}
	return err
}

// process starts a process of Lake.
func (d *deployment) process(args ...string) (*exec.Cmd, error) {
	args = append(args, "--objects", "file://"+d.objects(), "--temporal-address", d.temporal.Address(), "--log-level", "warn")
	cmd := exec.Command(d.bin, args...)
	cmd.Stdout, cmd.Stderr = d.log, d.log
	cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "LAKE_") })
	return cmd, cmd.Start()
}

func (d *deployment) objects() string { return filepath.Join(d.dir, "objects") }

func (d *deployment) pids() []int {
	pids := []int{d.meta.Process.Pid, d.temporal.PID()}
	for _, w := range d.workers {
		pids = append(pids, w.Process.Pid)
	}
	return pids
}

// shares is the processor time of each part so far.
func (d *deployment) shares() (map[string]time.Duration, error) {
	parts := map[string][]int{"Temporal": {d.temporal.PID()}, "metadata server": {d.meta.Process.Pid}}
	for _, w := range d.workers {
		parts["workers"] = append(parts["workers"], w.Process.Pid)
	}
	shares := map[string]time.Duration{}
	for who, pids := range parts {
		for _, pid := range pids {
			t, err := processTime(pid)
			if err != nil {
				return nil, err
			}
			shares[who] += t
		}
	}
	return shares, nil
}

func (d *deployment) stop() {
	if d.client != nil {
		_ = d.client.Close()
	}
	if d.workflows != nil {
		d.workflows.Close()
	}
	for _, cmd := range append(d.workers, d.meta) {
		if cmd != nil && cmd.Process != nil {
			_ = cmd.Process.Kill() // nothing is needed of it any more
			_ = cmd.Wait()
		}
	}
	if d.temporal != nil {
		_ = d.temporal.Stop(0)
	}
	if d.log != nil {
		_ = d.log.Close()
	}
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// table makes a table that has n objects beside its own.
func (d *deployment) table(ctx context.Context, name lake.TableName, n int) (sdk.Table, error) {
	table, err := d.client.CreateTable(ctx, name, small)
	if err != nil {
		return table, err
	}
	return table, fillFolder(filepath.Join(d.objects(), string(table.Snapshot.Location), "data"), n)
}

func (d *deployment) drop(ctx context.Context, name lake.TableName) (sdk.ProcedureID, error) {
	dropped, err := d.client.DropTable(ctx, name, sdk.DropOptions{UndropWindow: new(time.Duration), Reason: "bench"})
	return dropped.Procedure, err
}

func fileName(i int) string { return fmt.Sprintf("%06d.lance", i) }

// fillFolder makes empty files and syncs the folder once: data on their way to the
// disk would be written by the first sync of a drop, and by nothing of its peer's.
func fillFolder(folder string, n int) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(folder, fileName(i)), nil, 0o600); err != nil {
			return err
		}
	}
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// seedOperations records append operations of long ago, before any server runs.
func seedOperations(ctx context.Context, dir string) error {
	store, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		return err
	}
	election, err := catalog.NewElection(store, catalog.ElectionOptions{Exclusive: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	electing, resign := context.WithCancel(ctx)
	resigned := make(chan struct{})
	go func() { election.Run(electing); close(resigned) }()
	defer func() { resign(); <-resigned }()
	var fence catalog.Fence
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if fence, err = election.Fence(); err == nil || time.Now().After(end) {
			break
		}
	}
	if err == nil {
		err = recordOperations(ctx, catalog.New(store, catalog.Options{Now: longAgo}), fence)
	}
	resign()
	<-resigned
	return errors.Join(err, store.Close())
}

func longAgo() time.Time { return time.Now().Add(-10 * lake.OperationRetention) }

func recordOperations(ctx context.Context, c *catalog.Catalog, fence catalog.Fence) error {
	inc := lake.NewID()
	name := lake.TableName{Namespace: "bench", Name: "operations"}
	snap := lake.Snapshot{Engine: "none", Location: lake.Place(name, inc), Incarnation: inc, Version: 1, Manifest: lake.Manifest{Path: "m", Size: 1}}
	table, err := c.Create(ctx, fence, catalog.Table{Name: name, Snapshot: snap, Schema: []byte("schema")}, nil)
	for left := oldOperations; left > 0 && err == nil; left -= catalog.MaxGroup {
		group := make([]catalog.Operation, min(left, catalog.MaxGroup))
		for i := range group {
			id := lake.NewIDAt(longAgo())
			group[i] = catalog.Operation{Tenant: "default", ID: id, Digest: lake.Digest(append(id[:], id[:]...)), Rows: 1}
		}
		next := table.Snapshot
		next.Version++
		table, err = c.Advance(ctx, fence, table, next, nil, group)
	}
	return err
}

// killHolder kills the worker that runs the procedure's page, starts another, and
// returns how long it took until the procedure moved on.
func (d *deployment) killHolder(ctx context.Context, id sdk.ProcedureID) (time.Duration, error) {
	at, err := d.holder(ctx, id)
	if err != nil {
		return 0, err
	}
	before, err := d.client.Procedure(ctx, id)
	if err != nil {
		return 0, err
	}
	dead := d.workers[at]
	if err := dead.Process.Kill(); err != nil {
		return 0, err
	}
	began := time.Now()
	_ = dead.Wait() // it was killed
	d.workers = slices.Delete(d.workers, at, at+1)
	for p, err := range d.client.WatchProcedure(ctx, id, 50*time.Millisecond) {
		switch {
		case err != nil:
			return 0, err
		case p.State.Terminal():
			return 0, fmt.Errorf("it ended while its worker was to be killed: %s", p)
		case p.Epoch > before.Epoch && p.Counters["objects_deleted"] > before.Counters["objects_deleted"]:
			return time.Since(began), d.addWorker()
		}
	}
	return 0, ctx.Err()
}

// holder is the index of the worker that runs the procedure's activity.
func (d *deployment) holder(ctx context.Context, id sdk.ProcedureID) (int, error) {
	for end := time.Now().Add(endWithin); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		info, err := d.workflows.DescribeWorkflow(ctx, id.String(), "")
		if err != nil {
			continue // a start that was missed is made good by the sweep
		}
		for _, a := range info.RawResponse.PendingActivities {
			pid, _, _ := strings.Cut(a.LastWorkerIdentity, "@")
			at := slices.IndexFunc(d.workers, func(w *exec.Cmd) bool { return strconv.Itoa(w.Process.Pid) == pid })
			if a.State == enums.PENDING_ACTIVITY_STATE_STARTED && a.HeartbeatDetails != nil && at >= 0 {
				return at, nil
			}
		}
	}
	return 0, fmt.Errorf("no worker took up %s", id)
}
