// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package maintain_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/activities/maintain"
	"github.com/lakeplane/lake/activities/maintain/maintaintest"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/retention"
	"github.com/lakeplane/lake/workflows"
)

// broken makes stores fail on request.
type broken struct {
	mu sync.Mutex
	// fails is called before each effect and says whether it fails, and whether
	// it happens all the same.
	fails func(what string) (fail, anyway bool)
}

func (b *broken) effect(what string) (fail, anyway bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fails(what)
}

type brokenCatalog struct {
	*catalog.Catalog
	*broken
}

type brokenObjects struct {
	objstore.Store
	*broken
}

func (b brokenCatalog) CommitProcedure(ctx context.Context, old, next catalog.Procedure, ops ...metastore.Op) (catalog.Procedure, error) {
	fail, anyway := b.effect("commit")
	if !fail {
		return b.Catalog.CommitProcedure(ctx, old, next, ops...)
	}
	if anyway {
		if _, err := b.Catalog.CommitProcedure(ctx, old, next, ops...); err != nil {
			return catalog.Procedure{}, err
		}
	}
	return catalog.Procedure{}, lake.Errorf(lake.Undetermined, "a test took the answer")
}

func (b brokenObjects) Delete(ctx context.Context, key string) error {
	fail, anyway := b.effect("delete")
	if !fail || anyway {
		if err := b.Store.Delete(ctx, key); err != nil {
			return err
		}
	}
	if fail {
		return lake.Errorf(lake.Unavailable, "a test took the store away")
	}
	return nil
}

// reclaimer is a fixture whose old versions are deleted.
type reclaimer struct {
	*fixture
	objects *local.Store
	catalog *catalog.Catalog
	broken  *broken
	opts    maintain.Options
}

// atOnce gives up all but the newest n versions, and orphans of any age.
func atOnce(n int) retention.Policy {
	return retention.Policy{Versions: n, For: time.Nanosecond, OrphanAge: time.Nanosecond}
}

func reclaiming(t testing.TB, policy retention.Policy) *reclaimer {
	t.Helper()
	store := memory.New()
	t.Cleanup(func() { _ = store.Close() })
	objects, err := local.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = objects.Close() })
	e, err := enginelance.New(enginelance.Options{Store: objects})
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close() })
	f := &fixture{World: maintaintest.New(t, store, e), engine: &disturbed{Engine: e}, starts: &starts{}}
	r := &reclaimer{fixture: f, objects: objects}
	r.broken = &broken{fails: func(string) (bool, bool) { return false, false }}
	r.catalog = f.Catalog
	r.opts = maintain.Options{Records: store, Objects: brokenObjects{objects, r.broken}, Retention: policy, Saved: 4}
	r.restart(t)
	return r
}

// restart begins with new activities, as another worker does.
func (r *reclaimer) restart(t testing.TB) {
	t.Helper()
	a, err := maintain.New(brokenCatalog{r.catalog, r.broken}, r.starts, map[string]maintain.Engine{enginelance.Name: r.engine}, r.opts)
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	r.env = suite.NewTestActivityEnvironment()
	r.env.RegisterActivityWithOptions(a.Compact, activity.RegisterOptions{Name: workflows.MaintenanceCompact})
	r.env.RegisterActivityWithOptions(a.Reclaim, activity.RegisterOptions{Name: workflows.MaintenanceReclaim})
	r.env.RegisterActivityWithOptions(a.Plan, activity.RegisterOptions{Name: workflows.MaintenancePlan})
}

// later lets time pass.
func (r *reclaimer) later(t testing.TB, d time.Duration) {
	t.Helper()
	r.opts.Now = func() time.Time { return time.Now().Add(d) }
	r.catalog = catalog.New(r.Store, catalog.Options{Now: r.opts.Now})
	r.restart(t)
}

// reclaim runs the activity once.
func (r *reclaimer) reclaim(step workflows.MaintenanceStep) (out workflows.MaintenanceProgress, err error) {
	v, err := r.env.ExecuteActivity(workflows.MaintenanceReclaim, step)
	if err == nil {
		err = v.Get(&out)
	}
	return out, err
}

// all runs the activity until it is over.
func (r *reclaimer) all(t testing.TB, step workflows.MaintenanceStep) workflows.MaintenanceProgress {
	t.Helper()
	for range 100 {
		out, err := r.reclaim(step)
		require.NoError(t, err)
		if out.Over {
			return out
		}
	}
	require.Fail(t, "the clean-up does not end")
	return workflows.MaintenanceProgress{}
}

// keys are the keys of all objects of the table.
func (r *reclaimer) keys(t testing.TB, table catalog.Table) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for page, err := range objstore.Pages(context.WithoutCancel(t.Context()), r.objects, table.Snapshot.Location.Prefix(), "", objstore.MaxPage) {
		require.NoError(t, err)
		for _, info := range page {
			out[info.Key] = true
		}
	}
	return out
}

// rows are the recorded versions.
func (r *reclaimer) rows(t testing.TB, table catalog.Table) (out []lake.Snapshot) {
	t.Helper()
	for cursor := ""; ; {
		rows, next, err := retention.Rows(context.WithoutCancel(t.Context()), r.Store, r.Engine.HistoryPrefix(table.Snapshot.Location), cursor, 7)
		require.NoError(t, err)
		for _, row := range rows {
			out = append(out, row.Snapshot)
		}
		if cursor = next; cursor == "" {
			return out
		}
	}
}

// requireExactly checks that there is what the recorded versions need, and
// nothing else.
func (r *reclaimer) requireExactly(t testing.TB, table catalog.Table) {
	t.Helper()
	want := map[string]bool{}
	for _, snap := range r.rows(t, table) {
		parts, err := r.engine.Inspect(context.WithoutCancel(t.Context()), snap)
		require.NoError(t, err, "version %d", snap.Version)
		want[parts.Manifest] = true
		for _, o := range parts.Objects {
			want[o.Key] = true
		}
	}
	require.Equal(t, want, r.keys(t, table))
}

func (r *reclaimer) tag(t testing.TB, table catalog.Table, name string, v lake.Version) {
	t.Helper()
	key := table.Snapshot.Location.Prefix() + "_refs/tags/" + name + ".json"
	require.NoError(t, r.objects.Put(context.WithoutCancel(t.Context()), key, fmt.Appendf(nil, `{"branch":null,"version":%d,"manifestSize":1}`, v)))
}

func (r *reclaimer) untag(t testing.TB, table catalog.Table, name string) {
	t.Helper()
	require.NoError(t, r.objects.Delete(t.Context(), table.Snapshot.Location.Prefix()+"_refs/tags/"+name+".json"))
}

func versions(snaps []lake.Snapshot) (out []lake.Version) {
	for _, s := range snaps {
		out = append(out, s.Version)
	}
	return out
}

func TestOldVersionsGoAndNothingElse(t *testing.T) {
	r := reclaiming(t, atOnce(3))
	old := r.Appended(t, name, 12)
	step := r.Intend(t, old)
	out, err := r.compact(step)
	require.NoError(t, err)
	require.True(t, out.Over)
	require.False(t, r.Procedure(t, step.Ref()).State.Terminal(), "the clean-up follows")
	before := r.rows(t, old)

	out = r.all(t, step)
	require.Equal(t, catalog.ProcedureCompleted, r.Procedure(t, step.Ref()).State)
	now := r.Now(t, name)
	require.Equal(t, []lake.Version{12, 13, 14}, versions(r.rows(t, now)))
	require.EqualValues(t, 11, now.Reclaimed.Floor)
	require.EqualValues(t, 11, out.Counters[workflows.CountGivenUp])
	require.EqualValues(t, 11, out.Counters[workflows.CountHistory])
	require.EqualValues(t, 11, out.Counters[workflows.CountManifests])
	r.requireExactly(t, now)
	for _, snap := range before {
		if snap.Version > now.Reclaimed.Floor {
			r.Numbers(t, snap)
			continue
		}
		_, err := r.Engine.Open(t.Context(), snap)
		require.ErrorIs(t, err, engine.ErrUnavailable)
		require.True(t, lake.Is(err, lake.Precondition))
		require.ErrorContains(t, err, "the pinned table snapshot is unavailable")
	}
	r.RequireNumbers(t, now.Snapshot, 120)
	r.RequireNumbers(t, r.Append(t, now, 120, 10).Snapshot, 130)
}

func TestARecentVersionStaysForItsReaders(t *testing.T) {
	r := reclaiming(t, retention.Policy{Versions: 2, For: time.Hour, OrphanAge: time.Nanosecond})
	table := r.Appended(t, name, 8)
	r.all(t, r.Intend(t, table))
	require.Len(t, r.rows(t, table), 9, "each was current within the last hour")
	r.later(t, 2*time.Hour)
	r.all(t, r.Intend(t, table))
	require.Equal(t, []lake.Version{8, 9}, versions(r.rows(t, table)))
}

// Report 34: an old tag keeps its version and nothing else.
func TestTaggedVersionsStay(t *testing.T) {
	r := reclaiming(t, atOnce(2))
	table := r.Appended(t, name, 6)
	r.tag(t, table, "keep", 3)
	r.tag(t, table, "never", 99) // of no version
	pinned := r.rows(t, table)[2]
	step := r.Intend(t, table)
	_, err := r.compact(step)
	require.NoError(t, err)
	r.all(t, step)
	require.Equal(t, []lake.Version{3, 7, 8}, versions(r.rows(t, table)))
	r.RequireNumbers(t, pinned, 20)

	// A tag that comes too late keeps nothing and stops nothing.
	r.tag(t, table, "late", 2)
	r.untag(t, table, "keep")
	r.all(t, r.Intend(t, table))
	require.Equal(t, []lake.Version{7, 8}, versions(r.rows(t, table)))
	r.untag(t, table, "late")
	r.untag(t, table, "never")
	r.requireExactly(t, table)
}

func TestOrphansGoWhenTheyAreOld(t *testing.T) {
	r := reclaiming(t, retention.Policy{OrphanAge: time.Hour})
	table := r.Appended(t, name, 3)
	prefix := table.Snapshot.Location.Prefix()
	for _, left := range []string{"data/left.lance", "_versions/18446744073709551609.manifest-0198c0de-0000-7000-8000-000000000000", "_deletions/0-1-2.arrow", "_transactions/1-x.txn", "_indices/0198c0de-0000-7000-8000-000000000000/index.idx"} {
		require.NoError(t, r.objects.Put(t.Context(), prefix+left, []byte("x")))
	}
	for _, strange := range []string{"data/note.txt", "readme", "_versions/latest_version_hint.json", "_indices/mine/x"} {
		require.NoError(t, r.objects.Put(t.Context(), prefix+strange, []byte("x")))
	}
	all := len(r.keys(t, table))
	r.all(t, r.Intend(t, table))
	require.Len(t, r.keys(t, table), all, "they may belong to a version that is being made")
	r.later(t, 2*time.Hour)
	out := r.all(t, r.Intend(t, table))
	require.EqualValues(t, 5, out.Counters[workflows.CountObjects])
	require.Len(t, r.keys(t, table), all-5)
	r.RequireNumbers(t, table.Snapshot, 30)
}

func TestWhatIsNotKnownStopsEverything(t *testing.T) {
	for label, strange := range map[string]string{
		"branches": "tree/b/_versions/18446744073709551614.manifest", "a detached version": "_versions/d9223372036854775809.manifest", "branches (": "_refs/branches/b.json",
	} {
		t.Run(label, func(t *testing.T) {
			r := reclaiming(t, atOnce(1))
			table := r.Appended(t, name, 4)
			require.NoError(t, r.objects.Put(t.Context(), table.Snapshot.Location.Prefix()+strange, []byte("{}")))
			all := r.keys(t, table)
			step := r.Intend(t, table)
			out, err := r.reclaim(step)
			require.NoError(t, err)
			require.True(t, out.Over)
			record := r.Procedure(t, step.Ref())
			require.Equal(t, catalog.ProcedureFailed, record.State)
			require.Contains(t, record.LastError, label)
			require.Equal(t, all, r.keys(t, table))
			require.Zero(t, r.Now(t, name).Reclaimed.Floor)
		})
	}
	t.Run("an unreadable tag", func(t *testing.T) {
		r := reclaiming(t, atOnce(1))
		table := r.Appended(t, name, 4)
		require.NoError(t, r.objects.Put(t.Context(), table.Snapshot.Location.Prefix()+"_refs/tags/t.json", []byte("{")))
		all := r.keys(t, table)
		_, err := r.reclaim(r.Intend(t, table))
		require.ErrorContains(t, err, `tag "t"`)
		require.Equal(t, all, r.keys(t, table))
	})
}

// A version that was staged before the floor was committed can not be committed
// any more, however long its writer slept.
// Reports 30 and 31: a commit that needs what was deleted fails before anybody sees it.
func TestWhatWasStagedBeforeTheFloorCannotBeCommitted(t *testing.T) {
	r := reclaiming(t, atOnce(1))
	table := r.Appended(t, name, 2)
	slept := r.Now(t, name)
	r.all(t, r.Intend(t, table))
	_, err := r.TryAppend(t.Context(), slept, 20, 10)
	require.True(t, lake.Is(err, lake.Conflict), "%v", err)
	r.RequireNumbers(t, r.Append(t, r.Now(t, name), 20, 10).Snapshot, 30)
}

// Every effect fails once, with and without having happened. The next attempt
// finishes, and what stays is exactly what it should be.
func TestAnInterruptedCleanUpIsFinished(t *testing.T) {
	for _, anyway := range []bool{false, true} {
		for at := 0; ; at++ {
			r := reclaiming(t, atOnce(2))
			r.opts.Budget.Items = 3
			r.restart(t)
			table := r.Appended(t, name, 8)
			r.tag(t, table, "keep", 4)
			step := r.Intend(t, table)
			_, err := r.compact(step)
			require.NoError(t, err)
			n, failed := 0, false
			r.broken.fails = func(string) (bool, bool) {
				n++
				if n-1 != at || failed {
					return false, anyway
				}
				failed = true
				return true, anyway
			}
			for over := false; !over; {
				out, err := r.reclaim(step)
				if err != nil {
					require.True(t, failed, "%v", err)
					require.NotContains(t, err.Error(), "is held by")
					r.restart(t)
					continue
				}
				over = out.Over
			}
			label := fmt.Sprintf("effect %d, done=%v", at, anyway)
			require.Equal(t, []lake.Version{4, 9, 10}, versions(r.rows(t, table)), label)
			r.untag(t, table, "keep")
			r.requireExactly(t, table)
			r.RequireNumbers(t, r.Now(t, name).Snapshot, 80)
			if !failed {
				require.Greater(t, at, 10)
				break
			}
		}
	}
}

func TestADropEndsACleanUp(t *testing.T) {
	r := reclaiming(t, atOnce(1))
	table := r.Appended(t, name, 4)
	step := r.Intend(t, table)
	r.Drop(t, table)
	out, err := r.reclaim(step)
	require.NoError(t, err)
	require.True(t, out.Gone)
	require.Equal(t, catalog.ProcedureCancelled, r.Procedure(t, step.Ref()).State)
}

func TestAForeignKeyIsNotDeleted(t *testing.T) {
	r := reclaiming(t, atOnce(1))
	table := r.Appended(t, name, 4)
	other := r.Appended(t, lake.TableName{Namespace: "robots", Name: "t2"}, 2)
	mine := r.keys(t, other)
	r.all(t, r.Intend(t, table))
	require.Equal(t, mine, r.keys(t, other))
	for key := range r.keys(t, table) {
		require.True(t, strings.HasPrefix(key, table.Snapshot.Location.Prefix()))
	}
}

// slowly is an engine that looks at a table for longer than a lease lasts.
type slowly struct {
	maintain.Engine
	wait func()
}

func (s slowly) Clean(ctx context.Context, current lake.Snapshot) (engine.Cleaning, error) {
	s.wait()
	c, err := s.Engine.Clean(ctx, current)
	return slowCleaning{c, s.wait}, err
}

type slowCleaning struct {
	engine.Cleaning
	wait func()
}

func (s slowCleaning) Tagged(ctx context.Context) ([]lake.Version, error) {
	s.wait()
	return s.Cleaning.Tagged(ctx)
}

func (s slowCleaning) Unneeded(ctx context.Context, l engine.CleanLimits) iter.Seq2[engine.Garbage, error] {
	return func(yield func(engine.Garbage, error) bool) {
		s.wait()
		for g, err := range s.Cleaning.Unneeded(ctx, l) {
			if !yield(g, err) {
				return
			}
		}
		s.wait()
	}
}

// TestAListingMayTakeLongerThanTheLease: in a table of which nearly everything is
// needed, a page of garbage is long in coming. Without a beat beside the listing the
// lease ran out at the same place in every attempt.
func TestAListingMayTakeLongerThanTheLease(t *testing.T) {
	r := reclaiming(t, atOnce(2))
	table := r.Appended(t, name, 8)
	step := r.Intend(t, table)
	_, err := r.compact(step)
	require.NoError(t, err)

	waits, later := 0, atomic.Int64{}
	// wait lets most of a lease's time pass, and returns when the lease was renewed
	// while somebody waited for the store.
	wait := func() {
		waits++
		begun := r.Procedure(t, step.Ref()).Deadline
		later.Add(int64(40 * time.Second))
		assert.Eventually(t, func() bool { return r.Procedure(t, step.Ref()).Deadline.After(begun) }, 30*time.Second, time.Millisecond)
	}
	r.opts.Lease = lease.Options{TTL: time.Minute, Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }}
	r.opts.Beat = 10 * time.Millisecond
	a, err := maintain.New(r.catalog, r.starts, map[string]maintain.Engine{enginelance.Name: slowly{r.engine, wait}}, r.opts)
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	r.env = suite.NewTestActivityEnvironment()
	r.env.SetTestTimeout(time.Minute)
	r.env.RegisterActivityWithOptions(a.Reclaim, activity.RegisterOptions{Name: workflows.MaintenanceReclaim})
	out, err := r.reclaim(step)
	require.NoError(t, err)
	require.True(t, out.Over)
	require.GreaterOrEqual(t, waits, 6)
	r.requireExactly(t, table)
}
