// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package worker

import (
	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/worker"

	"github.com/lakeplane/lake/activities/catalogfinalize"
	"github.com/lakeplane/lake/activities/drop"
	"github.com/lakeplane/lake/activities/maintain"
	"github.com/lakeplane/lake/activities/migrate"
	"github.com/lakeplane/lake/activities/operate"
	"github.com/lakeplane/lake/activities/operationgc"
	"github.com/lakeplane/lake/activities/sweep"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/workflows"
)

// activities are the steps of all procedures.
type activities struct {
	drops      *drop.Activities
	operations *operationgc.Activities
	tables     *maintain.Activities
	sweeps     *sweep.Activities
	finalizes  *migrate.Activities
	orders     *operate.Activities
}

func newActivities(o Options) (a activities, err error) {
	c := catalog.New(o.Store, catalog.Options{})
	client := workflows.NewClient(o.Temporal, o.Namespace, "")
	if a.drops, err = drop.New(c, o.Store, o.Objects, o.Engines, o.Drop); err != nil {
		return a, err
	}
	if a.operations, err = operationgc.New(c, client, o.OperationGC); err != nil {
		return a, err
	}
	o.Maintain.Records, o.Maintain.Objects = o.Store, o.Objects
	if a.tables, err = maintain.New(c, client, compacting(o.Engines), o.Maintain); err != nil {
		return a, err
	}
	if a.finalizes, err = migrate.New(c, catalogfinalize.Steps{Catalog: c}, o.CatalogFinalize); err != nil {
		return a, err
	}
	a.orders = operate.New(c, o.Log)
	o.Sweep.Declarations, o.Sweep.Objects = c, o.Objects
	a.sweeps = sweep.New(c, client, o.Sweep)
	return a, nil
}

// compacting returns the engines that can compact.
func compacting(engines map[string]drop.Engine) map[string]maintain.Engine {
	out := map[string]maintain.Engine{}
	for name, e := range engines {
		if c, ok := e.(maintain.Engine); ok {
			out[name] = c
		}
	}
	return out
}

// register tells a worker all activities under the names of package workflows.
func (a activities) register(r sdk.ActivityRegistry) {
	for name, f := range map[string]any{
		workflows.DropBegin:                                          a.drops.Begin,
		workflows.DropDeleteObjects:                                  a.drops.DeleteObjects,
		workflows.DropClearHistory:                                   a.drops.ClearHistory,
		workflows.DropFinish:                                         a.drops.Finish,
		workflows.OperationGCPlan:                                    a.operations.Plan,
		workflows.OperationGCForget:                                  a.operations.Forget,
		workflows.OperationGCCount:                                   a.operations.Count,
		workflows.MaintenancePlan:                                    a.tables.Plan,
		workflows.MaintenanceCompact:                                 a.tables.Compact,
		workflows.MaintenanceReclaim:                                 a.tables.Reclaim,
		workflows.SweepActivity:                                      a.sweeps.Sweep,
		workflows.OrderActivity:                                      a.orders.Order,
		workflows.AdvanceActivity(workflows.CatalogFinalizeWorkflow): a.finalizes.Advance,
	} {
		r.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
}
