// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package faultstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/faultstore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/metastore/metastoretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A store without faults is as good as the one inside.
func TestConformanceWithoutFaults(t *testing.T) {
	metastoretest.Run(t, func(tb testing.TB) metastore.Store { return wrap(tb, faultstore.Script{}) })
}

// Faults that the contract hides from the caller keep it conformant.
func TestConformanceWithRepeatsAndDelays(t *testing.T) {
	metastoretest.Run(t, func(tb testing.TB) metastore.Store {
		return wrap(tb, faultstore.NewRandom(1, 0.5, 100*time.Microsecond, faultstore.Repeat, faultstore.Delay))
	})
}

func TestHistoriesUnderFaults(t *testing.T) {
	metastoretest.RunHistories(t, func(tb testing.TB) metastore.Store {
		return wrap(tb, faultstore.NewRandom(7, 0.3, time.Millisecond))
	}, metastoretest.Histories{})
}

func wrap(tb testing.TB, plan faultstore.Plan) *faultstore.Store {
	s := faultstore.New(memory.New(), plan)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// TestMatrix says, for each kind of fault, what a commit and a read are told,
// whether the commit is there afterwards, and what a retry with the same token
// then is told.
func TestMatrix(t *testing.T) {
	unknown, retryable := metastore.ErrUnknownOutcome, metastore.ErrRetryable
	for _, c := range []struct {
		kind         faultstore.Kind
		commit, read error
		applied      bool // before the retry
	}{
		{faultstore.BeforeSend, retryable, retryable, false},
		{faultstore.Throttle, retryable, retryable, false},
		{faultstore.AckLost, unknown, retryable, true},
		{faultstore.Undetermined, unknown, retryable, false},
		{faultstore.Late, unknown, retryable, true},
		{faultstore.Repeat, nil, nil, true},
		{faultstore.Race, nil, nil, true},
		{faultstore.Delay, nil, nil, true},
	} {
		t.Run(c.kind.String(), func(t *testing.T) {
			fault := faultstore.Fault{Kind: c.kind, Wait: time.Millisecond}
			s := wrap(t, faultstore.Script{"Commit": {1: fault}, "Get": {1: fault}, "Scan": {1: fault}})
			txn := metastore.Txn{Token: "t", Ops: []metastore.Op{metastore.Create("a", []byte("1"))}}

			requireIs(t, s.Commit(t.Context(), txn), c.commit)
			s.Settle()
			_, err := s.Inner().Get(t.Context(), "a")
			require.Equal(t, c.applied, err == nil)
			require.NoError(t, s.Commit(t.Context(), txn), "a retry with the token settles it")

			_, err = s.Get(t.Context(), "a")
			requireIs(t, err, c.read)
			_, err = s.Get(t.Context(), "a")
			require.NoError(t, err)
			_, err = s.Scan(t.Context(), "a", "", 1)
			requireIs(t, err, c.read)
			require.Equal(t, []faultstore.Event{
				{Call: faultstore.Call{Method: "Commit", Number: 1, Key: "a"}, Kind: c.kind},
				{Call: faultstore.Call{Method: "Get", Number: 1, Key: "a"}, Kind: c.kind},
				{Call: faultstore.Call{Method: "Scan", Number: 1, Key: "a"}, Kind: c.kind},
			}, s.Events())
		})
	}
}

func requireIs(t *testing.T, err, want error) {
	t.Helper()
	if want == nil {
		require.NoError(t, err)
		return
	}
	require.ErrorIs(t, err, want)
	for _, other := range []error{metastore.ErrUnknownOutcome, metastore.ErrRetryable} {
		if !errors.Is(want, other) {
			require.NotErrorIs(t, err, other)
		}
	}
}

func TestThrottleHasItsKind(t *testing.T) {
	s := wrap(t, faultstore.Script{"Get": {1: {Kind: faultstore.Throttle}}})
	_, err := s.Get(t.Context(), "a")
	require.True(t, lake.Is(err, lake.Exhausted))
}

func TestRaceLetsSomebodyElseWin(t *testing.T) {
	steal := func(ctx context.Context, inner metastore.Store) {
		_ = inner.Commit(ctx, metastore.Txn{Ops: []metastore.Op{metastore.Create("a", []byte("theirs"))}})
	}
	s := wrap(t, faultstore.Script{"Commit": {1: {Kind: faultstore.Race, Hook: steal}}})
	err := s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create("a", []byte("mine"))}})
	var conflict *metastore.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, "theirs", string(conflict.Current))
}

func TestALateCommitMayLose(t *testing.T) {
	s := wrap(t, faultstore.Script{"Commit": {1: {Kind: faultstore.Late, Wait: 10 * time.Millisecond}}})
	value := []byte("late")
	require.Error(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create("a", value)}}))
	copy(value, "XXXX")
	require.NoError(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create("a", []byte("soon"))}}))
	s.Settle()
	rec, err := s.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "soon", string(rec.Value))
}

func TestDelayEndsWithTheContext(t *testing.T) {
	s := wrap(t, faultstore.PlanFunc(func(faultstore.Call) faultstore.Fault {
		return faultstore.Fault{Kind: faultstore.Delay, Wait: time.Hour}
	}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := s.Commit(ctx, metastore.Txn{Ops: []metastore.Op{metastore.Create("a", nil)}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, metastore.ErrRetryable)
}

func TestRandomIsReproducible(t *testing.T) {
	a, b := faultstore.NewRandom(3, 0.5, time.Second), faultstore.NewRandom(3, 0.5, time.Second)
	seen := map[faultstore.Kind]int{}
	for range 500 {
		fault := a.Next(faultstore.Call{})
		require.Equal(t, fault, b.Next(faultstore.Call{}))
		seen[fault.Kind]++
	}
	require.InDelta(t, 250, seen[faultstore.None], 60)
	require.Len(t, seen, len(faultstore.Kinds())) // all but Race, and None
	require.Zero(t, seen[faultstore.Race])
}
