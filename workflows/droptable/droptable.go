// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package droptable is the procedure that deletes what a dropped table leaves
// behind.
//
//	id       drop-table/<namespace>/<name>/<incarnation>
//	intent   the tombstone drop/<namespace>/<name>/<incarnation>
//	record   procedure/drop-table/<namespace>/<name>/<incarnation>
//	queries  status         signals  pause, resume, recheck
//
// Cancelling the workflow in Temporal stops it after the page under way. The
// tombstone stays, so the table's objects count as dropped, and the next sweep
// starts the drop again. An operator's order (lake procedure cancel) is in the
// record, and the sweep leaves it alone. To hold a drop, pause it. To take one back, undrop the table while
// its window is open; the workflow then ends as undone.
package droptable

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/lakeplane/lake/workflows"
	"github.com/lakeplane/lake/workflows/control"
)

// pageOptions bounds one activity. It works for about twenty seconds (its
// budget) and reports every few hundred objects, so a dead worker is noticed
// after the heartbeat timeout, and a page that takes two minutes is stuck.
func pageOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Minute,
		HeartbeatTimeout:    control.BeatWithin,
		WaitForCancellation: true, // no page is under way any more when the workflow ends
		RetryPolicy:         attempts,
		Summary:             summary,
	}
}

// attempts rides out a throttled or restarting service, for about a minute.
// After that the step counts as failed: the workflow shows the error and tries
// again at a slower pace.
var attempts = &temporal.RetryPolicy{
	InitialInterval:    500 * time.Millisecond,
	BackoffCoefficient: 2,
	MaximumInterval:    20 * time.Second,
	MaximumAttempts:    8,
}

// inPlaceVersion marks histories in which the steps of a small drop run inside the
// workflow task, and in which the phase it was started in needs no event. Before, each
// was an activity of its own.
const inPlaceVersion = "small-drop-in-place"

// DropTable is the workflow.
func DropTable(ctx workflow.Context, in workflows.DropTableInput) (workflows.DropTableResult, error) {
	panel, err := control.Open(ctx, in.Ref(), in.Carry)
	if err != nil {
		return workflows.DropTableResult{}, err
	}
	d := &drop{panel: panel, step: in.Step()}
	if workflow.GetVersion(ctx, inPlaceVersion, workflow.DefaultVersion, 1) == 1 {
		d.inPlace = true
		panel.Shown(ctx)
	}
	err = d.run(ctx)
	if errors.Is(err, control.ErrHistoryFull) {
		in.Carry = panel.Carry()
		err = workflow.NewContinueAsNewError(ctx, workflows.DropTableWorkflow, in)
	}
	return d.result, panel.Close(err)
}

type drop struct {
	panel  *control.Panel
	step   workflows.DropStep
	result workflows.DropTableResult
	// large: a quick first step did not get through.
	large bool
	// inPlace: what is short runs inside the workflow task.
	inPlace bool
}

// run is the runbook. Every step says itself when it is done, so a run that
// starts in the middle, after a crash or in a fresh history, passes quickly over
// what was done before.
func (d *drop) run(ctx workflow.Context) error {
	// 1. Wait until the undrop window has closed, then record the point of no
	// return: from there on an undrop is refused.
	// Of a small table this step does all that follows, too, as far as it gets.
	last, err := d.repeat(ctx, workflows.PhaseWaiting, workflows.DropBegin, "undrop window is open; nothing was deleted")
	for err == nil && !last.Over {
		at := last.Phase
		d.large = at == workflows.PhaseObjects || at == workflows.PhaseHistory
		// 2. Delete the objects under the table's location, page by page.
		if at != workflows.PhaseHistory && at != workflows.PhaseFinishing {
			if last, err = d.repeat(ctx, workflows.PhaseObjects, workflows.DropDeleteObjects, "deleting the table's objects"); err != nil || last.Over {
				break
			}
		}
		// 3. Delete the records of the table's versions.
		if at != workflows.PhaseFinishing {
			if last, err = d.repeat(ctx, workflows.PhaseHistory, workflows.DropClearHistory, "deleting the table's version records"); err != nil || last.Over {
				break
			}
		}
		if err = d.settle(ctx, at, last.Wait); err != nil {
			break
		}
		// 4. Verify that nothing is left and delete the tombstone. What an
		// append left behind that was under way during the drop sends us back.
		last, err = d.repeat(ctx, workflows.PhaseFinishing, workflows.DropFinish, "verifying that nothing is left")
	}
	if err != nil {
		return err
	}
	d.result.Undone, d.result.Stopped = last.Undone, last.Stopped
	if last.Stopped {
		return d.panel.Enter(ctx, workflows.PhaseDone, "cancelled by an operator; what was not deleted is left behind until a retry")
	}
	if last.Undone {
		return d.panel.Enter(ctx, workflows.PhaseDone, "the table was undropped; nothing was deleted")
	}
	return d.panel.Enter(ctx, workflows.PhaseDone, "nothing is left of the table")
}

// repeat runs an activity until it says that the step is done, that there is
// something to do again, or that the drop is over.
func (d *drop) repeat(ctx workflow.Context, phase workflows.Phase, activity, note string) (workflows.DropProgress, error) {
	if err := d.panel.Enter(ctx, phase, note); err != nil {
		return workflows.DropProgress{}, err
	}
	for first := true; ; first = false {
		step, options := d.page(activity, note, first)
		began := workflow.Now(ctx)
		progress, err := d.do(ctx, options, activity, step)
		if err != nil {
			return progress, err
		}
		d.panel.Progress(ctx, began, progress.Counters, progress.Estimate)
		if progress.Counters != nil {
			d.result.Counters = progress.Counters
		}
		switch {
		case progress.Over, progress.Done, progress.Again:
			return progress, nil
		case progress.Wait != nil:
			if err := d.panel.SleepUntil(ctx, *progress.Wait, note); err != nil {
				return progress, err
			}
		}
	}
}

// do runs an activity. What takes a second or two, as the whole of a small drop does, is
// tried in place first; whatever keeps it from that is for the activity to tell.
func (d *drop) do(ctx workflow.Context, options workflow.ActivityOptions, activity string, step workflows.DropStep) (workflows.DropProgress, error) {
	if d.inPlace && (activity == workflows.DropBegin || activity == workflows.DropFinish && !d.large) {
		if progress, ok, err := control.InPlace[workflows.DropProgress](ctx, d.panel, options.Summary, activity, step); ok || err != nil {
			return progress, err
		}
	}
	return control.Step[workflows.DropProgress](ctx, d.panel, options, activity, step)
}

// settle waits for what a first step found that had come as far as the verification.
func (d *drop) settle(ctx workflow.Context, at workflows.Phase, until *time.Time) error {
	if at != workflows.PhaseFinishing || until == nil {
		return nil
	}
	const note = "verifying that nothing is left"
	if err := d.panel.Enter(ctx, workflows.PhaseFinishing, note); err != nil {
		return err
	}
	return d.panel.SleepUntil(ctx, *until, note)
}

// page returns how the activity is run. What is over after a first short page is
// a small table; the rest of a large one is bulk, so that ten thousand small drops
// never wait for a huge one.
func (d *drop) page(activity, note string, first bool) (workflows.DropStep, workflow.ActivityOptions) {
	step, options := d.step, pageOptions(note)
	paged := activity == workflows.DropDeleteObjects || activity == workflows.DropClearHistory
	step.Quick = activity == workflows.DropBegin || paged && first && !d.large
	if paged && !step.Quick {
		options = control.Bulk(options)
	}
	return step, options
}
