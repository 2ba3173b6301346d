// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package migration is the shape of procedures that change how records are kept
// and that cannot be taken back once they are in force.
//
//	preflight → backfill pages → verify → approve → barrier → verify again → publish
//
// The workflow only drives: which phase is next, and how far it got, is in the
// procedure's record, which the one activity advances (package
// activities/migrate). So a run may begin anywhere, in a fresh history or after
// Temporal's database was lost.
//
// Operators pause, resume and cancel it as any procedure, bound the records it
// fills in a second, and approve it, by an order in the record or by the update
// "approve", which refuses what is not complete. A cancelled migration takes its
// barrier back before it ends.
//
// A new migration brings its steps (activities/migrate.Steps), a kind with a
// manual (package workflows) and a line where workflows are registered.
package migration

import (
	"errors"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/lakeplane/lake/workflows"
	"github.com/lakeplane/lake/workflows/control"
)

var options = control.PageOptions("go on with the migration")

// look is how often the record is looked at while an approval is awaited. An
// approval also wakes the workflow, but Temporal may be away at that moment.
const look = time.Minute

// notes say what happens in each phase.
var notes = map[workflows.Phase]string{
	workflows.PhasePreflight:      "looking whether it may begin; nothing is changed",
	workflows.PhaseBackfilling:    "filling in what the new form needs; nothing reads it yet",
	workflows.PhaseVerifying:      "comparing the old and the new form while writers go on",
	workflows.PhaseApproval:       "everything is verified; what follows cannot be taken back: `lake procedure approve`, or the update \"approve\"",
	workflows.PhaseBarrier:        "stopping writers that do not know the new form",
	workflows.PhaseVerifyingAgain: "comparing both forms behind the barrier",
	workflows.PhasePublishing:     "making the new form the one in force",
}

// Workflow returns the workflow of a migration. name is the type it is
// registered under.
func Workflow(name string) func(workflow.Context, workflows.MigrationInput) (workflows.MigrationResult, error) {
	return func(ctx workflow.Context, in workflows.MigrationInput) (workflows.MigrationResult, error) {
		panel, err := control.Open(ctx, in.Ref(), in.Carry)
		if err != nil {
			return workflows.MigrationResult{}, err
		}
		result, err := run(ctx, panel, name, in)
		if errors.Is(err, control.ErrHistoryFull) {
			in.Carry = panel.Carry()
			err = workflow.NewContinueAsNewError(ctx, name, in)
		}
		return result, panel.Close(err)
	}
}

// run advances the migration until it is over.
func run(ctx workflow.Context, panel *control.Panel, name string, in workflows.MigrationInput) (result workflows.MigrationResult, err error) {
	if err := panel.Enter(ctx, workflows.PhasePreflight, notes[workflows.PhasePreflight]); err != nil {
		return result, err
	}
	for {
		began := workflow.Now(ctx)
		step := workflows.MigrationStep{Kind: in.Kind, ID: in.ID}
		at, err := control.Step[workflows.MigrationProgress](ctx, panel, options, workflows.AdvanceActivity(name), step)
		if err != nil {
			return result, err
		}
		panel.Progress(ctx, began, at.Counters, at.Estimate)
		if at.Counters != nil {
			result.Counters = at.Counters
		}
		if at.Over {
			result.Cancelled = at.Cancelled
			return result, panel.Enter(ctx, workflows.PhaseDone, ending(at))
		}
		if err := panel.Enter(ctx, at.Phase, notes[at.Phase]); err != nil {
			return result, err
		}
		switch {
		case at.Approve:
			err = panel.SleepUntil(ctx, workflow.Now(ctx).Add(look), "waiting for an approval")
		case at.Wait != nil:
			err = panel.SleepUntil(ctx, *at.Wait, notes[at.Phase])
		}
		if err != nil {
			return result, err
		}
	}
}

func ending(at workflows.MigrationProgress) string {
	if at.Cancelled {
		return "cancelled by an operator; nothing of it is in force"
	}
	return "the new form is in force"
}
