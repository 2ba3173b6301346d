// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	sdk "go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/worker"
	"github.com/lakeplane/lake/workflows"
)

// The tests of this file hold what users of such systems reported.

// pages is a worker whose drops have many pages of 500 keys and delete nothing.
func pages(t *testing.T, c client.Client, keys int64, left *atomic.Int64) sdk.Worker {
	t.Helper()
	left.CompareAndSwap(0, keys)
	w := sdk.New(c, workflows.TaskQueue, sdk.Options{DisableRegistrationAliasing: true})
	bulk := sdk.New(c, workflows.BulkTaskQueue, sdk.Options{DisableRegistrationAliasing: true, DisableWorkflowWorker: true})
	worker.RegisterWorkflows(w)
	for _, name := range []string{workflows.DropBegin, workflows.DropDeleteObjects, workflows.DropClearHistory, workflows.DropFinish} {
		step := func(context.Context, workflows.DropStep) (workflows.DropProgress, error) {
			if name != workflows.DropDeleteObjects {
				return workflows.DropProgress{Done: true, Over: name == workflows.DropFinish}, nil
			}
			n := left.Add(-500)
			return workflows.DropProgress{Done: n <= 0, Counters: workflows.Counters{workflows.CountObjects: keys - n}}, nil
		}
		for _, q := range []sdk.Worker{w, bulk} {
			q.RegisterActivityWithOptions(step, activity.RegisterOptions{Name: name})
		}
	}
	require.NoError(t, w.Start())
	require.NoError(t, bulk.Start())
	t.Cleanup(w.Stop)
	t.Cleanup(bulk.Stop)
	return w
}

// TestHistoriesStayShortHoweverManyPages: no run of a procedure of many pages has
// more than 2,000 events or a mebibyte, and each can be replayed, also after its
// workers went away half-way. (Report 42: two million keys in pages of 500.)
func TestHistoriesStayShortHoweverManyPages(t *testing.T) {
	keys := int64(200_000) // two runs
	if thorough {
		keys = 2_000_000
	}
	s := startTemporal(t, "")
	first, second := dial(t, s), dial(t, s)
	var left atomic.Int64
	w := pages(t, first, keys, &left)
	step := workflows.DropStep{Namespace: "robots", Name: "t", Incarnation: lake.NewID()}
	starter := workflows.NewClient(first, s.Namespace(), "")
	require.NoError(t, starter.Start(t.Context(), string(step.Ref().Kind), step.Ref().ID))
	require.Eventually(t, func() bool { return left.Load() < keys/2 }, 5*time.Minute, 10*time.Millisecond)
	pages(t, second, keys, &left)
	w.Stop()
	require.NoError(t, starter.Wait(t.Context(), step.Ref()))

	runs := runsOf(t, first, step.Ref().String())
	require.Greater(t, len(runs), 1, "it continued in a fresh history")
	for _, run := range runs {
		h := historyOfRun(t, first, step.Ref().String(), run)
		require.LessOrEqual(t, len(h.Events), 2000)
		require.LessOrEqual(t, proto.Size(h), 1<<20)
		replayer := sdk.NewWorkflowReplayer()
		worker.RegisterWorkflows(replayer)
		began := time.Now()
		require.NoError(t, replayer.ReplayWorkflowHistory(worker.Logger(silent), h))
		t.Logf("%d events, %d bytes, replayed in %s", len(h.Events), proto.Size(h), time.Since(began).Round(time.Millisecond))
	}
}

func runsOf(t *testing.T, c client.Client, id string) (runs []string) {
	t.Helper()
	require.Eventually(t, func() bool { // visibility lags
		page, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowId = '" + id + "'"})
		if err != nil {
			return false
		}
		runs = nil
		for _, e := range page.Executions {
			if e.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
				return false
			}
			runs = append(runs, e.Execution.RunId)
		}
		return len(runs) > 1
	}, time.Minute, 100*time.Millisecond)
	return runs
}

func historyOfRun(t *testing.T, c client.Client, id, run string) *history.History {
	t.Helper()
	var h history.History
	events := c.GetWorkflowHistory(t.Context(), id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		h.Events = append(h.Events, e)
	}
	return &h
}

// TestAChangedOrderOfStepsDoesNotReplay: the corpus finds what would stop running
// procedures, here the history of a release that cleared a table's records before
// it deleted the objects. (Report 47.)
func TestAChangedOrderOfStepsDoesNotReplay(t *testing.T) {
	text, err := os.ReadFile(corpus + "/droptable/testdata/simple.json")
	require.NoError(t, err)
	replay := func(text string) error {
		h, err := client.HistoryFromJSON(strings.NewReader(text), client.HistoryJSONOptions{})
		require.NoError(t, err)
		replayer := sdk.NewWorkflowReplayer()
		worker.RegisterWorkflows(replayer)
		return replayer.ReplayWorkflowHistory(worker.Logger(silent), h)
	}
	require.NoError(t, replay(string(text)))
	other := strings.NewReplacer(workflows.DropDeleteObjects, workflows.DropClearHistory, workflows.DropClearHistory, workflows.DropDeleteObjects)
	require.ErrorContains(t, replay(other.Replace(string(text))), "TMPRL1100") // Temporal's number of nondeterminism
}

// TestTwoTriggersMakeOneRun: triggers that come at once, past the schedule's own
// policy, while a run is active, share it: the workflow's id is the resource.
// (Report 48.)
func TestTwoTriggersMakeOneRun(t *testing.T) {
	d := tend(t, memoryStore(t))
	opts := d.options()
	opts.Classes = []workflows.Class{workflows.ShortClass} // the run stays active: nobody takes its pages
	d.work(t, opts)
	ref := workflows.OperationGCRef()
	handle := d.client.ScheduleClient().GetHandle(t.Context(), workflows.OperationGCSchedule)
	planned := func() int {
		page, err := d.client.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Query: "LakeProcedure = 'procedure-plan' AND ExecutionStatus = 'Completed'",
		})
		if err != nil {
			return 0
		}
		return len(page.Executions)
	}
	require.Eventually(t, func() bool { // two within a second may count as one, so until two have come
		_ = handle.Trigger(t.Context(), client.ScheduleTriggerOptions{Overlap: enums.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL}) // it may not be there yet
		return planned() >= 2
	}, time.Minute, 300*time.Millisecond)
	require.Eventually(t, func() bool {
		page, err := d.client.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: "LakeProcedure = 'operation-gc'"})
		return err == nil && len(page.Executions) == 1 && page.Executions[0].Execution.WorkflowId == ref.String()
	}, time.Minute, 100*time.Millisecond)
	bulk := d.options()
	bulk.Temporal, bulk.Classes = dial(t, d.temporal), []workflows.Class{workflows.BulkClass}
	d.work(t, bulk)
	require.Equal(t, catalog.ProcedureCompleted, d.ended(t, time.Minute, ref).State)
}

// TestAnOversizedResultFailsOnce: an activity that returns a page of ten thousand keys
// fails for good, with what is wrong. (Report 43; package control has the argument's
// side.)
func TestAnOversizedResultFailsOnce(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(worker.Logger(silent))
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(sdk.Options{Interceptors: []interceptor.WorkerInterceptor{worker.Limit}})
	env.RegisterActivityWithOptions(func(_ context.Context, n int) ([]string, error) {
		return slices.Repeat([]string{strings.Repeat("k", 1024)}, n), nil
	}, activity.RegisterOptions{Name: "Page"})
	_, err := env.ExecuteActivity("Page", 3)
	require.NoError(t, err)
	_, err = env.ExecuteActivity("Page", 10_000)
	var failure *temporal.ApplicationError
	require.ErrorAs(t, err, &failure)
	require.True(t, failure.NonRetryable())
	require.Equal(t, lake.Invalid.String(), failure.Type())
	require.ErrorContains(t, err, "the result of Page has")
	require.ErrorContains(t, err, "at most 4096 may travel")
}
