// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package proceduresweep is the procedure that starts what has an intent and no
// workflow: a service commits the intent first and starts the workflow as well
// as it can, so after an outage of Temporal, a lost database or a terminated
// workflow, this is what makes the intent come true.
//
// It is started by the schedule "procedure-sweep". A run may be cancelled,
// terminated or repeated at will; the next one sees what is left.
package proceduresweep

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/lakeplane/lake/workflows"
)

// options bounds one page set. A sweep that fails is not pursued for long: the
// schedule starts another soon.
var options = workflow.ActivityOptions{
	StartToCloseTimeout: 5 * time.Minute,
	HeartbeatTimeout:    30 * time.Second,
	RetryPolicy: &temporal.RetryPolicy{
		InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second, MaximumAttempts: 4,
	},
	Summary: "start procedures that have no workflow",
}

// maxPages bounds one run; at a few thousand intents a page this is never
// reached, and if it is, the next run goes on with what this one started.
const maxPages = 100

// ProcedureSweep is the workflow.
func ProcedureSweep(ctx workflow.Context) (workflows.SweepResult, error) {
	ctx = workflow.WithActivityOptions(ctx, options)
	var total workflows.SweepResult
	for range maxPages {
		var page workflows.SweepResult
		step := workflows.SweepStep{Cursor: total.Cursor}
		if err := workflow.ExecuteActivity(ctx, workflows.SweepActivity, step).Get(ctx, &page); err != nil {
			return total, err
		}
		if total.Add(page); total.Cursor == "" {
			break
		}
	}
	return total, nil
}
