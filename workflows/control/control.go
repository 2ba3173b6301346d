// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package control is what all procedures share inside a workflow: the status
// query, the pause, resume and recheck signals, the phase shown in Temporal's
// UI, and the running of steps so that a failure is shown and tried again, not
// lost and not repeated in silence.
//
// It is workflow code: deterministic, no I/O, single-threaded.
package control

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
)

// Pauses between two tries of a step whose activity gave up. They double: an
// outage of minutes is caught soon, one of days costs little history.
const (
	firstPause = 15 * time.Second
	maxPause   = 15 * time.Minute
	// fencedPause is the pause after another attempt took the record over: it
	// needs only to end.
	fencedPause = 5 * time.Second
)

// A run that has this much history continues in a fresh one before its next
// step. Both stay well under what the UI and a replay handle at ease (2,000
// events, 1 MiB).
const (
	maxEvents = 1500
	maxBytes  = 768 << 10
)

// heardVersion marks histories in which a wake during a step ends the wait after
// it. Before, such a wake was lost, and the wait lasted as long as it could.
const heardVersion = "wake-during-a-step"

// BeatWithin is after how long without a heartbeat the worker of a page is taken for
// dead. With what the server adds to find that out and to begin again, another one is
// at work within twenty seconds. It is longer than any wait of a page.
const BeatWithin = 12 * time.Second

// PageOptions bounds one activity that works for about twenty seconds, its
// budget, and reports every page. The summary is shown in Temporal's pages.
func PageOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Minute,
		HeartbeatTimeout:    BeatWithin,
		WaitForCancellation: true, // no page is under way any more when the workflow ends
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 500 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 20 * time.Second, MaximumAttempts: 8,
		},
		Summary: summary,
	}
}

// bulkWait is how long an activity waits in the queue of bulk work before it is put
// at its end again. It loses nothing but its turn, and an operator sees that no
// worker takes such work; and a workflow that goes on with a release that does not
// know the queue is not stuck.
const bulkWait = 30 * time.Minute

// Bulk moves an activity to the queue of those that take long.
func Bulk(o workflow.ActivityOptions) workflow.ActivityOptions {
	o.TaskQueue, o.ScheduleToStartTimeout = workflows.BulkTaskQueue, bulkWait
	return o
}

// inPlace bounds an activity that runs inside a workflow task: less than the ten
// seconds after which the server gives the task to another worker, so that nobody else
// is at work on it. Waiting for a place in the worker is not counted by the first.
const (
	inPlace       = 8 * time.Second
	inPlaceQueued = time.Minute
)

// InPlace runs a short activity once, inside the workflow task: neither a queue nor the
// server is in between, and the workflow's end can be part of the same answer. What a
// server keeps of it is one event, not five in three transactions.
//
// ok is false when it failed, for whatever reason. [Step] with the same activity then
// does the work, shows the failure and tries again. A worker that dies takes the task
// with it and the next one runs the activity again, so it must be safe to run twice,
// also beside itself.
func InPlace[T any](ctx workflow.Context, p *Panel, summary, activity string, argument any) (result T, ok bool, err error) {
	if err := p.hold(ctx); err != nil {
		return result, false, err
	}
	p.heard = p.wakes
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: inPlace, ScheduleToCloseTimeout: inPlaceQueued,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: summary,
	})
	failure := workflow.ExecuteLocalActivity(ctx, activity, argument).Get(ctx, &result)
	return result, failure == nil, ctx.Err()
}

// ErrHistoryFull ends a run that must continue in a fresh history: the workflow
// returns a continue-as-new error with [Panel.Carry] in its input.
var ErrHistoryFull = errors.New("history is full: continue as new")

// Panel is the control panel of one run.
type Panel struct {
	// root is the workflow's own context: details set on a derived one are lost.
	root   workflow.Context
	status workflows.Status
	wakes  int
	// heard is how many wakes there were when the last step began: one that came
	// during the step may be about something the step did not see any more.
	heard int
	// noting is how many signals are being written into the audit.
	noting int
}

// Open installs the query and the signals. It is the first thing a workflow
// does.
func Open(ctx workflow.Context, ref workflows.Ref, carry workflows.Carry) (*Panel, error) {
	p := &Panel{root: ctx, status: workflows.Status{
		Procedure: ref.Kind, ID: ref.ID, Started: workflow.Now(ctx), Updated: workflow.Now(ctx),
		Paused: carry.Paused, Runs: carry.Runs + 1, LastError: carry.LastError, LastErrorAt: carry.LastErrorAt,
	}}
	if carry.Started != nil {
		p.status.Started = *carry.Started
	}
	if err := workflow.SetQueryHandler(ctx, workflows.StatusQuery, p.Status); err != nil {
		return nil, err
	}
	if err := p.takeOrders(ctx, ref); err != nil {
		return nil, err
	}
	workflow.Go(ctx, func(ctx workflow.Context) { p.listen(ctx, ref) })
	return p, nil
}

// takeOrders installs the updates that the kind's manual knows. The order goes
// into the record first; what the workflow then does, it does because of that.
func (p *Panel) takeOrders(ctx workflow.Context, ref workflows.Ref) error {
	manual, _ := workflows.ManualOf(ref.Kind)
	if manual.Acknowledgements != nil {
		if err := p.update(ctx, ref, workflows.ApproveUpdate, func(in workflows.OrderInput) error {
			if p.status.Phase != workflows.PhaseApproval {
				return lake.Errorf(lake.Precondition, "it is in phase %q and waits for no approval", p.status.Phase)
			}
			return workflows.CheckAcknowledgements(ref.Kind, in.Acknowledgements)
		}); err != nil {
			return err
		}
	}
	if !manual.Rated {
		return nil
	}
	return p.update(ctx, ref, workflows.RateUpdate, func(in workflows.OrderInput) error {
		if in.Rate < 0 {
			return lake.Errorf(lake.Invalid, "rate %v: want 0 for no bound, or items a second", in.Rate)
		}
		return nil
	})
}

// orderOptions bounds the recording of an order: a few commits.
var orderOptions = workflow.ActivityOptions{
	StartToCloseTimeout: 30 * time.Second,
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second, MaximumAttempts: 5},
	Summary:             "record an operator's order",
}

func (p *Panel) update(ctx workflow.Context, ref workflows.Ref, name string, check func(workflows.OrderInput) error) error {
	handle := func(ctx workflow.Context, in workflows.OrderInput) (workflows.Status, error) {
		step := workflows.OrderStep{Kind: ref.Kind, ID: ref.ID, Update: name, Order: in}
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, orderOptions), workflows.OrderActivity, step).Get(ctx, nil)
		p.wakes++
		return p.status, err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, name, handle, workflow.UpdateHandlerOptions{
		Validator: func(in workflows.OrderInput) error { return errors.Join(in.Check(), check(in)) },
	})
}

// Close waits until no update is under way and every signal is in the audit, and
// returns err: a workflow ends with it, or continues in a fresh history.
func (p *Panel) Close(err error) error {
	ctx, cancel := workflow.NewDisconnectedContext(p.root)
	defer cancel()
	if e := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) && p.noting == 0 }); e != nil && err == nil {
		return e
	}
	return err
}

// Status answers the query.
func (p *Panel) Status() (workflows.Status, error) { return p.status, nil }

// Carry is what the next run needs of this one.
func (p *Panel) Carry() workflows.Carry {
	started := p.status.Started
	return workflows.Carry{
		Runs: p.status.Runs, Paused: p.status.Paused, Started: &started,
		LastError: p.status.LastError, LastErrorAt: p.status.LastErrorAt,
	}
}

// listen handles signals for the life of the run.
func (p *Panel) listen(ctx workflow.Context, ref workflows.Ref) {
	selector := workflow.NewSelector(ctx)
	on := func(name string, act func(converter.RawValue)) {
		selector.AddReceive(workflow.GetSignalChannel(ctx, name), func(c workflow.ReceiveChannel, _ bool) {
			var raw converter.RawValue // whatever was sent, the signal counts
			c.Receive(ctx, &raw)
			act(raw)
		})
	}
	on(workflows.PauseSignal, func(in converter.RawValue) {
		p.status.Paused = true
		p.note(ctx, ref, workflows.PauseSignal, in)
	})
	on(workflows.ResumeSignal, func(in converter.RawValue) {
		p.status.Paused = false
		p.wakes++
		p.note(ctx, ref, workflows.ResumeSignal, in)
	})
	on(workflows.RecheckSignal, func(converter.RawValue) { p.wakes++ })
	for ctx.Err() == nil {
		selector.Select(ctx)
	}
}

// noteVersion marks histories in which a signal from outside is written into the
// audit.
const noteVersion = "note-signals"

// noteOptions bounds the writing of one line. A signal has nobody to tell of a
// failure, so it is tried for long.
var noteOptions = workflow.ActivityOptions{
	StartToCloseTimeout:    30 * time.Second,
	ScheduleToCloseTimeout: time.Hour,
	RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second},
	Summary:                "note a signal in the audit",
}

// note writes a signal into the procedure's audit, unless Lake itself sent it and
// has done so: the signal holds this one workflow only, but who looks at the audit
// later must find it.
func (p *Panel) note(ctx workflow.Context, ref workflows.Ref, name string, raw converter.RawValue) {
	var in workflows.SignalInput
	if payload := raw.Payload(); payload != nil {
		_ = converter.GetDefaultDataConverter().FromPayload(payload, &in) // or nobody gave a name
	}
	if in.Recorded || workflow.GetVersion(ctx, noteVersion, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return
	}
	step := workflows.OrderStep{Kind: ref.Kind, ID: ref.ID, Update: name, Order: workflows.OrderInput{By: in.By, Reason: in.Reason}}
	p.noting++
	workflow.Go(ctx, func(ctx workflow.Context) {
		ctx, cancel := workflow.NewDisconnectedContext(ctx) // a cancellation must not lose the line
		defer cancel()
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, noteOptions), workflows.OrderActivity, step).Get(ctx, nil)
		if err != nil {
			now := workflow.Now(ctx)
			p.status.LastError, p.status.LastErrorAt = describe(workflows.OrderActivity, err), &now
		}
		p.noting--
	})
}

// Shown takes the phase over with which the workflow was started, so that entering it
// needs no event of its own. A workflow that begins to call it does so behind a
// version: histories of before have that event.
func (p *Panel) Shown(ctx workflow.Context) {
	if phase, ok := workflow.GetTypedSearchAttributes(ctx).GetKeyword(workflows.AttributePhase); ok {
		p.status.Phase = workflows.Phase(phase)
	}
}

// Enter shows the phase and what it does.
func (p *Panel) Enter(ctx workflow.Context, phase workflows.Phase, note string) error {
	changed := phase != p.status.Phase
	p.status.Phase, p.status.Note = phase, note
	if changed {
		p.status.Estimate = nil // it was of the phase before
	}
	p.show()
	if !changed {
		return nil
	}
	return workflow.UpsertTypedSearchAttributes(ctx, workflows.AttributePhase.ValueSet(string(phase)))
}

// Progress shows the counters and their rates since the moment given, and how far
// the phase is.
func (p *Panel) Progress(ctx workflow.Context, since time.Time, counters workflows.Counters, estimate *workflows.Estimate) {
	p.status.Estimate = estimate
	seconds := workflow.Now(ctx).Sub(since).Seconds()
	for _, name := range workflow.DeterministicKeys(counters) {
		if moved := counters[name] - p.status.Counters[name]; moved > 0 && seconds > 0 {
			if p.status.PerSecond == nil {
				p.status.PerSecond = map[string]float64{}
			}
			p.status.PerSecond[name] = float64(moved) / seconds
		}
	}
	if counters != nil {
		p.status.Counters = counters
	}
	p.show()
}

// SleepUntil waits for a moment, or for a recheck or resume signal if one comes
// before. It sleeps for a second at least, so that clocks that disagree make
// nobody spin.
func (p *Panel) SleepUntil(ctx workflow.Context, t time.Time, why string) error {
	p.status.WaitingUntil = &t
	p.show()
	err := p.sleep(ctx, max(time.Second, t.Sub(workflow.Now(ctx))), why)
	p.status.WaitingUntil = nil
	return err
}

func (p *Panel) sleep(ctx workflow.Context, d time.Duration, why string) error {
	wakes := p.wakes
	if wakes != p.heard && workflow.GetVersion(ctx, heardVersion, workflow.DefaultVersion, 1) == 1 {
		p.heard = wakes
		return ctx.Err()
	}
	_, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout: d, TimerOptions: workflow.TimerOptions{Summary: why},
	}, func() bool { return p.wakes != wakes })
	return err
}

// Step runs an activity until it succeeds and returns its result. Before each
// try it holds while the procedure is paused. After a failure it shows the
// error, waits, and tries again; only a cancellation, [ErrHistoryFull] and an argument
// that is too large come back as errors.
func Step[T any](ctx workflow.Context, p *Panel, options workflow.ActivityOptions, activity string, argument any) (T, error) {
	var result T
	if err := workflows.CheckPayload("the argument of "+activity, argument); err != nil {
		// No try makes it smaller, and nobody would see why.
		return result, temporal.NewNonRetryableApplicationError(err.Error(), lake.Invalid.String(), err)
	}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		if err := p.hold(ctx); err != nil {
			return result, err
		}
		p.heard = p.wakes
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), activity, argument).Get(ctx, &result)
		if err == nil {
			return result, nil
		}
		if ctx.Err() != nil || temporal.IsCanceledError(err) {
			return result, ctx.Err()
		}
		if kind(err) == workflows.HeldFailure {
			if err := p.heldByRecord(ctx, pause); err != nil {
				return result, err
			}
			continue
		}
		if err := p.blocked(ctx, activity, err, pause); err != nil {
			return result, err
		}
	}
}

// hold waits while paused, and ends the run when its history is full.
func (p *Panel) hold(ctx workflow.Context) error {
	info := workflow.GetInfo(ctx)
	if info.GetCurrentHistoryLength() > maxEvents || info.GetCurrentHistorySize() > maxBytes || info.GetContinueAsNewSuggested() {
		return ErrHistoryFull
	}
	if !p.status.Paused {
		return ctx.Err()
	}
	phase, note := p.status.Phase, p.status.Note
	if err := p.Enter(ctx, workflows.PhasePaused, "held by an operator before: "+note+"; resume to go on"); err != nil {
		return err
	}
	if err := workflow.Await(ctx, func() bool { return !p.status.Paused }); err != nil {
		return err
	}
	return p.Enter(ctx, phase, note)
}

// heldByRecord waits while the procedure's record says that it is paused. A
// resume is in the record first and a signal second; should the signal get lost,
// the record is looked at again after the pause.
func (p *Panel) heldByRecord(ctx workflow.Context, pause time.Duration) error {
	phase, note := p.status.Phase, p.status.Note
	p.status.Paused = true
	if err := p.Enter(ctx, workflows.PhasePaused, "held by an operator before: "+note+"; `lake procedure resume` lets it go on"); err != nil {
		return err
	}
	_, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout: pause, TimerOptions: workflow.TimerOptions{Summary: "paused; the record is looked at again then"},
	}, func() bool { return !p.status.Paused })
	if err != nil {
		return err
	}
	p.status.Paused = false
	return p.Enter(ctx, phase, note)
}

// blocked shows a failure and waits.
func (p *Panel) blocked(ctx workflow.Context, activity string, failure error, pause time.Duration) error {
	now := workflow.Now(ctx)
	p.status.LastError, p.status.LastErrorAt = describe(activity, failure), &now
	switch {
	case kind(failure) == lake.Fenced.String():
		return p.sleep(ctx, fencedPause, "another attempt is at work")
	case notTaken(failure):
		return p.sleep(ctx, fencedPause, "back into the queue")
	}
	phase, note := p.status.Phase, p.status.Note
	err := p.Enter(ctx, workflows.PhaseBlocked, fmt.Sprintf("a step failed; tried again in %s or on resume", pause))
	if err != nil {
		return err
	}
	if err := p.sleep(ctx, pause, "pause after a failed step"); err != nil {
		return err
	}
	return p.Enter(ctx, phase, note)
}

// describe is the failure without the envelope that names queues and workers.
func describe(activity string, failure error) string {
	var (
		app     *temporal.ApplicationError
		timeout *temporal.TimeoutError
	)
	switch {
	case errors.As(failure, &app):
		return fmt.Sprintf("%s: %s (%s)", activity, app.Message(), app.Type())
	case notTaken(failure):
		return fmt.Sprintf("%s: no worker of its class had a free place for %s", activity, bulkWait)
	case errors.As(failure, &timeout):
		return fmt.Sprintf("%s: timed out (%s)", activity, timeout.TimeoutType())
	}
	return activity + ": failed"
}

// notTaken reports whether no worker took the activity in time.
func notTaken(failure error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(failure, &timeout) && timeout.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START
}

// kind is the failure's error kind by name, or empty.
func kind(failure error) string {
	var app *temporal.ApplicationError
	if errors.As(failure, &app) {
		return app.Type()
	}
	return ""
}

// show writes the status where Temporal's UI shows it.
func (p *Panel) show() {
	p.status.Updated = workflow.Now(p.root)
	workflow.SetCurrentDetails(p.root, details(p.status))
}

// details is the status in Markdown.
func details(s workflows.Status) string {
	var b strings.Builder
	b.WriteString(fmt.Sprintf("**%s**: %s\n", s.Phase, s.Note))
	if s.WaitingUntil != nil {
		b.WriteString("\nwaiting until " + s.WaitingUntil.UTC().Format(time.RFC3339) + "\n")
	}
	for _, name := range workflow.DeterministicKeys(s.Counters) {
		b.WriteString(fmt.Sprintf("\n- %s: %d", strings.ReplaceAll(name, "_", " "), s.Counters[name]))
		if rate := s.PerSecond[name]; rate > 0 {
			b.WriteString(fmt.Sprintf(" (%.0f/s)", rate))
		}
	}
	if e := s.Estimate; e != nil {
		b.WriteString(estimate(s.Counters, *e))
	}
	if s.LastError != "" {
		b.WriteString("\n\nlast error, " + s.LastErrorAt.UTC().Format(time.RFC3339) + ": " + s.LastError)
	}
	return b.String()
}

// estimate is how far a phase is, in Markdown.
func estimate(counters workflows.Counters, e workflows.Estimate) string {
	if e.Total <= 0 {
		return ""
	}
	about := ""
	if e.About {
		about = "about "
	}
	text := fmt.Sprintf("\n\n%d %% of %s%d %s", min(100, 100*counters[e.Of]/e.Total), about, e.Total, strings.ReplaceAll(e.Of, "_", " "))
	if e.PerSecond > 0 {
		text += fmt.Sprintf(", %.0f/s", e.PerSecond)
	}
	if e.End != nil {
		text += ", done at about " + e.End.UTC().Format(time.RFC3339)
	}
	return text
}
