// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/activities/migrate"
	"github.com/lakeplane/lake/activities/operate"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/workflows"
	"github.com/lakeplane/lake/workflows/migration"
)

// copying is a migration that stands for all of them: every record under old/
// gets a twin under new/, writers of the old form are stopped by a barrier, and
// a marker makes the new form the one in force.
type copying struct {
	store metastore.Store
	old   int // writers of the old release, by their records
}

const (
	barrier = "migration/barrier"
	marker  = "migration/marker"
	perPage = 7
)

func (c *copying) get(ctx context.Context, key string) ([]byte, error) {
	r, err := c.store.Get(ctx, key)
	if errors.Is(err, metastore.ErrNotFound) {
		return nil, nil
	}
	return r.Value, err
}

// Preflight implements migrate.Steps.
func (c *copying) Preflight(ctx context.Context) (bool, map[string]int64, error) {
	done, err := c.get(ctx, marker)
	if err == nil && c.old > 0 {
		err = lake.Errorf(lake.Precondition, "%d writers of the old release", c.old)
	}
	return done != nil, map[string]int64{workflows.CountWriters: 3}, err
}

// Backfill implements migrate.Steps.
func (c *copying) Backfill(ctx context.Context, cursor string) (migrate.Page, error) {
	page, err := c.store.Scan(ctx, "old/", cursor, perPage)
	out := migrate.Page{Next: page.Next, Items: len(page.Records)}
	for _, r := range page.Records {
		twin := "new/" + strings.TrimPrefix(r.Key, "old/")
		have, e := c.get(ctx, twin)
		if e != nil {
			return out, e
		}
		if have == nil {
			out.Ops = append(out.Ops, metastore.Create(twin, r.Value))
		}
	}
	return out, err
}

// Verify implements migrate.Steps.
func (c *copying) Verify(ctx context.Context, cursor string) (migrate.Page, error) {
	page, err := c.store.Scan(ctx, "old/", cursor, perPage)
	for _, r := range page.Records {
		have, e := c.get(ctx, "new/"+strings.TrimPrefix(r.Key, "old/"))
		if e != nil {
			return migrate.Page{}, e
		}
		if string(have) != string(r.Value) {
			return migrate.Page{}, lake.Errorf(lake.Precondition, "record %s has no equal twin", r.Key)
		}
	}
	return migrate.Page{Next: page.Next, Items: len(page.Records)}, err
}

// Barrier implements migrate.Steps.
func (c *copying) Barrier(context.Context) ([]metastore.Op, error) {
	return []metastore.Op{metastore.Create(barrier, []byte("locked"))}, nil
}

// Lift implements migrate.Steps.
func (c *copying) Lift(ctx context.Context) ([]metastore.Op, error) {
	have, err := c.get(ctx, barrier)
	if have == nil {
		return nil, err
	}
	return []metastore.Op{metastore.Remove(barrier, have)}, nil
}

// Publish implements migrate.Steps.
func (c *copying) Publish(context.Context) ([]metastore.Op, error) {
	return []metastore.Op{metastore.Guard(barrier, []byte("locked")), metastore.Create(marker, []byte("v2"))}, nil
}

// world is a deployment with a migration to make.
type world struct {
	*copying
	catalog *catalog.Catalog
	crashes int // how many commits fail from now on
}

func (w *world) Commit(ctx context.Context, txn metastore.Txn) error {
	if w.crashes > 0 {
		w.crashes--
		return metastore.ErrRetryable
	}
	return w.copying.store.Commit(ctx, txn)
}

type failing struct {
	metastore.Store
	w *world
}

func (f failing) Commit(ctx context.Context, txn metastore.Txn) error { return f.w.Commit(ctx, txn) }

func newWorld(t *testing.T, records int) *world {
	t.Helper()
	store := memory.New()
	t.Cleanup(func() { _ = store.Close() })
	w := &world{copying: &copying{store: store}}
	w.catalog = catalog.New(failing{store, w}, catalog.Options{})
	for i := range records {
		w.put(t, fmt.Sprintf("old/%04d", i), fmt.Sprint(i))
	}
	w.put(t, "old2/neighbour", "x")
	w.start(t)
	return w
}

func (w *world) put(t *testing.T, key, value string) {
	t.Helper()
	require.NoError(t, w.store.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create(key, []byte(value))}}))
}

func (w *world) start(t *testing.T) {
	t.Helper()
	_, opened, err := w.catalog.StartProcedure(t.Context(), catalog.Procedure{Kind: string(workflows.CatalogFinalizeKind), ID: workflows.CatalogFinalizeID}, "ann", "", "test")
	require.NoError(t, err)
	require.True(t, opened)
}

func (w *world) record(t *testing.T) catalog.Procedure {
	t.Helper()
	p, err := w.catalog.Procedure(t.Context(), string(workflows.CatalogFinalizeKind), workflows.CatalogFinalizeID)
	require.NoError(t, err)
	return p
}

func (w *world) order(t *testing.T, o catalog.Order) {
	t.Helper()
	o.By, o.Reason, o.Rollback = "ann", "test", true
	_, err := w.catalog.Order(t.Context(), string(workflows.CatalogFinalizeKind), workflows.CatalogFinalizeID, o)
	require.NoError(t, err)
}

func (w *world) has(t *testing.T, key string) bool {
	t.Helper()
	have, err := w.get(t.Context(), key)
	require.NoError(t, err)
	return have != nil
}

// environment runs the real workflow and the real activity on a clock that skips.
func (w *world) environment(t *testing.T) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	steps, err := migrate.New(w.catalog, w.copying, migrate.Options{Budget: lease.Budget{Items: 20, Time: time.Minute}, Lease: lease.Options{TTL: time.Hour}})
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(20 * time.Second)
	env.RegisterWorkflowWithOptions(migration.Workflow("Test"), workflow.RegisterOptions{Name: "Test"})
	env.RegisterActivityWithOptions(steps.Advance, activity.RegisterOptions{Name: workflows.AdvanceActivity("Test")})
	env.RegisterActivityWithOptions(operate.New(w.catalog, slog.New(slog.DiscardHandler)).Order, activity.RegisterOptions{Name: workflows.OrderActivity})
	return env
}

func run(t *testing.T, env *testsuite.TestWorkflowEnvironment) workflows.MigrationResult {
	t.Helper()
	env.ExecuteWorkflow("Test", workflows.MigrationInput{Kind: workflows.CatalogFinalizeKind, ID: workflows.CatalogFinalizeID})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	var r workflows.MigrationResult
	require.NoError(t, env.GetWorkflowResult(&r))
	return r
}

func status(t *testing.T, env *testsuite.TestWorkflowEnvironment) workflows.Status {
	t.Helper()
	v, err := env.QueryWorkflow(workflows.StatusQuery)
	require.NoError(t, err)
	var s workflows.Status
	require.NoError(t, v.Get(&s))
	return s
}

// answers keeps how an update went.
type answers struct{ rejected, failed, done []string }

func (a *answers) of(name string) *testsuite.TestUpdateCallback {
	return &testsuite.TestUpdateCallback{
		OnReject: func(err error) { a.rejected = append(a.rejected, name+": "+err.Error()) },
		OnAccept: func() {},
		OnComplete: func(_ any, err error) {
			if err != nil {
				a.failed = append(a.failed, name+": "+err.Error())
				return
			}
			a.done = append(a.done, name)
		},
	}
}

var bothAcks = []string{workflows.AckWriterRollout, workflows.AckWriteQuiescence}

func TestAMigrationFromEndToEnd(t *testing.T) {
	w := newWorld(t, 50)
	env := w.environment(t)
	var got answers
	update := func(name string, in workflows.OrderInput) {
		env.UpdateWorkflow(workflows.ApproveUpdate, name, got.of(name), in)
	}
	env.RegisterDelayedCallback(func() {
		require.Equal(t, workflows.PhaseApproval, status(t, env).Phase)
		require.False(t, w.has(t, barrier), "a barrier before the approval")
		require.True(t, w.has(t, "new/0049"))
		update("no reason", workflows.OrderInput{By: "ann", Acknowledgements: bothAcks})
		update("half", workflows.OrderInput{By: "ann", Reason: "now", Acknowledgements: bothAcks[:1]})
		update("unknown", workflows.OrderInput{By: "ann", Reason: "now", Acknowledgements: append(slices.Clone(bothAcks), "x")})
		update("whole", workflows.OrderInput{By: "ann", Reason: "now", Acknowledgements: bothAcks})
	}, time.Hour)
	r := run(t, env)
	require.Len(t, got.rejected, 3, "%+v", got)
	require.Equal(t, []string{"whole"}, got.done, "%+v", got)
	require.EqualValues(t, 50, r.Counters[workflows.CountFilled])
	require.EqualValues(t, 100, r.Counters[workflows.CountVerified], "before and behind the barrier")
	require.True(t, w.has(t, marker))
	require.True(t, w.has(t, barrier), "stale writers stay out")
	require.False(t, w.has(t, "new/neighbour"))
	p := w.record(t)
	require.Equal(t, catalog.ProcedureCompleted, p.State)
	require.Equal(t, "ann", p.Approval.By)
	page, _, err := w.catalog.Audit(t.Context(), string(workflows.CatalogFinalizeKind), workflows.CatalogFinalizeID, "", 10)
	require.NoError(t, err)
	require.Equal(t, "temporal", page[1].Via)

	// It is in force: another run finds that out and changes nothing.
	w.start(t)
	require.False(t, run(t, w.environment(t)).Cancelled)
	require.Equal(t, catalog.ProcedureCompleted, w.record(t).State)
}

// approveWhen approves as `lake procedure approve` does, once it is awaited.
func (w *world) approveWhen(t *testing.T, env *testsuite.TestWorkflowEnvironment, after time.Duration) {
	env.RegisterDelayedCallback(func() {
		w.order(t, catalog.Order{Action: catalog.ActionApprove, Acknowledgements: bothAcks})
		env.SignalWorkflow(workflows.RecheckSignal, nil)
	}, after)
}

func TestAProblemBlocksItUntilItIsSolved(t *testing.T) {
	w := newWorld(t, 3)
	w.old = 2
	env := w.environment(t)
	env.RegisterDelayedCallback(func() {
		s := status(t, env)
		require.Equal(t, workflows.PhaseBlocked, s.Phase)
		require.Contains(t, s.LastError, "2 writers of the old release")
		require.Contains(t, w.record(t).LastError, "2 writers of the old release", "and without Temporal")
		require.False(t, w.has(t, "new/0000"))
		w.old = 0
		env.SignalWorkflow(workflows.ResumeSignal, nil) // a retry
	}, 10*time.Second)
	w.approveWhen(t, env, time.Hour)
	run(t, env)
	require.True(t, w.has(t, marker))
}

// TestACancelTakesTheBarrierBack cancels behind the barrier, where a record
// without a twin keeps the migration from going on, and begins again.
func TestACancelTakesTheBarrierBack(t *testing.T) {
	w := newWorld(t, 10)
	env := w.environment(t)
	env.RegisterDelayedCallback(func() { w.put(t, "old/9999", "written meanwhile, by an old writer") }, 30*time.Minute)
	w.approveWhen(t, env, time.Hour)
	env.RegisterDelayedCallback(func() {
		require.True(t, w.has(t, barrier))
		require.Contains(t, status(t, env).LastError, "old/9999 has no equal twin")
		require.Equal(t, string(workflows.PhaseVerifyingAgain), w.record(t).Phase)
		w.order(t, catalog.Order{Action: catalog.ActionCancel})
		env.SignalWorkflow(workflows.ResumeSignal, nil)
	}, 2*time.Hour)
	require.True(t, run(t, env).Cancelled)
	require.False(t, w.has(t, barrier), "a cancelled migration keeps writers out")
	require.False(t, w.has(t, marker))
	p := w.record(t)
	require.Equal(t, catalog.ProcedureCancelled, p.State)
	require.Nil(t, p.Approval, "an approval is for one run")

	w.order(t, catalog.Order{Action: catalog.ActionRetry})
	env = w.environment(t)
	w.approveWhen(t, env, time.Hour)
	run(t, env)
	require.True(t, w.has(t, marker))
	require.True(t, w.has(t, "new/9999"))
}

// TestACrashAtEachCommit fails every commit of a migration in turn, one attempt
// after the other.
func TestACrashAtEachCommit(t *testing.T) {
	w := newWorld(t, 30)
	env := w.environment(t)
	n := 0
	env.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) {
		if n++; n%2 == 1 {
			w.crashes = 6 // more than one commit tries by itself
		}
	})
	w.approveWhen(t, env, 3*time.Minute)
	run(t, env)
	require.True(t, w.has(t, marker))
	require.EqualValues(t, 30, w.record(t).Counters[workflows.CountFilled], "a page counted twice or lost")
}

func TestAPauseHoldsItBeforeTheBarrier(t *testing.T) {
	w := newWorld(t, 3)
	env := w.environment(t)
	env.RegisterDelayedCallback(func() {
		w.order(t, catalog.Order{Action: catalog.ActionPause})
		w.order(t, catalog.Order{Action: catalog.ActionApprove, Acknowledgements: bothAcks})
		env.SignalWorkflow(workflows.RecheckSignal, nil)
	}, time.Hour)
	env.RegisterDelayedCallback(func() {
		require.False(t, w.has(t, barrier))
		require.Equal(t, workflows.PhasePaused, status(t, env).Phase)
		w.order(t, catalog.Order{Action: catalog.ActionResume})
	}, 2*time.Hour) // and the signal gets lost
	run(t, env)
	require.True(t, w.has(t, marker))
}
