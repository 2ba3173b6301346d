// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devserver

import (
	"path/filepath"
	"time"

	"github.com/lakeplane/lake/cmd/lake/config"
)

// sweepEvery is how soon a procedure whose start was missed, because Temporal
// was down, is found. One small deployment can afford to look often.
const sweepEvery = 10 * time.Second

// meta is the configuration of the one metadata server. Appends get a quarter
// of the grace: query and the worker stop before.
func (o Options) meta() *config.Meta {
	c := config.NewMeta()
	c.UndropWindow, c.Grace = o.UndropWindow, o.Grace/4
	return c
}

// query is the configuration of the one replica.
func (o Options) query(meta string) *config.Query {
	c := config.NewQuery()
	c.Meta, c.Grace, c.SpillDir = []string{meta}, o.Grace/2, filepath.Join(o.DataDir, "spill")
	// Everybody is the same tenant here, and a burst of somebody's own
	// programs should wait rather than fail.
	c.Admission.PerTenant, c.Admission.Queue = 64, 10*time.Second
	// A query holds its slot for as long as its client reads, so there must be
	// more of them than cursors that people leave open. They open when used,
	// so the sum of their limits, 512 MiB each, is not what is used.
	c.Slots, c.Memory, c.SpillBytes = 16, 12<<30, 16*8<<30
	c.InProcess = o.InProcessSQL
	return c
}

// worker is the configuration of the worker.
func (o Options) worker(t *temporal) *config.Worker {
	c := config.NewWorker()
	c.Temporal, c.SweepEvery, c.Settle, c.Grace = t.config, sweepEvery, o.Settle, o.Grace/2
	return c
}
