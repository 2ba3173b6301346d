// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package operationgc_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/activities/maintain/maintaintest"
	"github.com/lakeplane/lake/activities/operationgc"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/metastore/pebble"
	"github.com/lakeplane/lake/workflows"
)

var ref = workflows.OperationGCRef()

// hooked is a store whose commits a test may disturb.
type hooked struct {
	metastore.Store
	before func(metastore.Txn) error
}

func (h *hooked) Commit(ctx context.Context, txn metastore.Txn) error {
	if h.before != nil {
		if err := h.before(txn); err != nil {
			return err
		}
	}
	return h.Store.Commit(ctx, txn)
}

type starts struct{ err error }

func (s *starts) Start(context.Context, string, string) error { return s.err }

type fixture struct {
	*maintaintest.World
	store  *hooked
	starts *starts
	env    *testsuite.TestActivityEnvironment
}

func setup(t testing.TB, store metastore.Store, opts operationgc.Options) *fixture {
	t.Helper()
	f := &fixture{store: &hooked{Store: store}, starts: &starts{}}
	f.World = maintaintest.New(t, f.store, nil)
	a, err := operationgc.New(f.Catalog, f.starts, opts)
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	f.env = suite.NewTestActivityEnvironment()
	f.env.SetTestTimeout(time.Minute)
	for name, step := range map[string]any{
		workflows.OperationGCPlan: a.Plan, workflows.OperationGCForget: a.Forget, workflows.OperationGCCount: a.Count,
	} {
		f.env.RegisterActivityWithOptions(step, activity.RegisterOptions{Name: name})
	}
	return f
}

func inMemory(t testing.TB) metastore.Store {
	s := memory.New()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (f *fixture) run(name string, step workflows.OperationGCStep) (out workflows.OperationGCProgress, err error) {
	v, err := f.env.ExecuteActivity(name, step)
	if err == nil {
		err = v.Get(&out)
	}
	return out, err
}

func (f *fixture) plan(t testing.TB) (out workflows.PlanResult) {
	t.Helper()
	v, err := f.env.ExecuteActivity(workflows.OperationGCPlan, workflows.PlanStep{})
	require.NoError(t, err)
	require.NoError(t, v.Get(&out))
	return out
}

// finish runs page sets until the last one, and returns how many there were.
func (f *fixture) finish(t testing.TB) (last workflows.OperationGCProgress, runs int) {
	t.Helper()
	for !last.Over {
		var err error
		last, err = f.run(workflows.OperationGCForget, workflows.OperationGCStep{})
		require.NoError(t, err)
		runs++
	}
	return last, runs
}

func (f *fixture) left(t testing.TB) (n int) {
	t.Helper()
	for cursor := ""; ; {
		page, next, err := f.Catalog.Operations(t.Context(), cursor, 1000)
		require.NoError(t, err)
		n += len(page)
		if cursor = next; cursor == "" {
			return n
		}
	}
}

func ago(d time.Duration) time.Time { return time.Now().Add(-d) }

const tooOld = lake.OperationRetention + 3*lake.OperationFutureSkew

func TestItForgetsWhatIsTooOldAndNothingElse(t *testing.T) {
	f := setup(t, inMemory(t), operationgc.Options{Budget: lease.Budget{Items: 1000}})
	f.Operations(t, 1500, ago(tooOld))
	young := f.Operations(t, 700, ago(time.Hour))
	edge := f.Operations(t, 5, ago(lake.OperationRetention+lake.OperationFutureSkew)) // refused, but perhaps not everywhere
	require.EqualValues(t, 1, f.plan(t).Intended)
	require.Zero(t, f.plan(t).Intended, "it is under way")
	last, runs := f.finish(t)
	require.GreaterOrEqual(t, runs, 3, "it is paged")
	require.Equal(t, workflows.Counters{workflows.CountOperationsSeen: 2205, workflows.CountOperationsRemoved: 1500}, last.Counters)
	require.Equal(t, len(young)+len(edge), f.left(t))
	record := f.Procedure(t, ref)
	require.Equal(t, catalog.ProcedureCompleted, record.State)
	require.True(t, record.Deadline.IsZero())
	again, err := f.run(workflows.OperationGCForget, workflows.OperationGCStep{})
	require.NoError(t, err)
	require.True(t, again.Over)
	require.Equal(t, record.Raw(), f.Procedure(t, ref).Raw())
}

// TestADryRunOfNothingSaysSo: an operator who sees no number does not know whether
// anything was counted.
func TestADryRunOfNothingSaysSo(t *testing.T) {
	f := setup(t, inMemory(t), operationgc.Options{})
	out, err := f.run(workflows.OperationGCCount, workflows.OperationGCStep{})
	require.NoError(t, err)
	require.True(t, out.Over)
	require.Equal(t, workflows.Counters{workflows.CountOperationsSeen: 0, workflows.CountOperationsRemoved: 0}, out.Counters)
}

func TestADryRunCounts(t *testing.T) {
	f := setup(t, inMemory(t), operationgc.Options{Budget: lease.Budget{Items: 1000}})
	f.Operations(t, 1200, ago(tooOld))
	f.Operations(t, 30, ago(time.Hour))
	var step workflows.OperationGCStep
	for over := false; !over; {
		out, err := f.run(workflows.OperationGCCount, step)
		require.NoError(t, err)
		over, step = out.Over, workflows.OperationGCStep{Cursor: out.Cursor, Counters: out.Counters}
	}
	require.Equal(t, workflows.Counters{workflows.CountOperationsSeen: 1230, workflows.CountOperationsRemoved: 1200}, step.Counters)
	require.Equal(t, 1230, f.left(t))
}

func TestADryRunThatWasAskedForIsRecorded(t *testing.T) {
	f := setup(t, inMemory(t), operationgc.Options{Budget: lease.Budget{Items: 500, Time: time.Minute}})
	f.Operations(t, 1200, ago(tooOld))
	dry := workflows.OperationGCDryRunRef()
	_, _, err := f.Catalog.StartProcedure(t.Context(), catalog.Procedure{Kind: catalog.OperationGCKind, ID: dry.ID}, "ann", "", "")
	require.NoError(t, err)
	var step workflows.OperationGCStep
	for over := false; !over; {
		out, err := f.run(workflows.OperationGCCount, step)
		require.NoError(t, err)
		over, step = out.Over, workflows.OperationGCStep{Cursor: out.Cursor, Counters: out.Counters}
	}
	p := f.Procedure(t, dry)
	require.Equal(t, catalog.ProcedureCompleted, p.State)
	require.EqualValues(t, 1200, p.Counters[workflows.CountOperationsRemoved])
	require.Equal(t, 1200, f.left(t), "a dry run removed something")
	again, err := f.run(workflows.OperationGCCount, workflows.OperationGCStep{})
	require.NoError(t, err)
	require.True(t, again.Over)
	require.EqualValues(t, 1200, again.Counters[workflows.CountOperationsRemoved])
}

func TestAFailedStartIsLeftToTheSweep(t *testing.T) {
	f := setup(t, inMemory(t), operationgc.Options{})
	f.starts.err = lake.Errorf(lake.Unavailable, "away")
	out := f.plan(t)
	require.Equal(t, []int64{1, 0, 1}, []int64{out.Intended, out.Started, out.Failed})
	require.Equal(t, catalog.ProcedurePending, f.Procedure(t, ref).State)
}

// A crash at any commit loses or repeats nothing.
func TestACrashAtEachCommitIsMadeGood(t *testing.T) {
	for crash := 1; crash <= 8; crash++ {
		f := setup(t, inMemory(t), operationgc.Options{Lease: lease.Options{TTL: time.Minute}})
		f.Operations(t, 150, ago(tooOld))
		young := f.Operations(t, 20, ago(time.Hour))
		f.plan(t)
		commits := 0
		f.store.before = func(txn metastore.Txn) error {
			if txn.Ops[0].Key != "procedure/"+ref.String() {
				return nil // the election's
			}
			if commits++; commits == crash {
				return metastore.ErrInvalid // for certain not applied, and not tried again
			}
			return nil
		}
		_, err := f.run(workflows.OperationGCForget, workflows.OperationGCStep{})
		f.store.before = nil
		last, _ := f.finish(t)
		require.Equal(t, len(young), f.left(t), "crash %d: %v", crash, err)
		require.EqualValues(t, 150, last.Counters[workflows.CountOperationsRemoved], "crash %d", crash)
	}
}

// An attempt that was taken over removes nothing more.
func TestAnOlderAttemptIsFenced(t *testing.T) {
	f := setup(t, inMemory(t), operationgc.Options{})
	f.Operations(t, 200, ago(tooOld))
	f.plan(t)
	var once sync.Once
	f.store.before = func(txn metastore.Txn) error {
		if len(txn.Ops) > 10 {
			once.Do(func() {
				old := f.Procedure(t, ref)
				next := old
				next.Epoch++
				_, err := f.Catalog.CommitProcedure(t.Context(), old, next)
				require.NoError(t, err)
			})
		}
		return nil
	}
	_, err := f.run(workflows.OperationGCForget, workflows.OperationGCStep{})
	require.ErrorContains(t, err, "took it over")
	require.Equal(t, 200, f.left(t))
}

// BenchmarkForget forgets operations on disk while appends are recorded.
// removed/s and appended/s are records a second.
//
//	go test ./activities/operationgc -run '^$' -bench Forget -benchtime 1x
func BenchmarkForget(b *testing.B) {
	const old = 20_000
	var took time.Duration
	var appended atomic.Int64
	for range b.N {
		store, err := pebble.Open(b.TempDir(), pebble.Options{})
		require.NoError(b, err)
		f := setup(b, store, operationgc.Options{})
		f.Operations(b, old, ago(tooOld))
		f.plan(b)
		stop := make(chan struct{})
		var appending sync.WaitGroup
		appending.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					appended.Add(int64(len(f.Operations(b, 64, ago(time.Minute)))))
				}
			}
		})
		began := time.Now()
		f.finish(b)
		took += time.Since(began)
		close(stop)
		appending.Wait()
		require.NoError(b, store.Close())
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(old*b.N)/took.Seconds(), "removed/s")
	b.ReportMetric(float64(appended.Load())/took.Seconds(), "appended/s")
}

// TestItReportsBetweenTheCommitsOfAPage: one page is some thirty commits. Over a
// slow metastore they take longer than an attempt that says nothing lives.
func TestItReportsBetweenTheCommitsOfAPage(t *testing.T) {
	f := setup(t, inMemory(t), operationgc.Options{})
	f.Operations(t, 900, ago(tooOld))
	f.plan(t)
	var commits, silent atomic.Int64
	f.store.before = func(metastore.Txn) error {
		commits.Add(1)
		return nil
	}
	f.env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) {
		silent.CompareAndSwap(0, commits.Load())
	})
	f.finish(t)
	require.Greater(t, commits.Load(), int64(20))
	require.EqualValues(t, 2, silent.Load(), "the claim and the first commit")
}
