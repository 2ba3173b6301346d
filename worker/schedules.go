// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/lakeplane/lake/workflows"
)

// catchup is how long after its time a missed action still happens. The default
// of a year would start a sweep for every missed minute of an outage.
const catchup = 10 * time.Minute

// Periods are how often each schedule fires.
type Periods struct{ Sweep, OperationGC, Maintain time.Duration }

// schedules are all schedules of a deployment.
func (p Periods) schedules() []client.ScheduleOptions {
	return []client.ScheduleOptions{
		schedule(workflows.SweepSchedule, p.Sweep, workflows.ProcedureSweepKind, "Start procedures whose intent has no workflow", workflows.ProcedureSweepWorkflow),
		schedule(workflows.OperationGCSchedule, p.OperationGC, workflows.ProcedurePlanKind, "Decide to forget old append operations", workflows.ProcedurePlanWorkflow, workflows.PlanInput{Kind: workflows.OperationGCKind}),
		schedule(workflows.TableMaintenanceSchedule, p.Maintain, workflows.ProcedurePlanKind, "Decide which tables to compact", workflows.ProcedurePlanWorkflow, workflows.PlanInput{Kind: workflows.TableMaintenanceKind}),
	}
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

// ensureSchedule creates or updates one schedule.
func ensureSchedule(ctx context.Context, c client.Client, want client.ScheduleOptions, mode Mode) (Change, error) {
	change := Change{What: "schedule", Name: want.ID, Action: "created"}
	handle := c.ScheduleClient().GetHandle(ctx, want.ID)
	have, err := handle.Describe(ctx)
	var missing *serviceerror.NotFound
	switch {
	case errors.As(err, &missing):
		if mode == Look {
			return change, nil
		}
		_, err = c.ScheduleClient().Create(ctx, want)
		if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) { // another worker was faster
			return change, err
		}
		have, err = handle.Describe(ctx)
	}
	if err != nil {
		return change, err
	}
	change.Action, change.Detail = "unchanged", difference(have.Schedule, want)
	switch {
	case change.Detail == "":
		return change, nil
	case mode == Missing:
		change.Action = "differs"
		return change, nil
	}
	change.Action = "updated"
	if mode == Look {
		return change, nil
	}
	return change, handle.Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			s := in.Description.Schedule
			s.Spec, s.Action = &want.Spec, want.Action
			s.Policy = &client.SchedulePolicies{Overlap: want.Overlap, CatchupWindow: want.CatchupWindow}
			return &client.ScheduleUpdate{Schedule: &s}, nil
		},
	})
}

// difference says in what a schedule is not as wanted, empty when it is. An
// operator's pause is no difference.
func difference(have client.Schedule, want client.ScheduleOptions) string {
	var every time.Duration
	if have.Spec != nil && len(have.Spec.Intervals) == 1 {
		every = have.Spec.Intervals[0].Every
	}
	if wanted := want.Spec.Intervals[0].Every; every != wanted {
		return fmt.Sprintf("every %s → %s", every, wanted)
	}
	if have.Spec.Jitter != want.Spec.Jitter {
		return fmt.Sprintf("jitter %s → %s", have.Spec.Jitter, want.Spec.Jitter)
	}
	if p := have.Policy; p == nil || p.Overlap != want.Overlap || p.CatchupWindow != want.CatchupWindow {
		return "overlap policy or catch-up window"
	}
	return actionDifference(have.Action, want.Action)
}

// actionDifference compares what is started. The arguments are not: they go
// with the workflow's type and the schedule's id.
func actionDifference(have, want client.ScheduleAction) string {
	h, ok := have.(*client.ScheduleWorkflowAction)
	w, _ := want.(*client.ScheduleWorkflowAction)
	switch {
	case !ok:
		return "it starts no workflow"
	case h.Workflow != w.Workflow:
		return fmt.Sprintf("workflow %v → %v", h.Workflow, w.Workflow)
	case h.TaskQueue != w.TaskQueue:
		return fmt.Sprintf("task queue %s → %s", h.TaskQueue, w.TaskQueue)
	case h.WorkflowRunTimeout != w.WorkflowRunTimeout:
		return fmt.Sprintf("run timeout %s → %s", h.WorkflowRunTimeout, w.WorkflowRunTimeout)
	}
	return ""
}
