// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakeplane/lake/lake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func enter(t *testing.T, g *Gate, tenant string) func() {
	t.Helper()
	leave, outcome, err := g.Enter(t.Context(), tenant)
	require.NoError(t, err)
	require.Equal(t, Admitted, outcome)
	return leave
}

func TestOneTenantCannotFillTheReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{})
		var held []func()
		for range 8 {
			held = append(held, enter(t, g, "greedy"))
		}
		start := time.Now()
		_, outcome, err := g.Enter(t.Context(), "greedy")
		require.True(t, lake.Is(err, lake.Exhausted), "%v", err)
		require.Equal(t, TenantLimit, outcome)
		require.Equal(t, 100*time.Millisecond, time.Since(start))
		enter(t, g, "modest")()
		for _, leave := range held {
			leave()
			leave() // a second call must change nothing
		}
		require.Empty(t, g.tenants, "idle tenants take no memory")
		enter(t, g, "greedy")()
	})
}

// TestFreePlacesAreNeverRefused: a machine may be so busy that the time to wait
// is over before anybody has looked.
func TestFreePlacesAreNeverRefused(t *testing.T) {
	g := New(Options{Concurrent: 1, PerTenant: 1, Queue: time.Nanosecond})
	for range 1000 {
		enter(t, g, "somebody")()
	}
}

func TestTheReplicaLimitHoldsOverAllTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{Concurrent: 3})
		for i := range 3 {
			defer enter(t, g, fmt.Sprint(i))()
		}
		_, outcome, err := g.Enter(t.Context(), "late")
		require.True(t, lake.Is(err, lake.Exhausted))
		require.Equal(t, ReplicaLimit, outcome)
		require.ErrorContains(t, err, "already runs 3 queries")
		require.Len(t, g.tenants, 3, "the refused one left nothing behind")
	})
}

func TestWaitersAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{Concurrent: 1})
		leave := enter(t, g, "first")
		var order []int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				leave, _, err := g.Enter(t.Context(), fmt.Sprint(i))
				if err == nil {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
					leave()
				}
			})
			synctest.Wait() // i is in the queue before i+1 arrives
		}
		leave()
		wg.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4}, order)
	})
}

func TestACallerThatLeavesTakesNoPermit(t *testing.T) {
	g := New(Options{Concurrent: 1, Queue: time.Hour})
	leave := enter(t, g, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, outcome, err := g.Enter(ctx, "b")
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, ClientLeft, outcome)
	leave()
	enter(t, g, "b")()
}

func TestTrackedTenantsAreBounded(t *testing.T) {
	g := New(Options{Tenants: 2})
	a, b := enter(t, g, "a"), enter(t, g, "b")
	_, outcome, err := g.Enter(t.Context(), "c")
	require.True(t, lake.Is(err, lake.Exhausted))
	require.Equal(t, TenantsLimit, outcome)
	a()
	enter(t, g, "c")()
	b()
}

func TestLimitsHoldUnderLoad(t *testing.T) {
	g := New(Options{Concurrent: 5, PerTenant: 2, Queue: time.Minute})
	var all atomic.Int64
	perTenant := make([]atomic.Int64, 4)
	var wg sync.WaitGroup
	for i := range 400 {
		wg.Go(func() {
			leave, _, err := g.Enter(t.Context(), fmt.Sprint(i%4))
			if err != nil {
				t.Error(err)
				return
			}
			defer leave()
			if n := all.Add(1); n > 5 {
				t.Errorf("%d at once", n)
			}
			if n := perTenant[i%4].Add(1); n > 2 {
				t.Errorf("%d of one tenant at once", n)
			}
			perTenant[i%4].Add(-1)
			all.Add(-1)
		})
	}
	wg.Wait()
	require.Empty(t, g.tenants)
}
