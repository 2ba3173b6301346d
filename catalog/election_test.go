// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/hookstore"
	"github.com/lakeplane/lake/metastore/memory"
)

// candidate is one process of an election, with its own way to the store.
type candidate struct {
	*catalog.Election
	cut  atomic.Bool // the store does not answer this process
	stop func()      // resigns
}

type throughCandidate struct {
	metastore.Store
	c *candidate
}

func (s throughCandidate) Commit(ctx context.Context, txn metastore.Txn) error {
	if s.c.cut.Load() {
		return metastore.ErrRetryable
	}
	return s.Store.Commit(ctx, txn)
}

func (s throughCandidate) Get(ctx context.Context, key string) (metastore.Record, error) {
	if s.c.cut.Load() {
		return metastore.Record{}, metastore.ErrRetryable
	}
	return s.Store.Get(ctx, key)
}

func run(t *testing.T, store metastore.Store, holder string, exclusive bool) *candidate {
	t.Helper()
	c := new(candidate)
	e, err := catalog.NewElection(throughCandidate{store, c}, catalog.ElectionOptions{
		Holder: holder, Address: holder + ":1", Exclusive: exclusive, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	c.Election = e
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); e.Run(ctx) }()
	c.stop = func() { cancel(); <-done }
	t.Cleanup(c.stop)
	return c
}

func (c *candidate) leads() bool { _, err := c.Fence(); return err == nil }

func sleep(d time.Duration) { time.Sleep(d); synctest.Wait() }

func TestElectionOneLeaderRenewsUnderOneEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		a := run(t, store, "a", false)
		sleep(time.Millisecond)
		require.True(t, a.leads())
		b := run(t, store, "b", false)
		for range 100 {
			sleep(time.Second)
			require.True(t, a.leads())
			require.False(t, b.leads())
		}
		fence, err := a.Fence()
		require.NoError(t, err)
		require.EqualValues(t, 1, fence.Epoch())
		seen, ok := b.Leader()
		require.True(t, ok)
		require.Equal(t, "a:1", seen.Address)
		_, err = b.Fence()
		requireKind(t, lake.Unavailable, err)
		require.Contains(t, err.Error(), "a:1")
	})
}

func TestElectionTakeoverAfterSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		c := catalog.New(store, catalog.Options{})
		a := run(t, store, "a", false)
		sleep(time.Millisecond)
		b := run(t, store, "b", false)
		old, err := a.Fence()
		require.NoError(t, err)
		table := create(t, c, old, name("a.t"))

		a.cut.Store(true)
		sleep(8 * time.Second)
		require.False(t, a.leads(), "stops accepting before its deadline")
		require.False(t, b.leads(), "the deadline and the skew have not passed")
		_, err = advance(t, c, old, table)
		require.NoError(t, err, "a write under way at the deadline still counts: nobody took over")
		sleep(8*time.Second + time.Second)
		require.True(t, b.leads())
		table, err = c.Get(t.Context(), name("a.t"))
		require.NoError(t, err)
		_, err = advance(t, c, old, table)
		requireKind(t, lake.Fenced, err)

		a.cut.Store(false)
		sleep(10 * time.Second)
		require.False(t, a.leads())
		require.True(t, b.leads())
		seen, ok := a.Leader()
		require.True(t, ok)
		require.Equal(t, "b:1", seen.Address, "it follows")
		b.stop()
		sleep(2 * time.Second)
		require.True(t, a.leads(), "and may lead again")
	})
}

func TestElectionLeaderReturnsBeforeATakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := run(t, memory.New(), "a", false)
		sleep(time.Millisecond)
		a.cut.Store(true)
		sleep(time.Minute)
		require.False(t, a.leads())
		a.cut.Store(false)
		sleep(20 * time.Second)
		fence, err := a.Fence()
		require.NoError(t, err)
		require.EqualValues(t, 1, fence.Epoch(), "nobody took over, so the fence is the same")
	})
}

func TestElectionResignHandsOverAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		a := run(t, store, "a", false)
		sleep(time.Millisecond)
		b := run(t, store, "b", false)
		sleep(time.Second)
		a.stop()
		require.False(t, a.leads())
		sleep(2 * time.Second)
		require.True(t, b.leads())
	})
}

func TestElectionExclusiveNeedsNoPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		a := run(t, store, "a", false)
		sleep(time.Millisecond)
		a.cut.Store(true) // killed
		b := run(t, store, "b", true)
		sleep(time.Millisecond)
		require.True(t, b.leads())
		b.cut.Store(true)
		sleep(time.Minute)
		require.True(t, b.leads(), "a slow store is no reason to stop when nobody else can lead")
	})
}

// TestElectionClockFarAhead leaves a deadline that no clock will reach soon.
func TestElectionClockFarAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		a := run(t, store, "a", false)
		sleep(time.Millisecond)
		a.cut.Store(true)
		found, err := store.Get(t.Context(), "election/leader-deadline")
		require.NoError(t, err)
		year := time.Now().Format("2006")
		ahead := strings.Replace(string(found.Value), `"deadline":"`+year, `"deadline":"9000`, 1)
		require.NotEqual(t, string(found.Value), ahead)
		require.NoError(t, store.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Update(found.Key, found.Value, []byte(ahead))}}))
		b := run(t, store, "b", false)
		sleep(14 * time.Second)
		require.False(t, b.leads())
		sleep(4 * time.Second)
		require.True(t, b.leads())
	})
}

func TestElectionLostRenewalAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := hookstore.New(memory.New())
		a := run(t, store, "a", false)
		store.OnCommit(func(_ metastore.Txn, next func() error) error {
			_ = next()
			return metastore.ErrUnknownOutcome
		})
		for range 60 {
			sleep(time.Second)
			require.True(t, a.leads(), "a read proves each renewal")
		}
	})
}

// TestElectionRenewalOfUnknownOutcome: a renewal applied, and neither its answer
// nor a read tells. The next one that reaches the store finds the deadline that
// is there and moves it in the same step: after another wait the lease could be
// over.
func TestElectionRenewalOfUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := hookstore.New(memory.New())
		a := run(t, store, "a", false)
		sleep(time.Millisecond)
		var silent atomic.Bool
		store.OnGet(func(string) error {
			if silent.Load() {
				return metastore.ErrRetryable
			}
			return nil
		})
		store.OnCommit(func(_ metastore.Txn, next func() error) error {
			_ = next()
			silent.Store(true)
			return metastore.ErrUnknownOutcome
		})
		sleep(6 * time.Second)
		require.True(t, silent.Load())
		silent.Store(false)
		store.OnCommit(nil)
		for range 60 {
			sleep(time.Second)
			require.True(t, a.leads())
		}
		fence, err := a.Fence()
		require.NoError(t, err)
		require.EqualValues(t, 1, fence.Epoch())
	})
}

// TestElectionAStaleRenewalTouchesNothing: a leader whose renewal failed looks
// whether it still leads, and then which deadline is to be moved. In between
// another process takes over. The deadline it finds is that one's, and stays.
func TestElectionAStaleRenewalTouchesNothing(t *testing.T) {
	store := newHooked(t)
	var events []catalog.ElectionEvent
	stale, err := catalog.NewElection(store, catalog.ElectionOptions{
		Logger: slog.New(slog.DiscardHandler), Observe: func(e catalog.ElectionEvent) { events = append(events, e) },
	})
	require.NoError(t, err)
	stale.Step(t.Context())
	store.OnCommit(func(metastore.Txn, func() error) error { return metastore.ErrRetryable })
	taken, before := false, map[string]string(nil)
	store.OnGet(func(key string) error {
		if key == "election/leader-deadline" && !taken {
			taken = true
			lead(t, store.Store)
			store.OnCommit(nil)
			before = dump(t, store.Store)
		}
		return nil
	})
	stale.Step(t.Context())
	require.True(t, taken)
	require.Equal(t, before, dump(t, store))
	require.Equal(t, []catalog.ElectionEvent{catalog.CampaignWon, catalog.LeaseLost}, events)
	_, err = stale.Fence()
	requireKind(t, lake.Unavailable, err)
}

func TestElectionOptionsAreChecked(t *testing.T) {
	_, err := catalog.NewElection(memory.New(), catalog.ElectionOptions{TTL: time.Second, Renew: time.Second})
	requireKind(t, lake.Invalid, err)
}
