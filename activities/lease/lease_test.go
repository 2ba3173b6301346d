// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/memory"
)

// clock is a time that only the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

const kind, id = "drop-table", "ns/t/0198c0de-0000-7000-8000-000000000000"

type fixture struct {
	store metastore.Store
	*catalog.Catalog
	clock *clock
}

// setup returns a catalog with one pending procedure.
func setup(t require.TestingT) fixture {
	store, clock := memory.New(), newClock()
	c := catalog.New(store, catalog.Options{Now: clock.Now})
	err := store.Commit(context.Background(), metastore.Txn{Ops: []metastore.Op{
		c.CreateProcedureOp(catalog.Procedure{Kind: kind, ID: id}),
	}})
	require.NoError(t, err)
	return fixture{store, c, clock}
}

func (f fixture) options() Options {
	return Options{TTL: time.Minute, Margin: 10 * time.Second, Now: f.clock.Now}
}

func (f fixture) claim(run string, attempt int) (*Lease, error) {
	return Claim(context.Background(), f, kind, id, Attempt{Run: run, Name: fmt.Sprintf("A attempt %d", attempt)}, f.options())
}

func (f fixture) record(t require.TestingT) catalog.Procedure {
	p, err := f.Procedure(context.Background(), kind, id)
	require.NoError(t, err)
	return p
}

func count(p *catalog.Procedure) {
	if p.Counters == nil {
		p.Counters = map[string]int64{}
	}
	p.Counters["n"]++
}

func requireKind(t require.TestingT, want lake.Kind, err error) {
	require.Error(t, err)
	require.Equal(t, want, lake.KindOf(err), "%v", err)
}

func TestALaterAttemptOfTheRunTakesOverAtOnce(t *testing.T) {
	f := setup(t)
	first, err := f.claim("run", 1)
	require.NoError(t, err)
	require.NoError(t, first.Commit(t.Context(), count))
	second, err := f.claim("run", 2)
	require.NoError(t, err)
	require.Equal(t, first.Record().Epoch+1, second.Record().Epoch)

	// The first is alive and does not know. Its next write fails and changes
	// nothing, with or without other effects in it.
	requireKind(t, lake.Fenced, first.Commit(t.Context(), count, metastore.Create("effect", nil)))
	_, err = f.store.Get(t.Context(), "effect")
	require.ErrorIs(t, err, metastore.ErrNotFound)
	require.EqualValues(t, 1, f.record(t).Counters["n"])
	requireKind(t, lake.Fenced, first.Check())

	require.NoError(t, second.Commit(t.Context(), count, metastore.Create("effect", nil)))
	require.EqualValues(t, 2, f.record(t).Counters["n"])
}

// Report 22: what a dead worker had leased is taken over when the lease is over.
func TestAnotherRunWaitsForTheDeadline(t *testing.T) {
	f := setup(t)
	held, err := f.claim("one", 1)
	require.NoError(t, err)
	_, err = f.claim("other", 1)
	requireKind(t, lake.Conflict, err)
	_, err = f.claim("on", 1) // a prefix of a run's id is another run
	requireKind(t, lake.Conflict, err)

	f.clock.advance(59 * time.Second)
	_, err = f.claim("other", 1)
	requireKind(t, lake.Conflict, err)
	f.clock.advance(time.Second)
	_, err = f.claim("other", 1)
	require.NoError(t, err)
	requireKind(t, lake.Unavailable, held.Commit(t.Context(), count)) // stopped by its own clock
}

func TestAHolderWithASlowClockIsStillFenced(t *testing.T) {
	f := setup(t)
	held, err := f.claim("one", 1)
	require.NoError(t, err)
	frozen := f.clock.Now()
	held.opts.Now = func() time.Time { return frozen } // a process stopped in its sleep
	f.clock.advance(2 * time.Minute)
	_, err = f.claim("other", 1)
	require.NoError(t, err)
	requireKind(t, lake.Fenced, held.Commit(t.Context(), count))
}

func TestAReleasedRecordIsFree(t *testing.T) {
	f := setup(t)
	held, err := f.claim("one", 1)
	require.NoError(t, err)
	require.NoError(t, held.Release(t.Context(), func(p *catalog.Procedure) { p.Phase = "next" }))
	require.Error(t, held.Commit(t.Context(), count))
	other, err := f.claim("other", 1)
	require.NoError(t, err)
	require.Equal(t, "next", other.Record().Phase)
}

// Report 45: the local deadline stops it, whatever Temporal says.
func TestTheHolderStopsBeforeTheDeadline(t *testing.T) {
	f := setup(t)
	held, err := f.claim("one", 1)
	require.NoError(t, err)
	f.clock.advance(29 * time.Second)
	before := f.record(t)
	require.NoError(t, held.Renew(t.Context()))
	require.Equal(t, before.Raw(), f.record(t).Raw(), "more than half is left: no write")
	f.clock.advance(2 * time.Second)
	require.NoError(t, held.Renew(t.Context()))
	require.True(t, f.record(t).Deadline.After(before.Deadline))

	f.clock.advance(49 * time.Second)
	require.NoError(t, held.Check())
	f.clock.advance(time.Second)
	requireKind(t, lake.Unavailable, held.Check())
	requireKind(t, lake.Unavailable, held.Commit(t.Context(), count))
}

func TestBoundEndsBeforeTheLease(t *testing.T) {
	f := setup(t)
	opts := f.options()
	opts.TTL, opts.Margin, opts.Now = 200*time.Millisecond, 100*time.Millisecond, nil
	held, err := Claim(t.Context(), f, kind, id, Attempt{Run: "r", Name: "a"}, opts)
	require.NoError(t, err)
	ctx, cancel := held.Bound(t.Context())
	defer cancel()
	select {
	case <-ctx.Done():
		require.True(t, time.Now().Before(held.until), "ended with the lease, not before it")
		requireKind(t, lake.Unavailable, context.Cause(ctx))
	case <-time.After(5 * time.Second):
		t.Fatal("did not end")
	}
}

func TestNothingCanBeClaimedAfterTheEnd(t *testing.T) {
	f := setup(t)
	held, err := f.claim("one", 1)
	require.NoError(t, err)
	require.NoError(t, held.Release(t.Context(), func(p *catalog.Procedure) { p.State = catalog.ProcedureCompleted }))
	_, err = f.claim("one", 2)
	var ended *EndedError
	require.ErrorAs(t, err, &ended)
	require.Equal(t, catalog.ProcedureCompleted, ended.Record.State)
}

func TestNoteShowsTheErrorAndGivesTheRecordFree(t *testing.T) {
	f := setup(t)
	held, err := f.claim("one", 1)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the attempt may have failed because it was stopped
	held.Note(ctx, "the disk is full")
	require.Equal(t, "the disk is full", f.record(t).LastError)
	other, err := f.claim("other", 1)
	require.NoError(t, err)
	other.Note(t.Context(), "")
	require.Equal(t, "the disk is full", f.record(t).LastError, "no text keeps the last one")
	held.Note(t.Context(), "too late")
	require.Equal(t, "the disk is full", f.record(t).LastError)
}

func TestARaceForTheRecordHasOneWinner(t *testing.T) {
	f := setup(t)
	var (
		mu      sync.Mutex
		winners []*Lease
		group   sync.WaitGroup
	)
	for i := range 16 {
		group.Go(func() {
			l, err := f.claim(fmt.Sprintf("run-%d", i), 1)
			if err != nil {
				requireKind(t, lake.Conflict, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			winners = append(winners, l)
		})
	}
	group.Wait()
	require.Len(t, winners, 1)
	require.NoError(t, winners[0].Commit(t.Context(), count))
}

func TestAFailedEffectLeavesTheLeaseUsable(t *testing.T) {
	f := setup(t)
	held, err := f.claim("one", 1)
	require.NoError(t, err)
	requireKind(t, lake.Conflict, held.Commit(t.Context(), count, metastore.Guard("missing", []byte("x"))))
	require.Empty(t, f.record(t).Counters)
	require.NoError(t, held.Commit(t.Context(), count))
	require.EqualValues(t, 1, f.record(t).Counters["n"])
}

// undetermined loses the answer of the commits it is told to.
type undetermined struct {
	Records
	lose bool
}

func (u *undetermined) CommitProcedure(ctx context.Context, old, next catalog.Procedure, ops ...metastore.Op) (catalog.Procedure, error) {
	stored, err := u.Records.CommitProcedure(ctx, old, next, ops...)
	if u.lose && err == nil {
		return catalog.Procedure{}, lake.Errorf(lake.Undetermined, "the answer was lost")
	}
	return stored, err
}

func TestALeaseIsOfNoUseAfterALostAnswer(t *testing.T) {
	f := setup(t)
	records := &undetermined{Records: f}
	held, err := Claim(t.Context(), records, kind, id, Attempt{Run: "r", Name: "1"}, f.options())
	require.NoError(t, err)
	records.lose = true
	requireKind(t, lake.Undetermined, held.Commit(t.Context(), count))
	records.lose = false
	requireKind(t, lake.Undetermined, held.Commit(t.Context(), count))
	require.EqualValues(t, 1, f.record(t).Counters["n"], "applied once, not twice")
	next, err := f.claim("r", 2)
	require.NoError(t, err)
	require.EqualValues(t, 1, next.Record().Counters["n"])
}

func TestOptionsValidate(t *testing.T) {
	require.NoError(t, Options{}.Validate())
	require.NoError(t, Options{TTL: time.Second}.Validate())
	requireKind(t, lake.Invalid, Options{TTL: time.Second, Margin: 600 * time.Millisecond}.Validate())
	requireKind(t, lake.Invalid, Options{TTL: -time.Second}.Validate())
}

// TestEffectsAreNeitherLostNorRepeated drives several runs with several
// attempts each, in any order and with time passing in between, against a model
// in which only the last claimer can write.
func TestEffectsAreNeitherLostNorRepeated(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := setup(rt)
		var (
			leases  []*Lease
			current *Lease
			effects int64
		)
		runs := rapid.SampledFrom([]string{"a", "b"})
		rt.Repeat(map[string]func(*rapid.T){
			"claim": func(rt *rapid.T) {
				l, err := f.claim(runs.Draw(rt, "run"), len(leases))
				if err != nil {
					requireKind(rt, lake.Conflict, err)
					return
				}
				leases, current = append(leases, l), l
			},
			"effect": func(rt *rapid.T) {
				if len(leases) == 0 {
					rt.Skip("nobody claimed")
				}
				l := rapid.SampledFrom(leases).Draw(rt, "lease")
				key := fmt.Sprintf("effect/%d", effects)
				err := l.Commit(context.Background(), count, metastore.Create(key, nil))
				if err == nil {
					require.Same(rt, current, l, "a lease that was taken over made an effect")
					effects++
				}
			},
			"time passes": func(rt *rapid.T) {
				f.clock.advance(time.Duration(rapid.IntRange(1, 70).Draw(rt, "seconds")) * time.Second)
			},
			"": func(rt *rapid.T) {
				require.Equal(rt, effects, f.record(rt).Counters["n"])
			},
		})
	})
}

func TestErrorsUnwrap(t *testing.T) {
	err := error(&EndedError{Record: catalog.Procedure{Kind: kind, ID: id, State: catalog.ProcedureFailed}})
	requireKind(t, lake.Precondition, err)
	require.ErrorContains(t, err, "failed")
	require.True(t, errors.Is(err, errEnded))
}

// order gives an operator's order.
func (f fixture) order(t *testing.T, o catalog.Order) {
	t.Helper()
	_, err := f.Order(t.Context(), kind, id, o)
	require.NoError(t, err)
}

func TestAnOrderIsTakenInAndNoClaim(t *testing.T) {
	f := setup(t)
	l, err := f.claim("run", 1)
	require.NoError(t, err)
	f.order(t, catalog.Order{Action: catalog.ActionRate, Rate: 7})
	require.False(t, l.Held())
	require.NoError(t, l.Commit(t.Context(), count, metastore.Create("effect", nil)))
	require.InDelta(t, 7, l.Record().Rate, 0)
	f.order(t, catalog.Order{Action: catalog.ActionPause})
	require.NoError(t, l.Commit(t.Context(), count))
	require.True(t, l.Held())
	require.NoError(t, l.Release(t.Context(), count))
	require.EqualValues(t, 3, f.record(t).Counters["n"], "nothing is counted twice or lost")

	var held *HeldError
	_, err = f.claim("run", 2)
	require.ErrorAs(t, err, &held)
	requireKind(t, lake.Precondition, err)
	f.order(t, catalog.Order{Action: catalog.ActionResume})
	_, err = f.claim("run", 2)
	require.NoError(t, err)
}

func TestACancelEndsTheAttemptAtItsNextWrite(t *testing.T) {
	f := setup(t)
	l, err := f.claim("run", 1)
	require.NoError(t, err)
	f.order(t, catalog.Order{Action: catalog.ActionCancel})
	requireKind(t, lake.Fenced, l.Commit(t.Context(), count, metastore.Create("effect", nil)))
	_, err = f.store.Get(t.Context(), "effect")
	require.ErrorIs(t, err, metastore.ErrNotFound)
	var ended *EndedError
	_, err = f.claim("run", 2)
	require.ErrorAs(t, err, &ended)
	require.True(t, ended.Record.Stopped)
	f.order(t, catalog.Order{Action: catalog.ActionRetry})
	again, err := f.claim("run", 3)
	require.NoError(t, err)
	require.EqualValues(t, 2, again.Record().Epoch)
}
