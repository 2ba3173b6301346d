// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package droptable_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
	"github.com/lakeplane/lake/workflows/droptable"
)

var input = workflows.DropTableInput{Namespace: "robots", Name: "t", Incarnation: lake.NewID()}

// fake is a drop whose activities follow a script, by name; the last entry of a
// script repeats.
type fake struct {
	env    *testsuite.TestWorkflowEnvironment
	script map[string][]answer
	calls  []string
	full   []string // with a "?" for those asked to be quick
	noted  []string // signals, and who sent them
}

type answer struct {
	progress workflows.DropProgress
	err      error
}

func done(counters ...int64) answer {
	p := workflows.DropProgress{Done: true}
	if len(counters) > 0 {
		p.Counters = workflows.Counters{workflows.CountObjects: counters[0]}
	}
	return answer{progress: p}
}

func page(n int64) answer {
	return answer{progress: workflows.DropProgress{Counters: workflows.Counters{workflows.CountObjects: n}}}
}

func over(undone bool) answer {
	return answer{progress: workflows.DropProgress{Over: true, Undone: undone}}
}

func failure(kind lake.Kind, final bool) answer {
	return answer{err: temporal.NewApplicationErrorWithOptions("it broke", kind.String(), temporal.ApplicationErrorOptions{NonRetryable: final})}
}

func newFake(t *testing.T, script map[string][]answer) *fake {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	f := &fake{env: suite.NewTestWorkflowEnvironment(), script: map[string][]answer{
		workflows.DropBegin: {done()}, workflows.DropDeleteObjects: {done(1)},
		workflows.DropClearHistory: {done()}, workflows.DropFinish: {over(false)},
	}}
	for name, answers := range script {
		f.script[name] = answers
	}
	f.env.SetTestTimeout(time.Minute)
	f.env.RegisterActivityWithOptions(func(_ context.Context, step workflows.OrderStep) error {
		f.noted = append(f.noted, step.Update+" by "+step.Order.By)
		return nil
	}, activity.RegisterOptions{Name: workflows.OrderActivity})
	f.env.RegisterWorkflowWithOptions(droptable.DropTable, workflow.RegisterOptions{Name: workflows.DropTableWorkflow})
	for name := range f.script {
		f.env.RegisterActivityWithOptions(func(ctx context.Context, step workflows.DropStep) (workflows.DropProgress, error) {
			call := name[len("DropTable."):]
			if queue := activity.GetInfo(ctx).TaskQueue; queue == workflows.BulkTaskQueue {
				call += "@bulk"
			}
			if step.Quick {
				call += "?"
			}
			step.Quick = false
			require.Equal(t, input.Step(), step)
			f.calls = append(f.calls, strings.TrimSuffix(call, "?"))
			f.full = append(f.full, call)
			a := f.script[name][0]
			if len(f.script[name]) > 1 {
				f.script[name] = f.script[name][1:]
			}
			return a.progress, a.err
		}, activity.RegisterOptions{Name: name})
	}
	return f
}

func (f *fake) run(in workflows.DropTableInput) {
	f.env.ExecuteWorkflow(workflows.DropTableWorkflow, in)
}

func (f *fake) result(t *testing.T) workflows.DropTableResult {
	t.Helper()
	require.True(t, f.env.IsWorkflowCompleted())
	require.NoError(t, f.env.GetWorkflowError())
	var r workflows.DropTableResult
	require.NoError(t, f.env.GetWorkflowResult(&r))
	return r
}

func (f *fake) status(t *testing.T) workflows.Status {
	t.Helper()
	v, err := f.env.QueryWorkflow(workflows.StatusQuery)
	require.NoError(t, err)
	var s workflows.Status
	require.NoError(t, v.Get(&s))
	return s
}

// at runs something when the given workflow time has passed.
func (f *fake) at(d time.Duration, do func()) { f.env.RegisterDelayedCallback(do, d) }

func (f *fake) called() string { return strings.Join(f.calls, " ") }

func TestTheStepsInOrder(t *testing.T) {
	f := newFake(t, map[string][]answer{workflows.DropDeleteObjects: {page(10), page(20), done(25)}})
	f.run(input)
	r := f.result(t)
	require.Equal(t, "Begin? DeleteObjects? DeleteObjects@bulk DeleteObjects@bulk ClearHistory? Finish", strings.Join(f.full, " "))
	require.False(t, r.Undone)
	require.EqualValues(t, 25, r.Counters[workflows.CountObjects])
	s := f.status(t)
	require.Equal(t, workflows.PhaseDone, s.Phase)
	require.EqualValues(t, 25, s.Counters[workflows.CountObjects])
	require.Empty(t, s.LastError)
}

func TestTheWindowIsWaitedFor(t *testing.T) {
	f := newFake(t, nil)
	end := f.env.Now().Add(24 * time.Hour)
	f.script[workflows.DropBegin] = []answer{{progress: workflows.DropProgress{Wait: &end}}, done()}
	f.at(23*time.Hour, func() {
		s := f.status(t)
		require.Equal(t, workflows.PhaseWaiting, s.Phase)
		require.WithinDuration(t, end, *s.WaitingUntil, time.Second)
		require.Equal(t, "Begin", f.called())
	})
	f.run(input)
	f.result(t)
	require.False(t, f.env.Now().Before(end))
	require.Equal(t, "Begin Begin DeleteObjects ClearHistory Finish", f.called())
	require.Nil(t, f.status(t).WaitingUntil)
}

func TestAnUndropDuringTheWindow(t *testing.T) {
	f := newFake(t, nil)
	start := f.env.Now()
	end := start.Add(24 * time.Hour)
	f.script[workflows.DropBegin] = []answer{{progress: workflows.DropProgress{Wait: &end}}, over(true)}
	f.at(time.Hour, func() { f.env.SignalWorkflow(workflows.RecheckSignal, nil) })
	f.run(input)
	require.True(t, f.result(t).Undone)
	require.Equal(t, "Begin Begin", f.called())
	require.Less(t, f.env.Now().Sub(start), 2*time.Hour, "the signal did not end the wait")
}

func TestSomethingLeftSendsItBack(t *testing.T) {
	f := newFake(t, map[string][]answer{
		workflows.DropFinish: {{progress: workflows.DropProgress{Again: true}}, over(false)},
	})
	f.run(input)
	f.result(t)
	require.Equal(t, "Begin DeleteObjects ClearHistory Finish DeleteObjects ClearHistory Finish", f.called())
}

func TestPauseHoldsBeforeTheNextStep(t *testing.T) {
	f := newFake(t, nil)
	end := f.env.Now().Add(time.Hour)
	f.script[workflows.DropBegin] = []answer{{progress: workflows.DropProgress{Wait: &end}}, done()}
	f.at(10*time.Minute, func() { f.env.SignalWorkflow(workflows.PauseSignal, nil) })
	f.at(5*time.Hour, func() {
		s := f.status(t)
		require.True(t, s.Paused)
		require.Equal(t, workflows.PhasePaused, s.Phase)
		require.Equal(t, "Begin", f.called())
		f.env.SignalWorkflow(workflows.ResumeSignal, nil)
	})
	f.run(input)
	f.result(t)
	require.False(t, f.status(t).Paused)
	require.Equal(t, "Begin Begin DeleteObjects ClearHistory Finish", f.called())
}

func TestAFailureIsShownAndTriedAgain(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fail  answer
		tries int // attempts Temporal makes before the step counts as failed
	}{
		{"final", failure(lake.Corrupt, true), 1},
		{"retryable", failure(lake.Unavailable, false), 8},
	} {
		t.Run(tc.name, func(t *testing.T) {
			script := []answer{}
			for range tc.tries {
				script = append(script, tc.fail)
			}
			f := newFake(t, map[string][]answer{workflows.DropDeleteObjects: append(script, done(3))})
			var seen workflows.Status
			for second := range 120 {
				f.at(time.Duration(second+1)*time.Second, func() {
					if s := f.status(t); s.Phase == workflows.PhaseBlocked {
						seen = s
					}
				})
			}
			f.run(input)
			f.result(t)
			require.Len(t, f.calls, tc.tries+1+3)
			require.Equal(t, workflows.PhaseBlocked, seen.Phase)
			require.Contains(t, seen.LastError, "it broke")
			require.NotNil(t, seen.LastErrorAt)
			require.Contains(t, f.status(t).LastError, "it broke", "the last error stays in sight")
		})
	}
}

func TestResumeEndsTheWaitAfterAFailure(t *testing.T) {
	var script []answer
	for range 6 { // pauses of 15 s, 30 s, 1, 2, 4 and 8 minutes
		script = append(script, failure(lake.Denied, true))
	}
	f := newFake(t, map[string][]answer{workflows.DropDeleteObjects: append(script, done())})
	start := f.env.Now()
	f.at(8*time.Minute, func() { f.env.SignalWorkflow(workflows.ResumeSignal, nil) })
	f.run(input)
	f.result(t)
	require.Less(t, f.env.Now().Sub(start), 9*time.Minute)
}

func TestAFencedAttemptIsTriedAgainSoon(t *testing.T) {
	f := newFake(t, map[string][]answer{workflows.DropDeleteObjects: {failure(lake.Fenced, true), done()}})
	start := f.env.Now()
	f.run(input)
	f.result(t)
	require.Less(t, f.env.Now().Sub(start), 10*time.Second)
}

func TestCancellationEndsTheWorkflow(t *testing.T) {
	f := newFake(t, nil)
	end := f.env.Now().Add(time.Hour)
	f.script[workflows.DropBegin] = []answer{{progress: workflows.DropProgress{Wait: &end}}}
	f.at(time.Minute, f.env.CancelWorkflow)
	f.run(input)
	require.True(t, f.env.IsWorkflowCompleted())
	require.True(t, temporal.IsCanceledError(f.env.GetWorkflowError()), "%v", f.env.GetWorkflowError())
	require.Equal(t, "Begin", f.called())
}

func TestAFullHistoryContinuesInAFreshOne(t *testing.T) {
	f := newFake(t, map[string][]answer{workflows.DropDeleteObjects: {page(1)}})
	f.env.SetCurrentHistoryLength(100)
	f.at(time.Minute, func() { t.Error("it did not end by itself") })
	n := 0
	f.env.SetOnActivityCompletedListener(func(*activity.Info, converter.EncodedValue, error) {
		if n++; n == 5 {
			f.env.SetCurrentHistoryLength(1501)
		}
	})
	f.run(input)
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, f.env.GetWorkflowError(), &again)
	require.Equal(t, workflows.DropTableWorkflow, again.WorkflowType.Name, "a run under another name would never start")
	var next workflows.DropTableInput
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	require.Equal(t, input.Ref(), next.Ref())
	require.Equal(t, 1, next.Carry.Runs)
	require.NotNil(t, next.Carry.Started)

	second := newFake(t, nil)
	next.Carry.Paused = true
	second.at(time.Minute, func() {
		require.Empty(t, second.called(), "a pause was lost between two histories")
		second.env.SignalWorkflow(workflows.ResumeSignal, nil)
	})
	second.run(next)
	second.result(t)
	require.Equal(t, 2, second.status(t).Runs)
	require.True(t, second.status(t).Started.Equal(*next.Carry.Started))
}

func TestTheSearchAttributesFollowThePhase(t *testing.T) {
	f := newFake(t, nil)
	var phases []string
	f.env.OnUpsertTypedSearchAttributes(mock.MatchedBy(func(a temporal.SearchAttributes) bool {
		phase, ok := a.GetKeyword(workflows.AttributePhase)
		if ok && (len(phases) == 0 || phases[len(phases)-1] != phase) { // a matcher may be asked twice
			phases = append(phases, phase)
		}
		return ok
	})).Return(nil)
	f.run(input)
	f.result(t)
	require.Equal(t, []string{"waiting", "deleting-objects", "clearing-history", "finishing", "done"}, phases)
}

// TestARecheckDuringAStepIsNotLost: the step may have read the intent before it
// changed, and would wait for the end of a window that is over.
func TestARecheckDuringAStepIsNotLost(t *testing.T) {
	for name, version := range map[string]workflow.Version{"in place": 1, "an activity, as before": workflow.DefaultVersion} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, nil)
			f.env.OnGetVersion("small-drop-in-place", workflow.DefaultVersion, workflow.Version(1)).Return(version)
			start := f.env.Now()
			end := start.Add(24 * time.Hour)
			f.script[workflows.DropBegin] = []answer{{progress: workflows.DropProgress{Wait: &end}}, over(true)}
			recheck := func(*activity.Info, context.Context, converter.EncodedValues) {
				if f.called() == "" {
					f.env.SignalWorkflow(workflows.RecheckSignal, nil)
				}
			}
			f.env.SetOnActivityStartedListener(recheck)
			f.env.SetOnLocalActivityStartedListener(func(i *activity.Info, ctx context.Context, _ []any) { recheck(i, ctx, nil) })
			f.run(input)
			require.True(t, f.result(t).Undone)
			require.Less(t, f.env.Now().Sub(start), time.Hour)
		})
	}
}

// TestASignalIsNotedInTheAudit is a pause from Temporal's own pages: it holds the
// workflow and is noted, with a name if it brought one; a resume that Lake sends is
// recorded already, and one that brings nonsense counts all the same.
func TestASignalIsNotedInTheAudit(t *testing.T) {
	f := newFake(t, map[string][]answer{workflows.DropDeleteObjects: {page(10), page(20), done(30)}})
	f.at(0, func() {
		f.env.SignalWorkflow(workflows.PauseSignal, workflows.SignalInput{By: "ann", Reason: "slowly"})
	})
	f.at(time.Minute, func() { f.env.SignalWorkflow(workflows.ResumeSignal, workflows.SignalInput{Recorded: true}) })
	f.at(time.Minute, func() { f.env.SignalWorkflow(workflows.PauseSignal, nil) })
	f.at(2*time.Minute, func() { f.env.SignalWorkflow(workflows.ResumeSignal, []int{1, 2}) })
	f.run(input)
	f.result(t)
	require.Equal(t, []string{"pause by ann", "pause by ", "resume by "}, f.noted)
}

// TestBulkWorkThatNobodyTakesSaysSo: without a worker of its class an activity goes
// back into the queue, and the status names what is missing.
func TestBulkWorkThatNobodyTakesSaysSo(t *testing.T) {
	var began bool
	f := newFake(t, map[string][]answer{workflows.DropDeleteObjects: {page(10), done(20)}})
	f.env.OnActivity(workflows.DropDeleteObjects, mock.Anything, mock.Anything).Return(
		func(_ context.Context, step workflows.DropStep) (workflows.DropProgress, error) {
			switch {
			case step.Quick:
				return workflows.DropProgress{}, nil
			case !began:
				began = true
				return workflows.DropProgress{}, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
			}
			return workflows.DropProgress{Done: true}, nil
		})
	f.run(input)
	f.result(t)
	require.True(t, began)
	require.Contains(t, f.status(t).LastError, "no worker of its class had a free place")
}

// TestASmallDropIsOneWorkflowTask: it runs inside the task, its first phase comes with
// the start, and what fails there is an activity that tells why and is tried again.
func TestASmallDropIsOneWorkflowTask(t *testing.T) {
	for name, c := range map[string]struct {
		first     []answer
		scheduled string // activities that the server is asked for
		shown     string
	}{
		"all of it":         {[]answer{over(false)}, "", "done"},
		"a throttled one":   {[]answer{failure(lake.Unavailable, false), over(false)}, "Begin", "done"},
		"held, then free":   {[]answer{failure(lake.Conflict, false), failure(lake.Conflict, false), over(false)}, "Begin", "done"},
		"one that is large": {[]answer{{progress: workflows.DropProgress{Done: true, Phase: workflows.PhaseObjects}}}, "DeleteObjects ClearHistory Finish", "deleting-objects clearing-history finishing done"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, map[string][]answer{workflows.DropBegin: c.first})
			require.NoError(t, f.env.SetTypedSearchAttributesOnStart(temporal.NewSearchAttributes(workflows.AttributePhase.ValueSet("waiting"))))
			var scheduled, shown []string
			f.env.SetOnActivityStartedListener(func(i *activity.Info, _ context.Context, _ converter.EncodedValues) {
				if name := i.ActivityType.Name[len("DropTable."):]; i.Attempt == 1 {
					scheduled = append(scheduled, name)
				}
			})
			f.env.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(args mock.Arguments) {
				if phase, ok := args.Get(0).(temporal.SearchAttributes).GetKeyword(workflows.AttributePhase); ok {
					shown = append(shown, phase)
				}
			}).Return(nil)
			f.run(input)
			f.result(t)
			require.Equal(t, c.scheduled, strings.Join(scheduled, " "))
			require.Equal(t, c.shown, strings.Join(shown, " "))
		})
	}
}

// TestAFirstStepThatCameFarIsNotRepeated: what a quick first step did is not asked
// for again, and the rest of a large table is bulk from there on.
func TestAFirstStepThatCameFarIsNotRepeated(t *testing.T) {
	start := time.Now()
	later := start.Add(time.Minute)
	for name, c := range map[string]struct {
		first workflows.DropProgress
		want  string
	}{
		"to the end":          {workflows.DropProgress{Done: true, Over: true, Phase: workflows.PhaseDone}, "Begin?"},
		"to the verification": {workflows.DropProgress{Done: true, Phase: workflows.PhaseFinishing, Wait: &later}, "Begin? Finish"},
		"to the history":      {workflows.DropProgress{Done: true, Phase: workflows.PhaseHistory}, "Begin? ClearHistory@bulk Finish"},
		"into a large table":  {workflows.DropProgress{Done: true, Phase: workflows.PhaseObjects}, "Begin? DeleteObjects@bulk ClearHistory@bulk Finish"},
		"of a release before": {workflows.DropProgress{Done: true}, "Begin? DeleteObjects? ClearHistory? Finish"},
	} {
		f := newFake(t, map[string][]answer{workflows.DropBegin: {{progress: c.first}}})
		f.env.SetStartTime(start)
		f.run(input)
		f.result(t)
		require.Equal(t, c.want, strings.Join(f.full, " "), name)
		if c.first.Wait != nil {
			require.False(t, f.env.Now().Before(later), "it waits for what it was told")
		}
	}
}
