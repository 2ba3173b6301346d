// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package operationgc is the procedure that forgets append operations which are
// too old to be repeated.
//
//	id       operation-gc/deployment, and operation-gc/dry-run for a dry run
//	intent   the record procedure/operation-gc/deployment, while it is open
//	queries  status         signals  pause, resume, recheck
//
// Cancelling the workflow stops it after the page under way; the record stays
// open and the next sweep starts it again, where it was. A dry run has no
// record, changes nothing and may be cancelled at will.
package operationgc

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/lakeplane/lake/workflows"
	"github.com/lakeplane/lake/workflows/control"
)

var options = control.Bulk(control.PageOptions("forget operations that cannot be repeated any more"))

// OperationGC is the workflow.
func OperationGC(ctx workflow.Context, in workflows.OperationGCInput) (workflows.OperationGCResult, error) {
	panel, err := control.Open(ctx, in.Ref(), in.Carry)
	if err != nil {
		return workflows.OperationGCResult{}, err
	}
	g := &collection{panel: panel, in: in}
	err = g.run(ctx)
	if errors.Is(err, control.ErrHistoryFull) {
		g.in.Carry = panel.Carry()
		return workflows.OperationGCResult{}, panel.Close(workflow.NewContinueAsNewError(ctx, workflows.OperationGCWorkflow, g.in))
	}
	return workflows.OperationGCResult{Counters: g.in.Step.Counters}, panel.Close(err)
}

type collection struct {
	panel *control.Panel
	in    workflows.OperationGCInput
}

// run goes over all operations, page set by page set.
func (g *collection) run(ctx workflow.Context) error {
	activity, note := workflows.OperationGCForget, "removing records of operations that are too old to be repeated"
	if g.in.DryRun {
		activity, note = workflows.OperationGCCount, "counting what would be removed; nothing is changed"
	}
	if err := g.panel.Enter(ctx, workflows.PhaseForgetting, note); err != nil {
		return err
	}
	for {
		began := workflow.Now(ctx)
		page, err := control.Step[workflows.OperationGCProgress](ctx, g.panel, options, activity, g.step())
		if err != nil {
			return err
		}
		g.in.Step = workflows.OperationGCStep{Cursor: page.Cursor, Counters: page.Counters}
		g.panel.Progress(ctx, began, page.Counters, page.Estimate)
		if page.Over {
			return g.panel.Enter(ctx, workflows.PhaseDone, "every operation was looked at")
		}
	}
}

// step is the argument: where a dry run goes on, nothing for a real one, which
// has that in its record.
func (g *collection) step() workflows.OperationGCStep {
	if g.in.DryRun {
		return g.in.Step
	}
	return workflows.OperationGCStep{}
}
