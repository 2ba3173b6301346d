// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devserver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/cmd/lake/process"
	"github.com/lakeplane/lake/internal/devtemporal"
	"github.com/lakeplane/lake/lake"
)

// temporal is the connection to a Temporal server and, where it is ours, the
// server.
type temporal struct {
	*process.Temporal                     // the connection
	child             *devtemporal.Server // nil when it is not ours
	config            config.Temporal
}

// link is the connection; nil without a server.
func (t *temporal) link() *process.Temporal {
	if t == nil {
		return nil
	}
	return t.Temporal
}

// openTemporal starts or finds the Temporal server; nil when none is wanted.
// One that does not answer is no failure: the worker waits for it and
// everything else works without it.
func openTemporal(ctx context.Context, o Options, p ports) (*temporal, error) {
	if o.NoTemporal {
		return nil, nil
	}
	t := &temporal{config: config.Temporal{Address: o.TemporalAddress, Namespace: o.TemporalNamespace, UI: o.TemporalUI}}
	if o.managed() {
		if err := t.startChild(ctx, o, p); err != nil {
			return nil, err
		}
	}
	var err error
	if t.Temporal, err = process.DialTemporal(t.config, o.Log); err != nil {
		return nil, errors.Join(err, t.stop(0))
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
		Port: p.temporal, UIPort: p.ui, Headless: o.Headless, Namespace: t.config.Namespace, Logger: o.Log,
	})
	if err != nil {
		return err
	}
	t.config.Address, t.config.UI = t.child.Address(), t.child.UI()
	return nil
}

// stop closes the connection and ends a server of ours within the grace.
func (t *temporal) stop(grace time.Duration) error {
	if t == nil {
		return nil
	}
	t.Temporal.Close()
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
