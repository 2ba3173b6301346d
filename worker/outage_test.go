// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/worker"
	"github.com/lakeplane/lake/workflows"
)

// Report 25: the caller has the id of the operation at once, also without Temporal.
func TestAWorkerWaitsForTemporal(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	require.NoError(t, d.temporal.Stop(5*time.Second))
	w, err := worker.New(d.options())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	require.NoError(t, w.Run(ctx))
	// And a service gets its answer all the same, soon.
	began := time.Now()
	step := d.dropped(t, "t", 1)
	err = d.starter.Start(t.Context(), string(step.Ref().Kind), step.Ref().ID)
	require.Truef(t, lake.Is(err, lake.Unavailable), "%v", err)
	require.Less(t, time.Since(began), 2*workflows.StartTimeout)
}

// TestAResetRepeatsNothing sends a finished drop back to its first event, as an
// operator can in the UI.
func TestAResetRepeatsNothing(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	d.work(t, d.options())
	step := d.dropped(t, "t", 20)
	d.start(t, step)
	require.NoError(t, d.starter.Wait(t.Context(), step.Ref()))
	ended := d.Procedure(t, step)
	deletes := d.objects.deletes.Load()

	id := step.Ref().String()
	info, err := d.client.DescribeWorkflow(t.Context(), id, "")
	require.NoError(t, err)
	_, err = d.client.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: d.temporal.Namespace(), RequestId: "once", Reason: "test",
		WorkflowExecution:         &common.WorkflowExecution{WorkflowId: id, RunId: info.WorkflowExecution.RunID},
		WorkflowTaskFinishEventId: firstTask(t, d, id),
	})
	require.NoError(t, err)
	require.NoError(t, d.starter.Wait(t.Context(), step.Ref()))
	again, err := d.client.DescribeWorkflow(t.Context(), id, "")
	require.NoError(t, err)
	require.NotEqual(t, info.WorkflowExecution.RunID, again.WorkflowExecution.RunID)
	require.Equal(t, ended.Raw(), d.Procedure(t, step).Raw(), "the record of a finished drop changed")
	require.Equal(t, deletes, d.objects.deletes.Load())
	d.RequireGone(t, step)
}

// firstTask is the id of the event that ended the first workflow task.
func firstTask(t *testing.T, d *deployment, id string) int64 {
	t.Helper()
	for _, e := range historyOf(t, d.client, id).Events {
		if e.EventType == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			return e.EventId
		}
	}
	t.Fatal("no workflow task was completed")
	return 0
}

// TestTheMetastoreIsAwayForAWhile refuses everything for some seconds in the
// middle of a drop, while Temporal goes on.
// Report 27: failures that end leave no block behind.
func TestTheMetastoreIsAwayForAWhile(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	d.objects.delay = 2 * time.Millisecond
	step := d.dropped(t, "t", 600)
	away := &awayStore{Store: d.store}
	opts := d.options()
	opts.Store = away
	d.work(t, opts)
	d.start(t, step)
	d.middle(t, 100)
	away.away.Store(true)
	require.Eventually(t, func() bool { return away.refused.Load() >= 3 }, 20*time.Second, 10*time.Millisecond)
	require.NotZero(t, d.ObjectsLeft(t, step))
	away.away.Store(false)
	d.wait(t, 60*time.Second, step)
	d.RequireGone(t, step)
}

// awayStore refuses everything while it is away.
type awayStore struct {
	metastore.Store
	away    atomic.Bool
	refused atomic.Int64
}

func (s *awayStore) check() error {
	if !s.away.Load() {
		return nil
	}
	s.refused.Add(1)
	return metastore.ErrRetryable
}

func (s *awayStore) Get(ctx context.Context, key string) (metastore.Record, error) {
	if err := s.check(); err != nil {
		return metastore.Record{}, err
	}
	return s.Store.Get(ctx, key)
}

func (s *awayStore) Commit(ctx context.Context, txn metastore.Txn) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.Store.Commit(ctx, txn)
}
