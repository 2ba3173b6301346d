// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/worker"
	"github.com/lakeplane/lake/workflows"
)

func TestADropRunsToItsEndAndIsReadableInTemporal(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	d.work(t, d.options())
	step := d.dropped(t, "t", 400)
	neighbour := d.Table(t, lake.TableName{Namespace: "robots", Name: "t2"}, 1, 3)
	d.start(t, step)
	d.start(t, step) // a second start changes nothing
	d.wait(t, 30*time.Second, step)
	d.RequireGone(t, step)
	require.NoError(t, d.starter.Wait(t.Context(), step.Ref()))

	status, err := d.starter.Status(t.Context(), step.Ref())
	require.NoError(t, err)
	require.Equal(t, workflows.PhaseDone, status.Phase)
	require.EqualValues(t, 400, status.Counters[workflows.CountObjects])
	require.EqualValues(t, 3, status.Counters[workflows.CountHistory])

	info, err := d.client.DescribeWorkflow(t.Context(), step.Ref().String(), "")
	require.NoError(t, err)
	for key, want := range map[temporal.SearchAttributeKeyKeyword]string{
		workflows.AttributeProcedure: "drop-table", workflows.AttributeNamespace: "robots",
		workflows.AttributeTable: "t", workflows.AttributePhase: "done",
	} {
		got, _ := info.TypedSearchAttributes.GetKeyword(key)
		require.Equal(t, want, got, key.GetName())
	}
	summary, err := info.GetStaticSummary()
	require.NoError(t, err)
	require.Equal(t, "Drop table robots.t", summary)
	require.Equal(t, 3, d.ObjectsLeft(t, workflows.DropStep{Namespace: "robots", Name: "t2", Incarnation: neighbour.Snapshot.Incarnation}))
	capture(t, d.client, "droptable/inplace-large", step.Ref().String())
	requireSmallHistory(t, d.client, step.Ref().String())
}

// TestASmallDropCostsTemporalThreeCommits: the start, and the beginning and end of one
// workflow task.
func TestASmallDropCostsTemporalThreeCommits(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	d.work(t, d.options())
	step := d.dropped(t, "small", 10)
	d.start(t, step)
	require.NoError(t, d.starter.Wait(t.Context(), step.Ref()))
	d.RequireGone(t, step)
	var types []string
	for _, e := range historyOf(t, d.client, step.Ref().String()).Events {
		types = append(types, e.EventType.String())
	}
	require.Equal(t, "WorkflowExecutionStarted WorkflowExecutionSignaled WorkflowTaskScheduled WorkflowTaskStarted WorkflowTaskCompleted "+
		"MarkerRecorded UpsertWorkflowSearchAttributes MarkerRecorded UpsertWorkflowSearchAttributes WorkflowExecutionCompleted", strings.Join(types, " "))
	capture(t, d.client, "droptable/inplace-small", step.Ref().String())
}

func TestTheUndropWindow(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	opts := d.options()
	d.work(t, opts)
	table := d.Table(t, lake.TableName{Namespace: "robots", Name: "kept"}, 2, 5)
	kept := d.Drop(t, table, time.Now().Add(time.Hour))
	short := d.Drop(t, d.Table(t, lake.TableName{Namespace: "robots", Name: "short"}, 2, 5), time.Now().Add(2*time.Second))
	d.start(t, kept)
	d.start(t, short)
	require.Eventually(t, func() bool {
		s, err := d.starter.Status(t.Context(), kept.Ref())
		return err == nil && s.Phase == workflows.PhaseWaiting && s.WaitingUntil != nil
	}, 20*time.Second, 20*time.Millisecond)
	require.True(t, d.Undrop(t, kept))
	require.NoError(t, d.starter.Recheck(t.Context(), kept.Ref()))
	d.wait(t, 20*time.Second, kept, short)
	require.Equal(t, catalog.ProcedureCancelled, d.Procedure(t, kept).State)
	require.Equal(t, 5, d.ObjectsLeft(t, kept))
	d.RequireGone(t, short)
	require.NoError(t, d.starter.Wait(t.Context(), kept.Ref()))
	require.NoError(t, d.starter.Wait(t.Context(), short.Ref()))
	capture(t, d.client, "droptable/inplace-undropped", kept.Ref().String())
	capture(t, d.client, "droptable/inplace-waited", short.Ref().String())
}

// A workflow that was not told of an undrop waits for the end of a window that
// is over. A second drop of the incarnation wakes it instead of being lost.
func TestDropAgainWakesTheWorkflowOfAnUndoneDrop(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	d.work(t, d.options())
	step := d.Drop(t, d.Table(t, lake.TableName{Namespace: "robots", Name: "again"}, 2, 5), time.Now().Add(time.Hour))
	d.start(t, step)
	require.Eventually(t, func() bool {
		s, err := d.starter.Status(t.Context(), step.Ref())
		return err == nil && s.WaitingUntil != nil
	}, 20*time.Second, 20*time.Millisecond)
	run := func() string {
		info, err := d.client.DescribeWorkflow(t.Context(), step.Ref().String(), "")
		require.NoError(t, err)
		return info.WorkflowExecution.RunID
	}
	first := run()
	require.Equal(t, step, d.Drop(t, d.TakeBack(t, step), time.Now()))
	d.start(t, step)
	d.wait(t, 20*time.Second, step)
	d.RequireGone(t, step)
	require.Equal(t, first, run(), "the same run went on")
}

// Report 46: a cancellation reaches a page at its end; no activity is without a heartbeat.
func TestPauseResumeAndCancel(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	d.objects.delay = 5 * time.Millisecond
	opts := d.options()
	opts.Drop.Budget.Items = 50
	d.work(t, opts)
	step := d.dropped(t, "t", 600)
	d.start(t, step)
	d.middle(t, 20)
	require.NoError(t, d.starter.Pause(t.Context(), step.Ref()))
	require.Eventually(t, func() bool {
		s, err := d.starter.Status(t.Context(), step.Ref())
		return err == nil && s.Phase == workflows.PhasePaused
	}, 20*time.Second, 20*time.Millisecond)
	held := d.objects.deletes.Load()
	time.Sleep(300 * time.Millisecond) // twice as long as a page takes
	require.Equal(t, held, d.objects.deletes.Load(), "a paused drop deleted")
	require.NoError(t, d.starter.Resume(t.Context(), step.Ref()))
	d.middle(t, held+50)

	require.NoError(t, d.starter.Cancel(t.Context(), step.Ref()))
	require.ErrorContains(t, d.starter.Wait(t.Context(), step.Ref()), "canceled")
	capture(t, d.client, "droptable/inplace-cancelled", step.Ref().String())
	require.NotZero(t, d.ObjectsLeft(t, step))
	require.NotEmpty(t, d.Keys(t, "drop/"), "cancelling ended the intent")

	// What a sweep does: start it again, and it goes on where it was.
	d.start(t, step)
	d.wait(t, 30*time.Second, step)
	d.RequireGone(t, step)
	// What the page under way had deleted when the cancellation came is not
	// counted; nothing is counted twice.
	counted := d.Procedure(t, step).Counters[workflows.CountObjects]
	require.LessOrEqual(t, counted, int64(600))
	require.GreaterOrEqual(t, counted, int64(600-opts.Drop.ListPage))
}

// TestTheSweepStartsWhatNobodyStarted loses the start of some drops and
// terminates others half-way.
func TestTheSweepStartsWhatNobodyStarted(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	d.objects.delay = 2 * time.Millisecond
	var steps []workflows.DropStep
	for i := range 5 {
		steps = append(steps, d.dropped(t, fmt.Sprintf("t%d", i), 120))
	}
	opts := d.options()
	stop := d.work(t, opts)
	d.start(t, steps[0])
	d.start(t, steps[1])
	d.middle(t, 40)
	for _, step := range steps[:2] {
		_ = d.client.TerminateWorkflow(t.Context(), step.Ref().String(), "", "test") // or it has just ended
	}
	stop()
	opts.SweepEvery = time.Second
	registry := prometheus.NewRegistry()
	opts.Metrics = registry
	d.work(t, opts)
	d.wait(t, 60*time.Second, steps...)
	for _, step := range steps {
		d.RequireGone(t, step)
	}
	requireSweepRan(t, d)
	requireMetrics(t, registry)
}

// requireMetrics checks what the worker that swept told Prometheus.
func requireMetrics(t *testing.T, registry *prometheus.Registry) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			switch {
			case m.Counter != nil:
				got[f.GetName()] += m.Counter.GetValue()
			case m.Histogram != nil:
				for _, l := range m.Label {
					got[l.GetName()+"="+l.GetValue()] += float64(m.Histogram.GetSampleCount())
				}
			}
		}
	}
	require.GreaterOrEqual(t, got["lake_procedure_sweep_started_total"], 3.0)
	require.GreaterOrEqual(t, got["activity="+workflows.DropBegin], 3.0)
	require.NotZero(t, got["activity="+workflows.SweepActivity])
	require.NotZero(t, got["outcome=ok"])
}

func requireSweepRan(t *testing.T, d *deployment) {
	t.Helper()
	require.Eventually(t, func() bool {
		page, err := d.client.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Query: "LakeProcedure = 'procedure-sweep' AND ExecutionStatus = 'Completed'",
		})
		if err != nil || len(page.Executions) == 0 {
			return false
		}
		capture(t, d.client, "proceduresweep/simple", page.Executions[0].Execution.WorkflowId)
		return true
	}, 20*time.Second, 100*time.Millisecond, "no sweep completed")
}

// TestTwoWorkersShareTheWork runs two workers, one of which is cut off from
// Temporal's heartbeats by having none of its own, over many drops.
func TestTwoWorkersShareTheWork(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	d.objects.delay = time.Millisecond
	var steps []workflows.DropStep
	for i := range 12 {
		steps = append(steps, d.dropped(t, fmt.Sprintf("t%d", i), 60))
	}
	d.work(t, d.options())
	other := d.options()
	other.Temporal = dial(t, d.temporal)
	d.work(t, other)
	for _, step := range steps {
		d.start(t, step)
	}
	d.wait(t, 60*time.Second, steps...)
	for _, step := range steps {
		d.RequireGone(t, step)
		require.EqualValues(t, 60, d.Procedure(t, step).Counters[workflows.CountObjects])
	}
}

func TestSchedulesAreCreatedOnceAndKeptUpToDate(t *testing.T) {
	s := startTemporal(t, "")
	c := dial(t, s)
	d := worker.Deployment{Namespace: s.Namespace(), Periods: periods(time.Hour)}
	require.Equal(t, map[string]int{"schedule created": 3, "search attribute unchanged": 4}, ensured(t, c, d, worker.Look))
	require.Equal(t, map[string]int{"schedule created": 3, "search attribute unchanged": 4}, ensured(t, c, d, worker.Missing), "a look changed nothing")
	require.Equal(t, map[string]int{"schedule unchanged": 3, "search attribute unchanged": 4}, ensured(t, c, d, worker.Bring))
	d.Periods = periods(2 * time.Hour)
	require.Equal(t, map[string]int{"schedule differs": 3, "search attribute unchanged": 4}, ensured(t, c, d, worker.Missing))
	require.Equal(t, map[string]int{"schedule updated": 3, "search attribute unchanged": 4}, ensured(t, c, d, worker.Look))
	handle := c.ScheduleClient().GetHandle(t.Context(), workflows.SweepSchedule)
	require.NoError(t, handle.Pause(t.Context(), client.SchedulePauseOptions{Note: "by an operator"}))
	require.Equal(t, map[string]int{"schedule updated": 3, "search attribute unchanged": 4}, ensured(t, c, d, worker.Bring))
	is, err := handle.Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2*time.Hour, is.Schedule.Spec.Intervals[0].Every)
	require.Equal(t, enums.SCHEDULE_OVERLAP_POLICY_SKIP, is.Schedule.Policy.Overlap)
	require.Equal(t, 10*time.Minute, is.Schedule.Policy.CatchupWindow)
	require.Equal(t, 12*time.Minute, is.Schedule.Spec.Jitter)
	require.True(t, is.Schedule.State.Paused, "an operator's pause stays")
	require.Equal(t, map[string]int{"schedule unchanged": 3, "search attribute unchanged": 4}, ensured(t, c, d, worker.Bring))
}

// ensured counts what was done to what.
func ensured(t *testing.T, c client.Client, d worker.Deployment, mode worker.Mode) map[string]int {
	t.Helper()
	changes, err := worker.Ensure(t.Context(), c, d, mode)
	require.NoError(t, err)
	done := map[string]int{}
	for _, change := range changes {
		done[change.What+" "+change.Action]++
	}
	return done
}

// TestAVersionedWorkerWorksOnceItsBuildIsCurrent: until then it gets nothing,
// and the next release takes a running procedure over.
func TestAVersionedWorkerWorksOnceItsBuildIsCurrent(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	d.objects.delay = 2 * time.Millisecond
	first := d.options()
	first.BuildID = "r1"
	stop := d.work(t, first)
	step := d.dropped(t, "t", 500)
	d.start(t, step)
	time.Sleep(time.Second)
	require.Zero(t, d.objects.deletes.Load(), "a build that is not current got work")
	target := worker.Deployment{Namespace: d.temporal.Namespace(), Periods: periods(time.Hour), BuildID: "r1"}
	require.Equal(t, 1, ensured(t, d.client, target, worker.Bring)["worker version updated"])
	require.Equal(t, 1, ensured(t, d.client, target, worker.Bring)["worker version unchanged"])
	d.middle(t, 100)

	second := d.options()
	second.Temporal, second.BuildID = dial(t, d.temporal), "r2"
	d.work(t, second)
	target.BuildID = "r2"
	require.Eventually(t, func() bool { // once the server has seen it poll
		_, err := worker.Ensure(t.Context(), d.client, target, worker.Bring)
		return err == nil
	}, 20*time.Second, 100*time.Millisecond)
	stop()
	d.wait(t, time.Minute, step)
	d.RequireGone(t, step)
}

func TestMissingSearchAttributesAreAdded(t *testing.T) {
	s := startTemporal(t, "")
	c := dial(t, s)
	_, err := c.OperatorService().RemoveSearchAttributes(t.Context(), &operatorservice.RemoveSearchAttributesRequest{
		Namespace: s.Namespace(), SearchAttributes: []string{"LakePhase", "LakeTable"},
	})
	require.NoError(t, err)
	d := worker.Deployment{Namespace: s.Namespace(), Periods: periods(time.Hour)}
	require.Equal(t, 2, ensured(t, c, d, worker.Missing)["search attribute created"])
	require.Eventually(t, func() bool { // the server answers from a cache
		have, err := c.OperatorService().ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{Namespace: s.Namespace()})
		return err == nil && have.CustomAttributes["LakePhase"] == enums.INDEXED_VALUE_TYPE_KEYWORD && have.CustomAttributes["LakeTable"] == enums.INDEXED_VALUE_TYPE_KEYWORD
	}, 20*time.Second, 50*time.Millisecond)
}

func TestOptionsReportEveryMistake(t *testing.T) {
	err := worker.Options{StopGrace: -1}.Validate()
	for _, want := range []string{"Temporal client", "Temporal namespace", "metastore", "object store", "engine", "negative"} {
		require.ErrorContains(t, err, want)
	}
	_, err = worker.New(worker.Options{})
	require.Truef(t, lake.Is(err, lake.Invalid), "%v", err)
	require.True(t, strings.Contains(err.Error(), "no engine"))
}
