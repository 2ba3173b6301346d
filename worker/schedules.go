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

// EnsureSchedules creates Lake's schedules or brings existing ones up to date.
// An operator's pause stays. It is idempotent, and safe to run in every worker.
func EnsureSchedules(ctx context.Context, c client.Client, sweepEvery time.Duration) error {
	return ensure(ctx, c, client.ScheduleOptions{
		ID:            workflows.SweepSchedule,
		Spec:          every(sweepEvery),
		Overlap:       enums.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow: catchup,
		Action: &client.ScheduleWorkflowAction{
			ID:            workflows.SweepSchedule,
			Workflow:      workflows.ProcedureSweepWorkflow,
			TaskQueue:     workflows.TaskQueue,
			StaticSummary: "Start procedures whose intent has no workflow",
			TypedSearchAttributes: temporal.NewSearchAttributes(
				workflows.AttributeProcedure.ValueSet(string(workflows.ProcedureSweepKind)),
			),
			// A run that outlives this is stuck, and blocks the next.
			WorkflowRunTimeout: time.Hour,
		},
	})
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
