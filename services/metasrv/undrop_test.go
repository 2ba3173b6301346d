// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/lakeplane/lake/activities/drop"
	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine/enginetest"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/services/metasrv"
	"github.com/lakeplane/lake/workflows"
)

// drop drops a.NAME with an undrop window and returns what was dropped.
func (a *authority) drop(t testing.TB, name string, window time.Duration) *lakepb.DropTableResponse {
	t.Helper()
	resp, err := a.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("a", name), UndropWindow: durationpb.New(window)})
	require.NoError(t, err)
	return resp
}

func (a *authority) undrop(t testing.TB, name, inc string) (*lakepb.Table, error) {
	t.Helper()
	return a.catalog.UndropTable(t.Context(), &lakepb.UndropTableRequest{Name: nameOf("a", name), Incarnation: inc})
}

func (a *authority) procedure(t testing.TB, id string) catalog.Procedure {
	t.Helper()
	p, err := a.records.Procedure(t.Context(), catalog.DropKind, id)
	require.NoError(t, err)
	return p
}

// move puts a drop's procedure into a phase, as its worker would.
func (a *authority) move(t testing.TB, id string, phase workflows.Phase) {
	t.Helper()
	p := a.procedure(t, id)
	next := p
	next.Phase, next.State, next.Epoch = string(phase), catalog.ProcedureRunning, p.Epoch+1
	_, err := a.records.CommitProcedure(t.Context(), p, next)
	require.NoError(t, err)
}

func TestUndropRestoresTheSameTable(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	kept := newOp(t, "a", "t", 1, 2)
	_, err := a.put(t.Context(), kept)
	require.NoError(t, err)
	before, err := a.catalog.GetTable(t.Context(), &lakepb.GetTableRequest{Name: nameOf("a", "t")})
	require.NoError(t, err)
	gen, _, _, _ := snapshot(t, a, t.Context(), "")
	for round, chosen := range []string{"", before.GetSnapshot().GetIncarnation(), ""} {
		dropped := a.drop(t, "t", time.Hour)
		if round > 0 { // a worker has it, and waits
			a.move(t, dropped.GetProcedureId(), workflows.PhaseWaiting)
		}
		_, _, names, _ := snapshot(t, a, t.Context(), "")
		require.Empty(t, names)
		back, err := a.undrop(t, "t", chosen)
		require.NoError(t, err)
		require.Equal(t, before.String(), back.String(), "the exact record")
		now, err := a.catalog.GetTable(t.Context(), &lakepb.GetTableRequest{Name: nameOf("a", "t")})
		require.NoError(t, err)
		require.Equal(t, before.String(), now.String())
		require.Equal(t, []int64{1, 2}, a.numbers(t, "a", "t"))
		ended := a.procedure(t, dropped.GetProcedureId())
		require.Equal(t, catalog.ProcedureCancelled, ended.State)
		require.EqualValues(t, max(round-1, 0)+min(round, 1), ended.Epoch, "epochs go on")
		_, err = a.records.Tombstone(t.Context(), lake.TableName{Namespace: "a", Name: "t"}, incarnationOf(t, before))
		require.True(t, lake.Is(err, lake.NotFound), "%v", err)
		require.Eventually(t, func() bool { return len(a.starter.told()) == round+1 }, 20*time.Second, time.Millisecond)
		require.Equal(t, "drop-table/"+dropped.GetProcedureId(), a.starter.told()[round])
	}
	after, same, names, _ := snapshot(t, a, t.Context(), gen)
	require.False(t, same)
	require.NotEqual(t, gen, after, "replicas see it by the generation")
	require.Equal(t, []string{"a.t"}, names)

	again, err := a.undrop(t, "t", before.GetSnapshot().GetIncarnation())
	require.NoError(t, err, "an undrop whose answer was lost may be repeated")
	require.Equal(t, before.String(), again.String())
	replay, err := a.put(t.Context(), kept)
	require.NoError(t, err)
	require.True(t, replay.GetReplayed(), "its operations are remembered")
	moved, err := a.put(t.Context(), newOp(t, "a", "t", 3))
	require.NoError(t, err)
	require.EqualValues(t, 3, moved.GetVersion())
	require.Equal(t, []int64{1, 2, 3}, a.numbers(t, "a", "t"))

	last := a.drop(t, "t", 0)
	require.EqualValues(t, 3, last.GetDropped().GetSnapshot().GetVersion())
	endDrop(t, a, last.GetDropped())
}

func incarnationOf(t *testing.T, table *lakepb.Table) lake.Incarnation {
	t.Helper()
	inc, err := lake.ParseID(table.GetSnapshot().GetIncarnation())
	require.NoError(t, err)
	return inc
}

func TestUndropRefusals(t *testing.T) {
	a := start(t)
	live := a.create(t, "a", "live")
	incarnation := func(r *lakepb.DropTableResponse) string { return r.GetDropped().GetSnapshot().GetIncarnation() }
	dropNew := func(name string) *lakepb.DropTableResponse {
		a.create(t, "a", name)
		return a.drop(t, name, time.Hour)
	}
	replaced := dropNew("replaced")
	a.create(t, "a", "replaced")
	var deleting []*lakepb.DropTableResponse
	for _, phase := range []workflows.Phase{workflows.PhaseObjects, workflows.PhaseHistory, workflows.PhaseFinishing} {
		d := dropNew(string(phase))
		a.move(t, d.GetProcedureId(), phase)
		deleting = append(deleting, d)
	}
	gone := dropNew("gone")
	endDrop(t, a, gone.GetDropped())
	first, second := dropNew("twice"), dropNew("twice")
	for range 12 {
		dropNew("often")
	}
	cases := []struct {
		name, inc string
		code      codes.Code
		contains  []string
	}{
		{"", "", codes.InvalidArgument, []string{"empty"}},
		{"t", "x", codes.InvalidArgument, []string{"incarnation"}},
		{"none", "", codes.NotFound, []string{"no drop of table a.none"}},
		{"none", lake.NewID().String(), codes.NotFound, []string{"was not dropped"}},
		{"live", "", codes.AlreadyExists, []string{live.GetSnapshot().GetIncarnation()}},
		{"live", lake.NewID().String(), codes.AlreadyExists, []string{live.GetSnapshot().GetIncarnation()}},
		{"replaced", "", codes.AlreadyExists, []string{"carries the name"}},
		{"replaced", incarnation(replaced), codes.AlreadyExists, []string{"carries the name"}},
		{"gone", "", codes.NotFound, []string{"objects are deleted"}},
		{"gone", incarnation(gone), codes.FailedPrecondition, []string{"too late", "complete", "drop-table/" + gone.GetProcedureId()}},
		{"twice", "", codes.FailedPrecondition, []string{"2 dropped tables", incarnation(first), incarnation(second), "choose"}},
		{"twice", lake.NewID().String(), codes.NotFound, []string{"was not dropped"}},
		{"often", "", codes.FailedPrecondition, []string{"12 dropped tables", "and 2 older ones"}},
	}
	for _, d := range deleting {
		name := d.GetDropped().GetName().GetName()
		for _, inc := range []string{"", incarnation(d)} {
			cases = append(cases, struct {
				name, inc string
				code      codes.Code
				contains  []string
			}{name, inc, codes.FailedPrecondition, []string{"too late", name, d.GetProcedureId()}})
		}
	}
	before := count(t, a.store)
	for _, tc := range cases {
		_, err := a.undrop(t, tc.name, tc.inc)
		requireCode(t, tc.code, err, tc.contains...)
		require.Equal(t, before, count(t, a.store))
	}
	require.Empty(t, a.starter.told())
	_, err := a.undrop(t, "often", "")
	require.Less(t, len(err.Error()), 2000)

	back, err := a.undrop(t, "twice", incarnation(first))
	require.NoError(t, err, "the older one, by choice")
	require.Equal(t, incarnation(first), back.GetSnapshot().GetIncarnation())
	_, err = a.undrop(t, "twice", incarnation(second))
	requireCode(t, codes.AlreadyExists, err)
}

func TestUndropByAFollowerIsRefused(t *testing.T) {
	store, storage := memory.New(), enginetest.NewMemory()
	t.Cleanup(func() { _ = store.Close() })
	a := startOn(t, store, storage)
	a.create(t, "a", "t")
	a.drop(t, "t", time.Hour)
	follower := startOn(t, store, storage, func(o *metasrv.Options) {
		o.Election = catalog.ElectionOptions{Address: "elsewhere"}
	})
	_, err := follower.undrop(t, "t", "")
	requireCode(t, codes.Unavailable, err)
	_, err = a.undrop(t, "t", "")
	require.NoError(t, err)
}

func TestUndropWithoutTemporalStillUndrops(t *testing.T) {
	a := start(t)
	a.starter.refuse(errors.New("temporal is away"))
	a.create(t, "a", "t")
	a.drop(t, "t", time.Hour)
	_, err := a.undrop(t, "t", "")
	require.NoError(t, err)
}

func TestUndropWithALostAnswer(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	a.drop(t, "t", time.Hour)
	a.store.OnCommit(func(_ metastore.Txn, next func() error) error {
		a.store.OnCommit(nil)
		require.NoError(t, next())
		return metastore.ErrUnknownOutcome
	})
	_, err := a.undrop(t, "t", "")
	require.NoError(t, err)
}

// watched is a store that calls back once after a procedure's record was read.
type watched struct {
	metastore.Store
	then atomic.Pointer[func()]
}

func (w *watched) Get(ctx context.Context, key string) (metastore.Record, error) {
	record, err := w.Store.Get(ctx, key)
	if strings.HasPrefix(key, "procedure/") {
		if f := w.then.Swap(nil); f != nil {
			(*f)()
		}
	}
	return record, err
}

// TestUndropAgainstWhatMovesMeanwhile commits something between the undrop's
// reading and its commit.
func TestUndropAgainstWhatMovesMeanwhile(t *testing.T) {
	for label, tc := range map[string]struct {
		meanwhile func(a *authority, id string)
		code      codes.Code
		contains  string
	}{
		"a worker claims the record and waits": {func(a *authority, id string) { a.move(t, id, workflows.PhaseWaiting) }, codes.OK, ""},
		"deletion begins":                      {func(a *authority, id string) { a.move(t, id, workflows.PhaseObjects) }, codes.FailedPrecondition, "too late"},
		"the drop completes": {func(a *authority, id string) {
			endDrop(t, a, &lakepb.Table{Name: nameOf("a", "t"), Snapshot: &lakepb.Snapshot{Incarnation: id[strings.LastIndex(id, "/")+1:]}})
		}, codes.FailedPrecondition, "too late"},
		"another table takes the name": {func(a *authority, _ string) { a.create(t, "a", "t") }, codes.AlreadyExists, "carries the name"},
		"another undrop":               {func(a *authority, id string) { _, _ = a.undrop(t, "t", "") }, codes.OK, ""},
	} {
		t.Run(label, func(t *testing.T) {
			store := &watched{Store: memory.New()}
			t.Cleanup(func() { _ = store.Close() })
			a := startOn(t, store, enginetest.NewMemory())
			a.create(t, "a", "t")
			dropped := a.drop(t, "t", time.Hour)
			moved := false
			meanwhile := func() { tc.meanwhile(a, dropped.GetProcedureId()); moved = true }
			store.then.Store(&meanwhile)
			_, err := a.undrop(t, "t", dropped.GetDropped().GetSnapshot().GetIncarnation())
			require.True(t, moved)
			if tc.code == codes.OK {
				require.NoError(t, err)
				return
			}
			requireCode(t, tc.code, err, tc.contains)
		})
	}
}

// TestUndropAgainstABusyRecord: a record that moves each time ends the undrop
// with an error that asks for another try, and changes nothing.
func TestUndropAgainstABusyRecord(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	dropped := a.drop(t, "t", time.Hour)
	a.store.OnCommit(func(_ metastore.Txn, _ func() error) error {
		a.move(t, dropped.GetProcedureId(), workflows.PhaseWaiting)
		return &metastore.ConflictError{Key: "procedure"}
	})
	_, err := a.undrop(t, "t", "")
	requireCode(t, codes.Unavailable, err, "try again")
	a.store.OnCommit(nil)
	_, err = a.undrop(t, "t", "")
	require.NoError(t, err)
}

// TestUndropRacesTheRealBegin lets the activity that passes the point of no
// return and an undrop go at once: exactly one wins, and the records agree.
func TestUndropRacesTheRealBegin(t *testing.T) {
	a := start(t)
	steps, err := drop.New(a.records, a.store, nil, map[string]drop.Engine{"memory": a.engine.Engine.(*enginetest.Memory)}, drop.Options{})
	require.NoError(t, err)
	undone, begun := 0, 0
	for round := 0; round < 300 && (round < 60 || undone == 0 || begun == 0); round++ {
		table := a.create(t, "a", "t")
		dropped := a.drop(t, "t", 0)
		step := workflows.DropStep{Namespace: "a", Name: "t", Incarnation: incarnationOf(t, table)}
		var wg sync.WaitGroup
		var progress workflows.DropProgress
		var beginErr, undropErr error
		wg.Go(func() {
			time.Sleep(time.Duration(round%8) * 50 * time.Microsecond)
			progress, beginErr = begin(steps, step)
		})
		wg.Go(func() { _, undropErr = a.undrop(t, "t", "") })
		wg.Wait()
		record := a.procedure(t, dropped.GetProcedureId())
		_, getErr := a.catalog.GetTable(t.Context(), &lakepb.GetTableRequest{Name: nameOf("a", "t")})
		if undropErr == nil {
			undone++
			require.NoError(t, getErr)
			require.Equal(t, catalog.ProcedureCancelled, record.State)
			require.False(t, beginErr == nil && progress.Done && !progress.Over, "both won")
			progress, beginErr = begin(steps, step)
			require.NoError(t, beginErr)
			require.True(t, progress.Over && progress.Undone, "the next attempt sees the undrop: %+v", progress)
			dropped = a.drop(t, "t", 0)
		} else {
			begun++
			requireCode(t, codes.FailedPrecondition, undropErr, "too late")
			requireCode(t, codes.NotFound, getErr)
			require.NoError(t, beginErr)
			require.True(t, progress.Done && !progress.Over, "%+v", progress)
			require.Equal(t, string(workflows.PhaseObjects), record.Phase)
		}
		endDrop(t, a, dropped.GetDropped())
	}
	t.Logf("%d undone, %d begun", undone, begun)
	require.True(t, undone > 0 && begun > 0, "%d undone, %d begun: the race was none", undone, begun)
}

// begin runs one attempt of the real activity.
func begin(steps *drop.Activities, step workflows.DropStep) (out workflows.DropProgress, err error) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(steps.Begin)
	v, err := env.ExecuteActivity(steps.Begin, step)
	if err != nil {
		return out, err
	}
	return out, v.Get(&out)
}

// TestRacingUndropsHaveOneTable: however many ask, one incarnation is back.
func TestRacingUndropsHaveOneTable(t *testing.T) {
	a := start(t)
	var incs []string
	for range 4 {
		incs = append(incs, a.create(t, "a", "t").GetSnapshot().GetIncarnation())
		a.drop(t, "t", time.Hour)
	}
	var wg sync.WaitGroup
	won := make(chan string, 16)
	for i := range 16 {
		wg.Go(func() {
			back, err := a.undrop(t, "t", incs[i%4])
			if err == nil {
				won <- back.GetSnapshot().GetIncarnation()
			} else if status.Code(err) != codes.AlreadyExists {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	close(won)
	var winners []string
	for inc := range won {
		winners = append(winners, inc)
	}
	require.NotEmpty(t, winners)
	require.Len(t, slices.Compact(winners), 1)
}
