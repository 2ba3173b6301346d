// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package procedureplan is the procedure that decides what should be done and
// does not do it: it records intents, each of which another procedure carries
// out.
//
// It is started by one schedule for each kind it plans. A run may be cancelled,
// terminated or repeated at will: an intent that is open is not recorded twice,
// and the next run sees what is left.
package procedureplan

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
)

// options bounds one page set. A plan that fails is not pursued for long: the
// schedule starts another soon.
var options = workflow.ActivityOptions{
	StartToCloseTimeout: 10 * time.Minute,
	HeartbeatTimeout:    time.Minute,
	RetryPolicy: &temporal.RetryPolicy{
		InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second, MaximumAttempts: 4,
	},
	Summary: "record what should be done",
}

// maxPages bounds one run.
const maxPages = 100

// ProcedurePlan is the workflow.
func ProcedurePlan(ctx workflow.Context, in workflows.PlanInput) (workflows.PlanResult, error) {
	var total workflows.PlanResult
	activity, ok := workflows.PlanActivities[in.Kind]
	if !ok {
		return total, temporal.NewNonRetryableApplicationError("no plan for kind "+string(in.Kind), lake.Invalid.String(), nil)
	}
	ctx = workflow.WithActivityOptions(ctx, options)
	for range maxPages {
		var page workflows.PlanResult
		step := workflows.PlanStep{Cursor: total.Cursor, Intended: total.Intended}
		if err := workflow.ExecuteActivity(ctx, activity, step).Get(ctx, &page); err != nil {
			return total, err
		}
		if total.Add(page); total.Cursor == "" {
			break
		}
	}
	return total, nil
}
