// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/lakeplane/lake/worker"
	"github.com/lakeplane/lake/workflows"
)

const (
	// watchFor is how long the processor time of an idle deployment is taken.
	watchFor = 30 * time.Second
	// often is a period of schedules that fires often enough to be measured.
	often = 2 * time.Second
)

// schedules measures what the schedules of an idle deployment cost, as part of one
// core: the time of all processes with schedules that fire often, less that without
// any, a firing, at the rate of the default periods.
func (d *deployment) schedules(ctx context.Context) ([]figure, error) {
	quiet, _, err := d.watch(ctx, 24*time.Hour)
	if err != nil {
		return nil, err
	}
	busy, fired, err := d.watch(ctx, often)
	if err != nil {
		return nil, err
	}
	if fired == 0 {
		return nil, fmt.Errorf("no schedule fired in %s", watchFor)
	}
	firing := max(0, (busy-quiet)/time.Duration(fired))
	perHour := 60 + 1 + 6 // the sweep, the operation GC, and the plan of maintenance
	share := 100 * firing.Seconds() * float64(perHour) / time.Hour.Seconds()
	const name = "schedules of an idle deployment"
	return []figure{
		one(name, "Lake and Temporal", "% of a core", share),
		one(name, "Lake and Temporal", "CPU ms a firing", ms(firing)),
		one(name, "without any, for comparison", "% of a core, all processes", 100*quiet.Seconds()/watchFor.Seconds()),
	}, nil
}

// watch sets the periods of all schedules and returns the processor time of the
// deployment over some seconds, and how often they fired in them.
func (d *deployment) watch(ctx context.Context, period time.Duration) (cpu time.Duration, fired int, err error) {
	target := worker.Deployment{
		Namespace: d.temporal.Namespace(),
		Periods:   worker.Periods{Sweep: period, OperationGC: period, Maintain: period},
	}
	if _, err := worker.Ensure(ctx, d.workflows, target, worker.Bring); err != nil {
		return 0, 0, err
	}
	before, err := d.firings(ctx)
	if err != nil {
		return 0, 0, err
	}
	cost, err := measure(d.pids(), func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchFor):
			return nil
		}
	})
	if err != nil {
		return 0, 0, err
	}
	after, err := d.firings(ctx)
	return cost.cpu, after - before, err
}

// firings is how often the schedules have fired.
func (d *deployment) firings(ctx context.Context) (n int, err error) {
	for _, id := range []string{workflows.SweepSchedule, workflows.OperationGCSchedule, workflows.TableMaintenanceSchedule} {
		is, err := d.workflows.ScheduleClient().GetHandle(ctx, id).Describe(ctx)
		if err != nil {
			return n, err
		}
		n += is.Info.NumActions
	}
	return n, nil
}
