// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package tablemaintenance is the procedure that joins what many small appends
// left behind in a table, and then deletes what its old versions left behind.
//
//	id       table-maintenance/<namespace>/<name>/<incarnation>
//	intent   the record procedure/table-maintenance/<namespace>/<name>/<incarnation>, while it is open
//	queries  status         signals  pause, resume, recheck
//
// Cancelling the workflow stops the copy or the delete under way; nothing refers
// to what was written, or needs what was deleted. The record stays open and the next sweep starts it again. A table that
// is dropped meanwhile ends it; when the drop is undone, the planner looks at
// the table as at any other.
package tablemaintenance

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/lakeplane/lake/workflows"
	"github.com/lakeplane/lake/workflows/control"
)

// options bounds one activity: one compaction of a few gigabytes and its
// commit. It reports every few seconds, so a dead worker is noticed soon, and
// its lease goes on only while it does.
var options = control.Bulk(workflow.ActivityOptions{
	StartToCloseTimeout: time.Hour,
	HeartbeatTimeout:    30 * time.Second,
	WaitForCancellation: true, // no copy is under way any more when the workflow ends
	RetryPolicy: &temporal.RetryPolicy{
		InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second, MaximumAttempts: 6,
	},
	Summary: "join small pieces of data and commit the next version",
})

// TableMaintenance is the workflow.
func TableMaintenance(ctx workflow.Context, in workflows.TableMaintenanceInput) (workflows.TableMaintenanceResult, error) {
	panel, err := control.Open(ctx, in.Ref(), in.Carry)
	if err != nil {
		return workflows.TableMaintenanceResult{}, err
	}
	m := &maintenance{panel: panel, step: in.Step()}
	err = m.run(ctx)
	if errors.Is(err, control.ErrHistoryFull) {
		in.Carry = panel.Carry()
		err = workflow.NewContinueAsNewError(ctx, workflows.TableMaintenanceWorkflow, in)
	}
	return m.result, panel.Close(err)
}

type maintenance struct {
	panel  *control.Panel
	step   workflows.MaintenanceStep
	result workflows.TableMaintenanceResult
}

// What the phases are doing, for people.
const (
	compacting = "joining what small appends left behind; appends and reads go on"
	reclaiming = "deleting what no version that stays needs; appends and reads go on"
)

// reclaimOptions bound one activity of the clean-up: a budget of half a minute,
// after the manifests of all versions that stay were read.
var reclaimOptions = func() workflow.ActivityOptions {
	o := options
	o.Summary = "delete what the versions that stay do not need"
	return o
}()

// reclaimChange marks histories in which a clean-up follows the compaction.
const reclaimChange = "reclaim"

// run compacts until nothing is left that is worth while, and then cleans up
// until nothing is left to delete. Each compaction commits a version of its own,
// so what it joined is of use at once.
func (m *maintenance) run(ctx workflow.Context) error {
	over := "nothing is left that is worth joining"
	if err := m.steps(ctx, workflows.PhaseCompacting, compacting, options, workflows.MaintenanceCompact); err != nil {
		return err
	}
	if !m.result.Gone && !m.result.Stopped && workflow.GetVersion(ctx, reclaimChange, workflow.DefaultVersion, 1) == 1 {
		over = "nothing is left to join or to delete"
		if err := m.steps(ctx, workflows.PhaseReclaiming, reclaiming, reclaimOptions, workflows.MaintenanceReclaim); err != nil {
			return err
		}
	}
	switch {
	case m.result.Gone:
		over = "the table was dropped; it is left to its drop"
	case m.result.Stopped:
		over = "cancelled by an operator; the versions that were committed are whole"
	}
	return m.panel.Enter(ctx, workflows.PhaseDone, over)
}

// steps repeats an activity until it says that it is over.
func (m *maintenance) steps(ctx workflow.Context, phase workflows.Phase, note string, opts workflow.ActivityOptions, name string) error {
	if err := m.panel.Enter(ctx, phase, note); err != nil {
		return err
	}
	for {
		began := workflow.Now(ctx)
		done, err := control.Step[workflows.MaintenanceProgress](ctx, m.panel, opts, name, m.step)
		if err != nil {
			return err
		}
		m.panel.Progress(ctx, began, done.Counters, done.Estimate)
		if done.Counters != nil {
			m.result.Counters = done.Counters
		}
		m.result.Gone = m.result.Gone || done.Gone
		m.result.Stopped = m.result.Stopped || done.Stopped
		switch {
		case done.Over || done.Gone || done.Stopped:
			return nil
		case done.Wait != nil:
			if err := m.panel.SleepUntil(ctx, *done.Wait, "every place for a maintenance is taken"); err != nil {
				return err
			}
		}
	}
}
