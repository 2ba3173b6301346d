// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package maintain_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/lakeplane/lake/activities/maintain"
	"github.com/lakeplane/lake/activities/maintain/maintaintest"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/workflows"
)

var name = lake.TableName{Namespace: "robots", Name: "t"}

// disturbed is the real engine, with hooks before its steps.
type disturbed struct {
	*enginelance.Engine
	onCompact func(ctx context.Context) error
	onStage   func() error
	onPublish func(lake.Snapshot) error
	looks     atomic.Int64
}

func (d *disturbed) Fragmentation(ctx context.Context, s lake.Snapshot) (int, int, error) {
	d.looks.Add(1)
	return d.Engine.Fragmentation(ctx, s)
}

func (d *disturbed) CompactSome(ctx context.Context, s lake.Snapshot, most int) (engine.Compaction, error) {
	made, err := d.Engine.CompactSome(ctx, s, most)
	if d.onCompact != nil && err == nil {
		err = d.onCompact(ctx)
	}
	return made, err
}

func (d *disturbed) StageCompaction(ctx context.Context, s lake.Snapshot, c engine.Compaction) (engine.Staged, error) {
	staged, err := d.Engine.StageCompaction(ctx, s, c)
	if d.onStage != nil && err == nil {
		err = d.onStage()
	}
	return staged, err
}

func (d *disturbed) Publish(ctx context.Context, s lake.Snapshot) error {
	if d.onPublish != nil {
		if err := d.onPublish(s); err != nil {
			return err
		}
	}
	return d.Engine.Publish(ctx, s)
}

type starts struct {
	ids []string
	err error
}

func (s *starts) Start(_ context.Context, kind, id string) error {
	s.ids = append(s.ids, kind+"/"+id)
	return s.err
}

type fixture struct {
	*maintaintest.World
	engine *disturbed
	starts *starts
	env    *testsuite.TestActivityEnvironment
}

func setup(t *testing.T, opts maintain.Options) *fixture {
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
	a, err := maintain.New(f.Catalog, f.starts, map[string]maintain.Engine{enginelance.Name: f.engine}, opts)
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	f.env = suite.NewTestActivityEnvironment()
	f.env.RegisterActivityWithOptions(a.Compact, activity.RegisterOptions{Name: workflows.MaintenanceCompact})
	f.env.RegisterActivityWithOptions(a.Plan, activity.RegisterOptions{Name: workflows.MaintenancePlan})
	return f
}

func (f *fixture) compact(step workflows.MaintenanceStep) (out workflows.MaintenanceProgress, err error) {
	v, err := f.env.ExecuteActivity(workflows.MaintenanceCompact, step)
	if err == nil {
		err = v.Get(&out)
	}
	return out, err
}

func (f *fixture) plan(t *testing.T, step workflows.PlanStep) (out workflows.PlanResult) {
	t.Helper()
	v, err := f.env.ExecuteActivity(workflows.MaintenancePlan, step)
	require.NoError(t, err)
	require.NoError(t, v.Get(&out))
	return out
}

func TestItJoinsPiecesAndKeepsRowsAndOldVersions(t *testing.T) {
	f := setup(t, maintain.Options{})
	old := f.Appended(t, name, 6)
	step := f.Intend(t, old)
	out, err := f.compact(step)
	require.NoError(t, err)
	require.True(t, out.Over)
	require.Equal(t, workflows.Counters{
		workflows.CountVersions: 1, workflows.CountPartsBefore: 6, workflows.CountPartsAfter: 1, workflows.CountStagedAgain: 0,
	}, out.Counters)
	now := f.Now(t, name)
	require.Equal(t, old.Snapshot.Version+1, now.Snapshot.Version)
	f.RequireNumbers(t, now.Snapshot, 60)
	f.RequireNumbers(t, old.Snapshot, 60)
	before, _, err := f.engine.Fragmentation(t.Context(), now.Snapshot)
	require.NoError(t, err)
	require.Zero(t, before)

	record := f.Procedure(t, step.Ref())
	require.Equal(t, catalog.ProcedureCompleted, record.State)
	again, err := f.compact(step)
	require.NoError(t, err)
	require.True(t, again.Over)
	require.Equal(t, record.Raw(), f.Procedure(t, step.Ref()).Raw(), "what has ended stays")
	require.Equal(t, now.Snapshot, f.Now(t, name).Snapshot)
	f.Append(t, now, 60, 10)
	f.RequireNumbers(t, f.Now(t, name).Snapshot, 70)
}

func TestNothingToDoMakesNoVersion(t *testing.T) {
	f := setup(t, maintain.Options{})
	table := f.Appended(t, name, 1)
	out, err := f.compact(f.Intend(t, table))
	require.NoError(t, err)
	require.True(t, out.Over)
	require.Equal(t, table.Snapshot, f.Now(t, name).Snapshot)
}

func TestAnAppendThatIsFasterIsBuiltOn(t *testing.T) {
	f := setup(t, maintain.Options{})
	table := f.Appended(t, name, 5)
	faster := 3
	f.engine.onStage = func() error {
		if faster > 0 {
			faster--
			table = f.Append(t, table, int64(10*table.Snapshot.Version)-10, 10)
		}
		return nil
	}
	out, err := f.compact(f.Intend(t, table))
	require.NoError(t, err)
	require.EqualValues(t, 3, out.Counters[workflows.CountStagedAgain])
	f.RequireNumbers(t, f.Now(t, name).Snapshot, 80)
	// Who kept the table as it was conflicts once, reads again and goes on.
	_, err = f.TryAppend(t.Context(), table, 80, 10)
	require.True(t, lake.Is(err, lake.Conflict), "%v", err)
	f.RequireNumbers(t, f.Append(t, f.Now(t, name), 80, 10).Snapshot, 90)
}

func TestAppendsThatAreAlwaysFasterEndTheAttempt(t *testing.T) {
	f := setup(t, maintain.Options{})
	table := f.Appended(t, name, 3)
	f.engine.onStage = func() error {
		table = f.Append(t, table, 0, 1)
		return nil
	}
	step := f.Intend(t, table)
	_, err := f.compact(step)
	require.ErrorContains(t, err, "appends were faster")
	require.Contains(t, f.Procedure(t, step.Ref()).LastError, "appends were faster")
	require.False(t, f.Procedure(t, step.Ref()).State.Terminal())
}

func TestACrashBetweenCommitAndPublicationIsMadeGood(t *testing.T) {
	f := setup(t, maintain.Options{})
	table := f.Appended(t, name, 4)
	step := f.Intend(t, table)
	f.engine.onPublish = func(s lake.Snapshot) error {
		if s.Version > table.Snapshot.Version {
			return lake.Errorf(lake.Unavailable, "the store is away")
		}
		return nil
	}
	_, err := f.compact(step)
	require.ErrorContains(t, err, "away")
	require.Equal(t, string(workflows.PhasePublishing), f.Procedure(t, step.Ref()).Phase)
	committed := f.Now(t, name).Snapshot
	require.Equal(t, table.Snapshot.Version+1, committed.Version)
	var published []lake.Version
	f.engine.onPublish = func(s lake.Snapshot) error {
		published = append(published, s.Version)
		return nil
	}
	out, err := f.compact(step)
	require.NoError(t, err)
	require.True(t, out.Over)
	require.Equal(t, []lake.Version{committed.Version}, published)
	require.Equal(t, committed, f.Now(t, name).Snapshot, "nothing was committed twice")
	require.EqualValues(t, 1, out.Counters[workflows.CountVersions])
}

// Nothing may be built on a version that cannot be opened by its number.
func TestTheBaseIsPublishedFirst(t *testing.T) {
	f := setup(t, maintain.Options{})
	table := f.Appended(t, name, 4)
	var order []lake.Version
	f.engine.onPublish = func(s lake.Snapshot) error {
		order = append(order, s.Version)
		return lake.Errorf(lake.Unavailable, "the store is away")
	}
	_, err := f.compact(f.Intend(t, table))
	require.Error(t, err)
	require.Equal(t, []lake.Version{table.Snapshot.Version}, order)
	require.Equal(t, table.Snapshot, f.Now(t, name).Snapshot)
}

func TestADroppedTableEndsIt(t *testing.T) {
	for _, when := range []string{"before", "while copying", "before the commit", "recreated"} {
		t.Run(when, func(t *testing.T) {
			f := setup(t, maintain.Options{Beat: 5 * time.Millisecond})
			table := f.Appended(t, name, 4)
			step := f.Intend(t, table)
			switch when {
			case "before":
				f.Drop(t, table)
			case "while copying":
				f.engine.onCompact = func(ctx context.Context) error {
					f.Drop(t, table)
					<-ctx.Done() // as a copy that would take long
					return ctx.Err()
				}
			case "before the commit":
				f.engine.onStage = func() error { f.Drop(t, table); return nil }
			case "recreated":
				f.engine.onStage = func() error {
					f.engine.onStage = nil
					f.Drop(t, table)
					f.Appended(t, name, 1)
					return nil
				}
			}
			out, err := f.compact(step)
			require.NoError(t, err)
			require.True(t, out.Over)
			require.True(t, out.Gone)
			require.Equal(t, catalog.ProcedureCancelled, f.Procedure(t, step.Ref()).State)
			out, err = f.compact(step)
			require.NoError(t, err)
			require.True(t, out.Gone)
		})
	}
}

// An attempt that was taken over can commit nothing.
func TestAnOlderAttemptIsFenced(t *testing.T) {
	f := setup(t, maintain.Options{})
	table := f.Appended(t, name, 4)
	step := f.Intend(t, table)
	f.engine.onStage = func() error {
		old := f.Procedure(t, step.Ref())
		next := old
		next.Epoch++
		_, err := f.Catalog.CommitProcedure(t.Context(), old, next)
		return err
	}
	_, err := f.compact(step)
	require.ErrorContains(t, err, "took it over")
	require.Equal(t, table.Snapshot, f.Now(t, name).Snapshot)
}

func TestALostLeaseStopsTheCopy(t *testing.T) {
	f := setup(t, maintain.Options{Beat: 5 * time.Millisecond})
	table := f.Appended(t, name, 4)
	step := f.Intend(t, table)
	f.engine.onCompact = func(ctx context.Context) error {
		old := f.Procedure(t, step.Ref())
		next := old
		next.Epoch++
		_, err := f.Catalog.CommitProcedure(t.Context(), old, next)
		require.NoError(t, err)
		<-ctx.Done()
		return ctx.Err()
	}
	short := maintain.Options{Beat: 5 * time.Millisecond}
	short.Lease.TTL = 400 * time.Millisecond // renewed after half of it, on a busy machine too
	a, err := maintain.New(f.Catalog, f.starts, map[string]maintain.Engine{enginelance.Name: f.engine}, short)
	require.NoError(t, err)
	f.env.RegisterActivityWithOptions(a.Compact, activity.RegisterOptions{Name: "short"})
	_, err = f.env.ExecuteActivity("short", step)
	require.ErrorContains(t, err, "took it over")
	require.Equal(t, table.Snapshot, f.Now(t, name).Snapshot)
}

func TestOneCompactionAtATime(t *testing.T) {
	f := setup(t, maintain.Options{})
	table := f.Appended(t, name, 4)
	step := f.Intend(t, table)
	other := f.Intend(t, f.Appended(t, lake.TableName{Namespace: "robots", Name: "u"}, 4))
	f.engine.onCompact = func(context.Context) error {
		f.engine.onCompact = nil
		out, err := f.compact(other)
		require.NoError(t, err)
		require.NotNil(t, out.Wait)
		require.False(t, out.Over)
		require.Zero(t, f.Procedure(t, other.Ref()).Epoch, "it was not claimed")
		return nil
	}
	_, err := f.compact(step)
	require.NoError(t, err)
	out, err := f.compact(other)
	require.NoError(t, err)
	require.True(t, out.Over)
}

func TestWhatIsNotSupportedEndsAsFailed(t *testing.T) {
	f := setup(t, maintain.Options{})
	step := f.Intend(t, f.Appended(t, name, 4))
	f.engine.onCompact = func(context.Context) error { return lake.Errorf(lake.Unsupported, "secondary indexes") }
	out, err := f.compact(step)
	require.NoError(t, err)
	require.True(t, out.Over)
	record := f.Procedure(t, step.Ref())
	require.Equal(t, catalog.ProcedureFailed, record.State)
	require.Contains(t, record.LastError, "secondary indexes")
}

// TestAnOperatorsCancellationIsNotAGoneTable: the activity after a cancellation
// says that it was stopped.
func TestAnOperatorsCancellationIsNotAGoneTable(t *testing.T) {
	f := setup(t, maintain.Options{})
	step := f.Intend(t, f.Appended(t, name, 2))
	ref := step.Ref()
	_, err := f.Catalog.Order(t.Context(), string(ref.Kind), ref.ID, catalog.Order{Action: catalog.ActionCancel, By: "ann", Reason: "test"})
	require.NoError(t, err)
	out, err := f.compact(step)
	require.NoError(t, err)
	require.True(t, out.Over)
	require.True(t, out.Stopped)
	require.False(t, out.Gone)
}
