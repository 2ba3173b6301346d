// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
)

// catchup is how long after its time a missed action still happens. The default
// of a year would start a sweep for every missed minute of an outage.
const catchup = 10 * time.Minute

// Periods are how often each schedule fires.
type Periods struct{ Sweep, OperationGC, Maintain time.Duration }

// EnsureSchedules creates Lake's schedules or brings existing ones up to date.
// An operator's pause stays. It is idempotent, and safe to run in every worker.
func EnsureSchedules(ctx context.Context, c client.Client, p Periods) error {
	sweep := schedule(workflows.SweepSchedule, p.Sweep, workflows.ProcedureSweepKind, "Start procedures whose intent has no workflow", workflows.ProcedureSweepWorkflow)
	gc := schedule(workflows.OperationGCSchedule, p.OperationGC, workflows.ProcedurePlanKind, "Decide to forget old append operations", workflows.ProcedurePlanWorkflow, workflows.PlanInput{Kind: workflows.OperationGCKind})
	tables := schedule(workflows.TableMaintenanceSchedule, p.Maintain, workflows.ProcedurePlanKind, "Decide which tables to compact", workflows.ProcedurePlanWorkflow, workflows.PlanInput{Kind: workflows.TableMaintenanceKind})
	for _, s := range []client.ScheduleOptions{sweep, gc, tables} {
		if err := ensure(ctx, c, s); err != nil {
			return err
		}
	}
	return nil
}

// schedule starts a workflow periodically, one at a time.
func schedule(id string, period time.Duration, kind workflows.Kind, summary, workflow string, args ...any) client.ScheduleOptions {
	return client.ScheduleOptions{
		ID:            id,
		Spec:          every(period),
		Overlap:       enums.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow: catchup,
		Action: &client.ScheduleWorkflowAction{
			ID:                    id,
			Workflow:              workflow,
			Args:                  args,
			TaskQueue:             workflows.TaskQueue,
			StaticSummary:         summary,
			TypedSearchAttributes: temporal.NewSearchAttributes(workflows.AttributeProcedure.ValueSet(string(kind))),
			// A run that outlives this is stuck, and blocks the next.
			WorkflowRunTimeout: time.Hour,
		},
	}
}

// every is a period with a jitter of a tenth, so that schedules of one period do
// not fire together.
func every(d time.Duration) client.ScheduleSpec {
	return client.ScheduleSpec{
		Intervals: []client.ScheduleIntervalSpec{{Every: d}},
		Jitter:    d / 10,
	}
}

func ensure(ctx context.Context, c client.Client, want client.ScheduleOptions) error {
	_, err := c.ScheduleClient().Create(ctx, want)
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		err = c.ScheduleClient().GetHandle(ctx, want.ID).Update(ctx, client.ScheduleUpdateOptions{
			DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
				s := in.Description.Schedule
				s.Spec, s.Action = &want.Spec, want.Action
				s.Policy = &client.SchedulePolicies{Overlap: want.Overlap, CatchupWindow: want.CatchupWindow}
				return &client.ScheduleUpdate{Schedule: &s}, nil
			},
		})
	}
	if err != nil {
		return &lake.Error{Kind: lake.Unavailable, Op: "schedule " + want.ID, Err: err}
	}
	return nil
}
