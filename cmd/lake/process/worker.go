// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process

import (
	"github.com/lakeplane/lake/activities/drop"
	"github.com/lakeplane/lake/activities/maintain"
	"github.com/lakeplane/lake/cmd/lake/config"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/worker"
)

// NewWorker puts a worker together. The caller keeps the stores and temporal,
// and closes them after its Run. ensure lets it update the schedules in Temporal;
// without, it creates those that are missing.
func NewWorker(c *config.Worker, records *Records, objects *Objects, temporal *Temporal, ensure bool, tel Telemetry) (*worker.Worker, error) {
	return worker.New(worker.Options{
		Temporal: temporal.Client, Namespace: c.Temporal.Namespace, Store: records.Store, Objects: objects.Store,
		Engines: map[string]drop.Engine{enginelance.Name: objects.Tables},
		Drop:    drop.Options{Settle: c.Settle}, StopGrace: stopBudget(c.Grace),
		Maintain:   maintain.Options{Retention: c.Retention},
		SweepEvery: c.SweepEvery, OperationGCEvery: c.OperationGCEvery, MaintainEvery: c.MaintainEvery,
		Classes: c.Classes(), ShortSlots: c.ShortSlots, BulkSlots: c.BulkSlots,
		Ensure: ensure, BuildID: c.BuildID, Log: tel.Log, Metrics: tel.Metrics,
	})
}

// WorkerDeployment is what a worker's configuration needs of Temporal.
func WorkerDeployment(c *config.Worker) worker.Deployment {
	return worker.Deployment{
		Namespace: c.Temporal.Namespace, BuildID: c.BuildID,
		Periods: worker.Periods{Sweep: c.SweepEvery, OperationGC: c.OperationGCEvery, Maintain: c.MaintainEvery},
	}
}
