// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package drop_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/lakeplane/lake/activities/drop"
	"github.com/lakeplane/lake/activities/drop/droptest"
	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/workflows"
)

// hooked is an object store whose deletes and listings a test may disturb.
type hooked struct {
	objstore.Store
	onDelete func(ctx context.Context, key string) error
	onList   func(infos []objstore.Info) []objstore.Info
	deletes  atomic.Int64
}

func (h *hooked) Delete(ctx context.Context, key string) error {
	h.deletes.Add(1)
	if h.onDelete != nil {
		if err := h.onDelete(ctx, key); err != nil {
			return err
		}
	}
	return h.Store.Delete(ctx, key)
}

func (h *hooked) List(ctx context.Context, prefix, after string, limit int) ([]objstore.Info, bool, error) {
	infos, more, err := h.Store.List(ctx, prefix, after, limit)
	if h.onList != nil {
		infos = h.onList(infos)
	}
	return infos, more, err
}

type fixture struct {
	*droptest.World
	root       string // of the objects
	objects    *hooked
	activities *drop.Activities
	env        *testsuite.TestActivityEnvironment
}

func setup(t *testing.T, opts drop.Options) *fixture {
	t.Helper()
	store := memory.New()
	t.Cleanup(func() { _ = store.Close() })
	root := t.TempDir()
	files, err := local.Open(root)
	require.NoError(t, err)
	t.Cleanup(func() { _ = files.Close() })
	f := &fixture{root: root, objects: &hooked{Store: files}}
	f.World = droptest.New(t, store, f.objects)
	f.activities = f.build(t, opts)
	f.env = environment(f.activities)
	return f
}

func (f *fixture) build(t *testing.T, opts drop.Options) *drop.Activities {
	t.Helper()
	if opts.Settle == 0 {
		opts.Settle = time.Nanosecond // no writer is left
	}
	a, err := drop.New(f.Catalog, f.Store, f.objects, map[string]drop.Engine{droptest.EngineName: droptest.Engine}, opts)
	require.NoError(t, err)
	return a
}

func environment(a *drop.Activities) *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	for name, f := range map[string]any{
		workflows.DropBegin: a.Begin, workflows.DropDeleteObjects: a.DeleteObjects,
		workflows.DropClearHistory: a.ClearHistory, workflows.DropFinish: a.Finish,
	} {
		env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	return env
}

func (f *fixture) try(name string, step workflows.DropStep) (workflows.DropProgress, error) {
	v, err := f.env.ExecuteActivity(name, step)
	if err != nil {
		return workflows.DropProgress{}, err
	}
	var out workflows.DropProgress
	return out, v.Get(&out)
}

func (f *fixture) run(t *testing.T, name string, step workflows.DropStep) workflows.DropProgress {
	t.Helper()
	out, err := f.try(name, step)
	require.NoError(t, err, name)
	return out
}

// failed checks that an activity failed with the kind.
func failed(t *testing.T, err error, kind lake.Kind) {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, kind.String(), app.Type(), "%v", err)
}

var table = lake.TableName{Namespace: "robots", Name: "t"}

func past() time.Time { return time.Now().Add(-time.Second) }

func TestADropLeavesNothing(t *testing.T) {
	f := setup(t, drop.Options{ListPage: 7})
	step := f.Drop(t, f.Table(t, table, 70, 50), past())

	require.True(t, f.run(t, workflows.DropBegin, step).Done)
	out := f.run(t, workflows.DropDeleteObjects, step)
	require.True(t, out.Done)
	require.EqualValues(t, 50, out.Counters[workflows.CountObjects])
	require.EqualValues(t, 500, out.Counters[workflows.CountBytes])
	out = f.run(t, workflows.DropClearHistory, step)
	require.True(t, out.Done)
	require.EqualValues(t, 70, out.Counters[workflows.CountHistory])
	out = f.run(t, workflows.DropFinish, step)
	require.True(t, out.Over)
	require.False(t, out.Undone)
	f.RequireGone(t, step)
}

func TestEveryStepMayRunTwice(t *testing.T) {
	f := setup(t, drop.Options{})
	step := f.Drop(t, f.Table(t, table, 3, 5), past())
	steps := []string{workflows.DropBegin, workflows.DropDeleteObjects, workflows.DropClearHistory, workflows.DropFinish}
	for i, name := range steps {
		for _, again := range steps[:i+1] {
			out := f.run(t, again, step)
			require.True(t, out.Done, "%s after %s", again, name)
		}
		f.run(t, name, step)
	}
	f.RequireGone(t, step)
	require.EqualValues(t, 5, f.Procedure(t, step).Counters[workflows.CountObjects])
	require.EqualValues(t, 3, f.Procedure(t, step).Counters[workflows.CountHistory])
}

func TestNothingIsDeletedBeforeThePointOfNoReturn(t *testing.T) {
	f := setup(t, drop.Options{})
	end := time.Now().Add(time.Hour)
	step := f.Drop(t, f.Table(t, table, 1, 3), end)
	for range 2 {
		out := f.run(t, workflows.DropBegin, step)
		require.NotNil(t, out.Wait)
		require.WithinDuration(t, end, *out.Wait, time.Millisecond)
	}
	// Even a workflow that skips the wait deletes nothing.
	for _, name := range []string{workflows.DropDeleteObjects, workflows.DropClearHistory} {
		_, err := f.try(name, step)
		failed(t, err, lake.Precondition)
	}
	require.True(t, f.run(t, workflows.DropFinish, step).Again)
	require.Equal(t, 3, f.ObjectsLeft(t, step))
	require.Zero(t, f.objects.deletes.Load())
	require.Contains(t, f.Procedure(t, step).LastError, "point of no return")
}

func TestAnUndropEndsTheDrop(t *testing.T) {
	f := setup(t, drop.Options{})
	step := f.Drop(t, f.Table(t, table, 1, 3), time.Now().Add(time.Hour))
	require.NotNil(t, f.run(t, workflows.DropBegin, step).Wait)
	require.True(t, f.Undrop(t, step))
	for range 2 {
		out := f.run(t, workflows.DropBegin, step)
		require.True(t, out.Over && out.Undone)
	}
	require.Equal(t, catalog.ProcedureCancelled, f.Procedure(t, step).State)
	require.Equal(t, 3, f.ObjectsLeft(t, step))
}

func TestNoUndropAfterThePointOfNoReturn(t *testing.T) {
	f := setup(t, drop.Options{})
	step := f.Drop(t, f.Table(t, table, 1, 3), past())
	f.run(t, workflows.DropBegin, step)
	require.False(t, f.Undrop(t, step))
}

// TestUndropAndBeginRace commits an undrop between Begin's reading of the
// record and its commit.
func TestUndropAndBeginRace(t *testing.T) {
	f := setup(t, drop.Options{})
	step := f.Drop(t, f.Table(t, table, 1, 3), past())
	racing := &racingCatalog{Catalog: f.Catalog, after: 1, act: func() { require.True(t, f.Undrop(t, step)) }}
	a, err := drop.New(racing, f.Store, f.objects, map[string]drop.Engine{droptest.EngineName: droptest.Engine}, drop.Options{})
	require.NoError(t, err)
	f.env = environment(a)
	_, err = f.try(workflows.DropBegin, step)
	failed(t, err, lake.Fenced)
	require.True(t, f.run(t, workflows.DropBegin, step).Undone)
	require.Equal(t, 3, f.ObjectsLeft(t, step))
}

// racingCatalog does something once, before a commit of a procedure.
type racingCatalog struct {
	drop.Catalog
	after int
	act   func()
}

func (r *racingCatalog) CommitProcedure(ctx context.Context, old, next catalog.Procedure, ops ...metastore.Op) (catalog.Procedure, error) {
	if r.after--; r.after == -1 {
		r.act()
	}
	return r.Catalog.CommitProcedure(ctx, old, next, ops...)
}

// Report 18: a location that is the prefix of another does not delete it.
func TestOnlyTheIncarnationsLocationIsTouched(t *testing.T) {
	f := setup(t, drop.Options{})
	gone := f.Table(t, table, 2, 4)
	// Neighbours whose names begin alike: another table, a folder beside the
	// location, and the next table under the same name.
	neighbour := f.Table(t, lake.TableName{Namespace: "robots", Name: "t2"}, 2, 4)
	location := string(gone.Snapshot.Location)
	beside := []string{location + "2/x", location + ".old/x", strings.TrimSuffix(location, ".lance") + "/x"}
	for _, key := range beside {
		require.NoError(t, f.objects.Put(t.Context(), key, []byte("x")))
	}
	step := f.Drop(t, gone, past())
	again := f.Table(t, table, 3, 6)

	for _, name := range []string{workflows.DropBegin, workflows.DropDeleteObjects, workflows.DropClearHistory, workflows.DropFinish} {
		f.run(t, name, step)
	}
	f.RequireGone(t, step)
	for _, left := range []struct {
		table    catalog.Table
		objects  int
		versions int
	}{{neighbour, 4, 2}, {again, 6, 3}} {
		require.Equal(t, left.objects, droptest.CountObjects(t, f.objects, left.table.Snapshot.Location.Prefix()))
		require.Len(t, f.Keys(t, droptest.Engine.HistoryPrefix(left.table.Snapshot.Location)), left.versions)
		current, err := f.Catalog.Get(t.Context(), left.table.Name)
		require.NoError(t, err)
		require.Equal(t, left.table.Snapshot, current.Snapshot)
	}
	for _, key := range beside {
		_, err := objstore.ReadAll(t.Context(), f.objects, key, 10)
		require.NoError(t, err, key)
	}
}

func TestAStoreThatListsANeighbourDeletesNothing(t *testing.T) {
	f := setup(t, drop.Options{})
	step := f.Drop(t, f.Table(t, table, 1, 3), past())
	f.run(t, workflows.DropBegin, step)
	f.objects.onList = func(infos []objstore.Info) []objstore.Info {
		return append([]objstore.Info{{Key: "robots/other/data"}}, infos...)
	}
	_, err := f.try(workflows.DropDeleteObjects, step)
	failed(t, err, lake.Corrupt)
	require.Zero(t, f.objects.deletes.Load())
}

func TestBudgetsBoundAnActivity(t *testing.T) {
	f := setup(t, drop.Options{ListPage: 5, Budget: lease.Budget{Items: 10, Time: time.Minute}})
	step := f.Drop(t, f.Table(t, table, 100, 23), past())
	f.run(t, workflows.DropBegin, step)
	for _, want := range []int{13, 3} {
		out := f.run(t, workflows.DropDeleteObjects, step)
		require.False(t, out.Done)
		require.Equal(t, want, f.ObjectsLeft(t, step))
	}
	require.True(t, f.run(t, workflows.DropDeleteObjects, step).Done)
	rounds := 0
	for ; !f.run(t, workflows.DropClearHistory, step).Done; rounds++ {
	}
	require.Equal(t, 2, rounds, "a page of history exceeds the budget, so each call clears one, and the one with the last objects did")
	require.True(t, f.run(t, workflows.DropFinish, step).Over)
	f.RequireGone(t, step)
}

func TestAnOlderAttemptFailsAtItsNextWrite(t *testing.T) {
	f := setup(t, drop.Options{ListPage: 4, Parallel: 1})
	step := f.Drop(t, f.Table(t, table, 1, 12), past())
	f.run(t, workflows.DropBegin, step)
	// In the middle of the first attempt's first page another attempt of the
	// same run deletes everything and ends the drop.
	var once atomic.Bool
	f.objects.onDelete = func(context.Context, string) error {
		if once.CompareAndSwap(false, true) {
			other := &fixture{World: f.World, env: environment(f.build(t, drop.Options{}))}
			for _, name := range []string{workflows.DropDeleteObjects, workflows.DropClearHistory, workflows.DropFinish} {
				other.run(t, name, step)
			}
		}
		return nil
	}
	_, err := f.try(workflows.DropDeleteObjects, step)
	failed(t, err, lake.Fenced)
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.True(t, app.NonRetryable())
	f.RequireGone(t, step)
	require.EqualValues(t, 12, f.Procedure(t, step).Counters[workflows.CountObjects], "the loser counted nothing")
}

// Report 45: an attempt that Temporal cannot reach stops with its lease.
func TestAnAttemptStopsWithItsLease(t *testing.T) {
	f := setup(t, drop.Options{})
	step := f.Drop(t, f.Table(t, table, 1, 10), past())
	f.run(t, workflows.DropBegin, step)
	patient := f.env
	f.env = environment(f.build(t, drop.Options{Parallel: 1, Lease: lease.Options{TTL: 400 * time.Millisecond, Margin: 200 * time.Millisecond}}))
	f.objects.onDelete = func(ctx context.Context, _ string) error {
		select { // a store that has become slow
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
			return nil
		}
	}
	_, err := f.try(workflows.DropDeleteObjects, step)
	failed(t, err, lake.Unavailable)
	require.Less(t, f.objects.deletes.Load(), int64(10))
	f.objects.onDelete = nil
	f.env = patient
	require.True(t, f.run(t, workflows.DropDeleteObjects, step).Done)
	require.Zero(t, f.ObjectsLeft(t, step))
}

// Report 24: nothing is left under the prefix, whatever came late.
func TestALateObjectSendsTheDropBack(t *testing.T) {
	f := setup(t, drop.Options{Settle: time.Hour})
	gone := f.Table(t, table, 1, 3)
	step := f.Drop(t, gone, past())
	for _, name := range []string{workflows.DropBegin, workflows.DropDeleteObjects, workflows.DropClearHistory} {
		f.run(t, name, step)
	}
	f.env = environment(f.build(t, drop.Options{})) // the time has passed
	require.NoError(t, f.objects.Put(t.Context(), gone.Snapshot.Location.Prefix()+"data/late", []byte("x")))
	out := f.run(t, workflows.DropFinish, step)
	require.True(t, out.Again)
	require.NotEmpty(t, f.Keys(t, "drop/"), "the tombstone went before the last object")
	for _, name := range []string{workflows.DropDeleteObjects, workflows.DropClearHistory, workflows.DropFinish} {
		f.run(t, name, step)
	}
	f.RequireGone(t, step)
}

// TestALateObjectIsDeletedByTheActivityAfter: it came when the listing was past its
// place, and the activity that would have ended the drop sees it.
func TestALateObjectIsDeletedByTheActivityAfter(t *testing.T) {
	f := setup(t, drop.Options{Parallel: 1})
	gone := f.Table(t, table, 1, 3)
	step := f.Drop(t, gone, past())
	f.run(t, workflows.DropBegin, step)
	late := gone.Snapshot.Location.Prefix() + "a-late-one"
	f.objects.onDelete = func(ctx context.Context, _ string) error {
		if f.objects.deletes.Load() == 3 {
			return f.objects.Put(ctx, late, []byte("x"))
		}
		return nil
	}
	out := f.run(t, workflows.DropDeleteObjects, step)
	require.False(t, out.Done)
	require.Equal(t, workflows.PhaseObjects, out.Phase)
	require.NotEmpty(t, f.Keys(t, "drop/"), "the tombstone went before the last object")
	require.True(t, f.run(t, workflows.DropDeleteObjects, step).Over)
	f.RequireGone(t, step)
}

func TestFinishWaitsForWritersToGiveUp(t *testing.T) {
	f := setup(t, drop.Options{Settle: time.Hour})
	step := f.Drop(t, f.Table(t, table, 1, 1), past())
	for _, name := range []string{workflows.DropBegin, workflows.DropDeleteObjects, workflows.DropClearHistory} {
		f.run(t, name, step)
	}
	out := f.run(t, workflows.DropFinish, step)
	require.NotNil(t, out.Wait)
	require.WithinDuration(t, time.Now().Add(time.Hour), *out.Wait, time.Minute)
	require.NotEmpty(t, f.Keys(t, "drop/"))
}

// A maintenance that was under way may write under the location until its
// attempt has stopped.
func TestFinishWaitsForAMaintenanceToStop(t *testing.T) {
	f := setup(t, drop.Options{})
	held := f.Table(t, table, 1, 1)
	p, _, err := f.Catalog.OpenProcedure(t.Context(), catalog.Procedure{
		Kind: catalog.MaintenanceKind, ID: catalog.MaintenanceID(table, held.Snapshot.Incarnation),
	})
	require.NoError(t, err)
	claimed := p
	claimed.State, claimed.Epoch, claimed.Deadline = catalog.ProcedureRunning, 1, time.Now().Add(time.Hour)
	claimed, err = f.Catalog.CommitProcedure(t.Context(), p, claimed)
	require.NoError(t, err)
	step := f.Drop(t, held, past())
	for _, name := range []string{workflows.DropBegin, workflows.DropDeleteObjects, workflows.DropClearHistory} {
		f.run(t, name, step)
	}
	out := f.run(t, workflows.DropFinish, step)
	require.NotNil(t, out.Wait)
	require.WithinDuration(t, claimed.Deadline, *out.Wait, time.Second)
	stopped := claimed
	stopped.State, stopped.Deadline = catalog.ProcedureCancelled, time.Time{}
	_, err = f.Catalog.CommitProcedure(t.Context(), claimed, stopped)
	require.NoError(t, err)
	require.True(t, f.run(t, workflows.DropFinish, step).Over)
	f.RequireGone(t, step)
}

// TestALargePageIsSeveralListings drops more than one listing returns, from a
// store that deletes batches and one that does not.
func TestALargePageIsSeveralListings(t *testing.T) {
	for name, view := range map[string]func(*hooked) objstore.Store{
		"singles": func(h *hooked) objstore.Store { return h }, "batches": func(h *hooked) objstore.Store { return h.Store },
	} {
		t.Run(name, func(t *testing.T) {
			const objects = objstore.MaxPage + 5
			f := setup(t, drop.Options{})
			gone := f.Table(t, table, 1, 0)
			for i := range objects {
				path := filepath.Join(f.root, filepath.FromSlash(gone.Snapshot.Location.Prefix()), "data", fmt.Sprintf("%06d", i))
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
			}
			step := f.Drop(t, gone, past())
			a, err := drop.New(f.Catalog, f.Store, view(f.objects), map[string]drop.Engine{droptest.EngineName: droptest.Engine}, drop.Options{Settle: time.Nanosecond})
			require.NoError(t, err)
			f.env = environment(a)
			f.run(t, workflows.DropBegin, step)
			out := f.run(t, workflows.DropDeleteObjects, step)
			require.True(t, out.Done)
			require.EqualValues(t, objects, out.Counters[workflows.CountObjects])
			require.EqualValues(t, objects, out.Counters[workflows.CountBytes])
			require.Zero(t, f.ObjectsLeft(t, step))
		})
	}
}

func TestFailuresAreShownInTheRecord(t *testing.T) {
	f := setup(t, drop.Options{})
	step := f.Drop(t, f.Table(t, table, 1, 3), past())
	f.run(t, workflows.DropBegin, step)
	for _, tc := range []struct {
		err  error
		kind lake.Kind
		text string
	}{
		{lake.Errorf(lake.Exhausted, "slow down"), lake.Exhausted, "slow down"},
		{errors.New("dial tcp with a secret"), lake.Unknown, "see the worker's log"},
	} {
		f.objects.onDelete = func(context.Context, string) error { return tc.err }
		_, err := f.try(workflows.DropDeleteObjects, step)
		failed(t, err, tc.kind)
		require.Contains(t, f.Procedure(t, step).LastError, tc.text)
		require.NotContains(t, f.Procedure(t, step).LastError, "secret")
		require.True(t, f.Procedure(t, step).Deadline.IsZero(), "a failed attempt gives the record free")
	}
}

func TestATombstoneThatPointsElsewhereIsRefused(t *testing.T) {
	f := setup(t, drop.Options{})
	step := f.Drop(t, f.Table(t, table, 1, 3), past())
	wrong := &wrongPlace{Catalog: f.Catalog}
	a, err := drop.New(wrong, f.Store, f.objects, map[string]drop.Engine{droptest.EngineName: droptest.Engine}, drop.Options{})
	require.NoError(t, err)
	f.env = environment(a)
	_, err = f.try(workflows.DropBegin, step)
	failed(t, err, lake.Corrupt)
	require.Zero(t, f.objects.deletes.Load())
}

type wrongPlace struct{ drop.Catalog }

func (w *wrongPlace) Tombstone(ctx context.Context, name lake.TableName, inc lake.Incarnation) (catalog.Tombstone, error) {
	t, err := w.Catalog.Tombstone(ctx, name, inc)
	t.Table.Snapshot.Location = lake.Location(name.Namespace)
	return t, err
}

func TestAnUnknownEngineIsNamed(t *testing.T) {
	f := setup(t, drop.Options{})
	step := f.Drop(t, f.Table(t, table, 1, 1), past())
	a, err := drop.New(f.Catalog, f.Store, f.objects, nil, drop.Options{})
	require.NoError(t, err)
	f.env = environment(a)
	_, err = f.try(workflows.DropBegin, step)
	failed(t, err, lake.Unsupported)
	require.ErrorContains(t, err, droptest.EngineName)
}

func TestOptionsValidate(t *testing.T) {
	require.NoError(t, drop.Options{}.Validate())
	err := drop.Options{ListPage: 20_000, Parallel: -1, Settle: -1}.Validate()
	for _, want := range []string{"20000", "-1 deletes", "negative"} {
		require.ErrorContains(t, err, want)
	}
}

// commitsOfADrop is how many commits the drop of eight objects in pages of three
// and two versions makes: a claim and the point of no return, another claim, three pages
// of objects and one of history, and the end.
const commitsOfADrop = 8

// TestCrashAtEveryCommit loses the worker right before and right after each
// commit of a drop, then lets the next attempt go on.
func TestCrashAtEveryCommit(t *testing.T) {
	t.Run("single deletes", func(t *testing.T) {
		crashAtEveryCommit(t, func(h *hooked) objstore.Store { return h })
	})
	t.Run("batches", func(t *testing.T) {
		crashAtEveryCommit(t, func(h *hooked) objstore.Store { return h.Store })
	})
}

func crashAtEveryCommit(t *testing.T, view func(*hooked) objstore.Store) {
	for _, lost := range []string{"before", "after"} {
		for n := range commitsOfADrop {
			t.Run(fmt.Sprintf("%s commit %d", lost, n), func(t *testing.T) {
				f := setup(t, drop.Options{ListPage: 3})
				step := f.Drop(t, f.Table(t, table, 2, 8), past())
				crashing := &crashingCatalog{Catalog: f.Catalog, at: n, after: lost == "after"}
				a, err := drop.New(crashing, f.Store, view(f.objects), map[string]drop.Engine{droptest.EngineName: droptest.Engine}, drop.Options{ListPage: 3, Settle: time.Nanosecond})
				require.NoError(t, err)
				f.env = environment(a)
				for _, name := range []string{workflows.DropBegin, workflows.DropDeleteObjects, workflows.DropClearHistory, workflows.DropFinish} {
					for attempt := 0; ; attempt++ {
						require.Less(t, attempt, 5)
						if out, err := f.try(name, step); err == nil && out.Done {
							break
						}
					}
				}
				require.Negative(t, crashing.at, "the drop has fewer commits than the test thinks")
				f.RequireGone(t, step)
				require.EqualValues(t, 8, f.Procedure(t, step).Counters[workflows.CountObjects]+crashing.uncounted)
			})
		}
	}
}

// crashingCatalog fails one commit and every later write of the same attempt,
// as a process that died there.
type crashingCatalog struct {
	drop.Catalog
	at        int
	after     bool
	uncounted int64
	dead      bool
}

var errCrash = lake.Errorf(lake.Unavailable, "the worker died here")

func (c *crashingCatalog) Procedure(ctx context.Context, kind, id string) (catalog.Procedure, error) {
	c.dead = false // a new attempt
	return c.Catalog.Procedure(ctx, kind, id)
}

func (c *crashingCatalog) CommitProcedure(ctx context.Context, old, next catalog.Procedure, ops ...metastore.Op) (catalog.Procedure, error) {
	if c.dead {
		return catalog.Procedure{}, errCrash
	}
	if c.at--; c.at != -1 {
		return c.Catalog.CommitProcedure(ctx, old, next, ops...)
	}
	c.dead = true
	if c.after {
		if _, err := c.Catalog.CommitProcedure(ctx, old, next, ops...); err != nil {
			return catalog.Procedure{}, err
		}
	} else {
		// Objects of the page are gone and were not counted.
		c.uncounted = next.Counters[workflows.CountObjects] - old.Counters[workflows.CountObjects]
	}
	return catalog.Procedure{}, errCrash
}

// TestAQuickDropIsOneActivity: a small table is gone with the first step.
func TestAQuickDropIsOneActivity(t *testing.T) {
	f := setup(t, drop.Options{})
	step := f.Drop(t, f.Table(t, table, 3, 40), past())
	step.Quick = true
	out := f.run(t, workflows.DropBegin, step)
	require.True(t, out.Over)
	require.EqualValues(t, 40, out.Counters[workflows.CountObjects])
	require.EqualValues(t, 3, out.Counters[workflows.CountHistory])
	f.RequireGone(t, step)
}

// TestAQuickStepSaysWhereItLeftOff: at the verification, which must wait, and in the
// middle of a large table; who asks again goes on from there.
func TestAQuickStepSaysWhereItLeftOff(t *testing.T) {
	f := setup(t, drop.Options{Settle: time.Hour})
	step := f.Drop(t, f.Table(t, table, 3, 5), past())
	step.Quick = true
	for range 2 {
		out := f.run(t, workflows.DropBegin, step)
		require.True(t, out.Done)
		require.Equal(t, workflows.PhaseFinishing, out.Phase)
		require.NotNil(t, out.Wait)
		require.Zero(t, f.ObjectsLeft(t, step))
	}

	f = setup(t, drop.Options{ListPage: 5, Budget: lease.Budget{Items: 5}})
	step = f.Drop(t, f.Table(t, table, 1, 20), past())
	step.Quick = true
	out := f.run(t, workflows.DropBegin, step)
	require.True(t, out.Done)
	require.Equal(t, workflows.PhaseObjects, out.Phase)
	require.Equal(t, 15, f.ObjectsLeft(t, step))
	step.Quick = false
	out = f.run(t, workflows.DropDeleteObjects, step)
	require.NotNil(t, out.Estimate, "what a first step does not finish is counted")
	require.EqualValues(t, 20, out.Estimate.Total)
}

// TestALongDropIsCountedBesideItsDeletes: one that lasts is measured at a commit in
// its first activity, from what is left then; one that is over soon is not listed twice.
func TestALongDropIsCountedBesideItsDeletes(t *testing.T) {
	for name, c := range map[string]struct {
		budget time.Duration // a quarter of it is waited before the count
		total  int64
	}{"long": {40 * time.Millisecond, 9}, "soon over": {time.Hour, 0}} {
		t.Run(name, func(t *testing.T) {
			f := setup(t, drop.Options{ListPage: 3, Budget: lease.Budget{Time: c.budget, Items: 1000}})
			step := f.Drop(t, f.Table(t, table, 1, 9), past())
			f.run(t, workflows.DropBegin, step)
			var total atomic.Int64
			f.objects.onDelete = func(context.Context, string) error {
				if f.objects.deletes.Load() == 1 {
					time.Sleep(11 * time.Millisecond) // the first page outlasts the patience, if it is short
				}
				if p := f.Procedure(t, step); p.Progress.Of == workflows.CountObjects {
					total.Store(p.Progress.Total)
				}
				return nil
			}
			for !f.run(t, workflows.DropDeleteObjects, step).Done {
			}
			require.Equal(t, c.total, total.Load())
			require.Zero(t, f.ObjectsLeft(t, step))
			require.EqualValues(t, 9, f.Procedure(t, step).Counters[workflows.CountObjects])
		})
	}
}

// TestAQuickDropCrashesAtEveryCommit and is made good by the attempt after.
func TestAQuickDropCrashesAtEveryCommit(t *testing.T) {
	for _, after := range []bool{false, true} {
		crashes := 0
		for n := 0; ; n++ {
			f := setup(t, drop.Options{ListPage: 3})
			step := f.Drop(t, f.Table(t, table, 2, 8), past())
			step.Quick = true
			crashing := &crashingCatalog{Catalog: f.Catalog, at: n, after: after}
			a, err := drop.New(crashing, f.Store, f.objects.Store, map[string]drop.Engine{droptest.EngineName: droptest.Engine}, drop.Options{ListPage: 3, Settle: time.Nanosecond})
			require.NoError(t, err)
			f.env = environment(a)
			for attempt := 0; ; attempt++ {
				require.Less(t, attempt, 5)
				if out, err := f.try(workflows.DropBegin, step); err == nil && out.Over {
					break
				}
			}
			f.RequireGone(t, step)
			if crashing.at >= 0 {
				break // the drop had no such commit
			}
			crashes++
		}
		require.GreaterOrEqual(t, crashes, 6)
	}
}

// TestAShortWaitIsPartOfAQuickDrop: what settles within a second is waited for.
func TestAShortWaitIsPartOfAQuickDrop(t *testing.T) {
	f := setup(t, drop.Options{Settle: time.Second})
	step := f.Drop(t, f.Table(t, table, 1, 2), past())
	step.Quick = true
	tombstone, err := f.Catalog.Tombstone(t.Context(), step.Table(), step.Incarnation)
	require.NoError(t, err)
	require.True(t, f.run(t, workflows.DropBegin, step).Over)
	require.False(t, time.Now().Before(tombstone.DroppedAt.Add(time.Second)))
	f.RequireGone(t, step)
}
