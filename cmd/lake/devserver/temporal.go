// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devserver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"

	"github.com/lakeplane/lake/activities/drop"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/internal/devtemporal"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/worker"
	"github.com/lakeplane/lake/workflows"
)

// sweepEvery is how soon a procedure whose start was missed, because Temporal
// was down, is found. One small deployment can afford to look often.
const sweepEvery = 10 * time.Second

// temporal is the connection to a Temporal server and, where it is ours, the
// server.
type temporal struct {
	child     *devtemporal.Server // nil when it is not ours
	client    client.Client
	address   string
	namespace string
	ui        string
}

// openTemporal starts or finds the Temporal server; nil when none is wanted.
// One that does not answer is no failure: the worker waits for it and
// everything else works without it.
func openTemporal(ctx context.Context, o Options, p ports) (*temporal, error) {
	if o.NoTemporal {
		return nil, nil
	}
	t := &temporal{address: o.TemporalAddress, namespace: o.TemporalNamespace, ui: o.TemporalUI}
	if o.managed() {
		if err := t.startChild(ctx, o, p); err != nil {
			return nil, err
		}
	}
	var err error
	t.client, err = client.NewLazyClient(client.Options{HostPort: t.address, Namespace: t.namespace, Logger: worker.Logger(o.Log)})
	if err != nil {
		return nil, errors.Join(lake.Errorf(lake.Invalid, "Temporal at %s: %w", t.address, err), t.stop(0))
	}
	return t, nil
}

func (t *temporal) startChild(ctx context.Context, o Options, p ports) error {
	binary, err := devtemporal.Binary(ctx, devtemporal.BuildOptions{}, o.BuildProgress)
	if err != nil {
		return err
	}
	dir := filepath.Join(o.DataDir, "temporal")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return lake.Errorf(lake.Unknown, "Temporal directory: %w", err)
	}
	t.child, err = devtemporal.Start(ctx, devtemporal.Options{
		Binary: binary, DBFile: filepath.Join(dir, "temporal.db"), Host: o.Host,
		Port: p.temporal, UIPort: p.ui, Headless: o.Headless, Namespace: t.namespace, Logger: o.Log,
	})
	if err != nil {
		return err
	}
	t.address, t.ui = t.child.Address(), t.child.UI()
	return nil
}

// worker makes the worker of the procedures.
func (t *temporal) worker(o Options, s storage, metrics prometheus.Registerer) (*worker.Worker, error) {
	return worker.New(worker.Options{
		Temporal: t.client, Namespace: t.namespace, Store: s.meta, Objects: s.objects,
		Engines: map[string]drop.Engine{enginelance.Name: s.tables},
		Drop:    drop.Options{Settle: o.Settle}, SweepEvery: sweepEvery, StopGrace: o.Grace / 2, Log: o.Log, Metrics: metrics,
	})
}

func (t *temporal) starter() *workflows.Client {
	return workflows.NewClient(t.client, t.namespace, t.ui)
}

// stop closes the connection and ends a server of ours within the grace.
func (t *temporal) stop(grace time.Duration) error {
	if t == nil {
		return nil
	}
	if t.client != nil {
		t.client.Close()
	}
	if t.child == nil {
		return nil
	}
	return t.child.Stop(grace)
}

// kill ends a server of ours at once.
func (t *temporal) kill() {
	if t == nil || t.child == nil {
		return
	}
	if p, err := os.FindProcess(t.child.PID()); err == nil && t.child.PID() > 0 {
		_ = p.Kill()
	}
}
