// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

func maintenance(table catalog.Table) catalog.Procedure {
	return catalog.Procedure{
		Kind: catalog.MaintenanceKind, ID: catalog.MaintenanceID(table.Name, table.Snapshot.Incarnation),
		Namespace: table.Name.Namespace, Table: table.Name.Name,
	}
}

// claim opens and claims the maintenance of a table.
func claim(t *testing.T, c *catalog.Catalog, table catalog.Table) catalog.Procedure {
	t.Helper()
	old, _, err := c.OpenProcedure(t.Context(), maintenance(table))
	require.NoError(t, err)
	next := old
	next.Epoch, next.State = old.Epoch+1, catalog.ProcedureRunning
	next, err = c.CommitProcedure(t.Context(), old, next)
	require.NoError(t, err)
	return next
}

// maintain advances a table as a maintenance does.
func maintain(t *testing.T, c *catalog.Catalog, by catalog.Procedure, table catalog.Table) (catalog.Table, catalog.Procedure, error) {
	t.Helper()
	snap, ops := next(table.Snapshot)
	moved, all, err := c.MaintainOps(by, table, snap, ops)
	require.NoError(t, err)
	after, err := c.CommitProcedure(t.Context(), by, by, all...)
	return moved, after, err
}

func TestAMaintenanceAndALeaderShareOneChainOfVersions(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	table := create(t, c, fence, name("ns.t"))
	by := claim(t, c, table)
	moved, by, err := maintain(t, c, by, table)
	require.NoError(t, err)
	require.Equal(t, table.Snapshot.Version+1, moved.Snapshot.Version)

	_, err = advance(t, c, fence, table, operation()) // the leader's memory is old
	requireKind(t, lake.Conflict, err)
	read, err := c.Get(t.Context(), table.Name)
	require.NoError(t, err)
	require.Equal(t, moved.Snapshot, read.Snapshot)
	newer, err := advance(t, c, fence, read, operation())
	require.NoError(t, err)

	before := dump(t, store)
	_, _, err = maintain(t, c, by, moved) // and now the maintenance's is
	requireKind(t, lake.Conflict, err)
	require.Equal(t, before, dump(t, store), "a refused commit does nothing")
	_, by, err = maintain(t, c, by, newer)
	require.NoError(t, err)

	// A leader that takes over changes nothing for a maintenance.
	fence = lead(t, store)
	read, err = c.Get(t.Context(), table.Name)
	require.NoError(t, err)
	moved, by, err = maintain(t, c, by, read)
	require.NoError(t, err)

	// A drop ends the chain, whatever the maintenance knows.
	_, err = c.Drop(t.Context(), fence, moved, records.Retire(moved.Snapshot), catalog.DropRequest{PurgeAfter: time.Now()})
	require.NoError(t, err)
	_, _, err = maintain(t, c, by, moved)
	requireKind(t, lake.Conflict, err)
}

func TestAnOlderClaimMaintainsNothing(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	table := create(t, c, fence, name("ns.t"))
	old := claim(t, c, table)
	claim(t, c, table)
	_, _, err := maintain(t, c, old, table)
	requireKind(t, lake.Fenced, err)
	now, err := c.Get(t.Context(), table.Name)
	require.NoError(t, err)
	require.Equal(t, table.Snapshot, now.Snapshot)
}

func TestMaintainOpsRefusesWhatIsNotTheTables(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	table, other := create(t, c, fence, name("ns.t")), create(t, c, fence, name("ns.u"))
	by := claim(t, c, table)
	pending, _, err := c.OpenProcedure(t.Context(), maintenance(other))
	require.NoError(t, err)
	ahead, ops := next(table.Snapshot)
	ahead.Version++
	for what, try := range map[string]struct {
		by    catalog.Procedure
		table catalog.Table
		next  lake.Snapshot
	}{
		"another table's":  {by, other, other.Snapshot},
		"not claimed":      {pending, other, other.Snapshot},
		"not read":         {maintenance(table), table, table.Snapshot},
		"a gap":            {by, table, ahead},
		"the same version": {by, table, table.Snapshot},
	} {
		_, _, err := c.MaintainOps(try.by, try.table, try.next, ops)
		require.True(t, lake.Is(err, lake.Invalid), "%s: %v", what, err)
	}
}

func TestOpenProcedureIsSharedAndUsedAgain(t *testing.T) {
	store := newHooked(t)
	c := catalog.New(store, catalog.Options{})
	want := catalog.Procedure{Kind: catalog.OperationGCKind, ID: "deployment"}
	var wg sync.WaitGroup
	var mu sync.Mutex
	opened := 0
	for range 8 {
		wg.Go(func() {
			_, fresh, err := c.OpenProcedure(t.Context(), want)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			} else if fresh {
				opened++
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, opened)
	first, err := c.Procedure(t.Context(), want.Kind, want.ID)
	require.NoError(t, err)
	requireKind(t, lake.Invalid, c.RemoveProcedure(t.Context(), first))
	ended := first
	ended.Epoch, ended.State, ended.Counters = 7, catalog.ProcedureCompleted, map[string]int64{"n": 1}
	ended, err = c.CommitProcedure(t.Context(), first, ended)
	require.NoError(t, err)

	again, fresh, err := c.OpenProcedure(t.Context(), want)
	require.NoError(t, err)
	require.True(t, fresh)
	require.EqualValues(t, 7, again.Epoch)
	require.Empty(t, again.Counters)
	_, err = c.CommitProcedure(t.Context(), ended, ended)
	requireKind(t, lake.Fenced, err)
	requireKind(t, lake.Fenced, c.RemoveProcedure(t.Context(), ended))

	ended.State = catalog.ProcedureCancelled
	ended, err = c.CommitProcedure(t.Context(), again, ended)
	require.NoError(t, err)
	require.NoError(t, c.RemoveProcedure(t.Context(), ended))
	require.Empty(t, dump(t, store))
}

func TestOpenProcedureSettlesLostAnswers(t *testing.T) {
	store := newHooked(t)
	c := catalog.New(store, catalog.Options{})
	loseAnswers(store, 1)
	p, fresh, err := c.OpenProcedure(t.Context(), catalog.Procedure{Kind: catalog.OperationGCKind, ID: "deployment"})
	require.NoError(t, err)
	require.True(t, fresh)
	read, err := c.Procedure(t.Context(), p.Kind, p.ID)
	require.NoError(t, err)
	require.Equal(t, p.Raw(), read.Raw())
}

// clocked returns a catalog whose clock is off by some time.
func clocked(store metastore.Store, now time.Time) *catalog.Catalog {
	return catalog.New(store, catalog.Options{Now: func() time.Time { return now }})
}

// What may be forgotten by one clock is refused by every clock that may be used
// with it: an operation can never be applied a second time because its record
// is gone.
func TestWhatIsForgottenIsRefusedOnEveryClock(t *testing.T) {
	store := newHooked(t)
	fence := lead(t, store)
	table := create(t, catalog.New(store, catalog.Options{}), fence, name("ns.t"))
	skew := int64(lake.OperationFutureSkew)
	base := time.Now()
	rapid.Check(t, func(rt *rapid.T) {
		age := rapid.Int64Range(int64(lake.OperationRetention)-3*skew, int64(lake.OperationRetention)+5*skew).Draw(rt, "age")
		off := rapid.Int64Range(-skew, skew).Draw(rt, "skew")
		op := operation()
		op.ID = lake.NewIDAt(base.Add(-time.Duration(age)))
		ours, theirs := clocked(store, base), clocked(store, base.Add(time.Duration(off)))
		if !ours.Forgettable(catalog.OperationRecord{Table: table.Name, Operation: op}) {
			return
		}
		_, found, err := theirs.Replay(rt.Context(), table, op)
		if found || !lake.Is(err, lake.Precondition) {
			rt.Fatalf("age %s, clock off by %s: found %t, %v", time.Duration(age), time.Duration(off), found, err)
		}
	})
}

// A lookup that takes so long that the record is forgotten meanwhile does not
// say that the operation is new.
func TestALookupSlowerThanTheGarbageCollectionIsRefused(t *testing.T) {
	store := newHooked(t)
	fence := lead(t, store)
	now := time.Now()
	c := catalog.New(store, catalog.Options{Now: func() time.Time { return now }})
	table := create(t, c, fence, name("ns.t"))
	op := operation()
	op.ID = lake.NewIDAt(now)
	table, err := advance(t, c, fence, table, op)
	require.NoError(t, err)
	now = now.Add(lake.OperationRetention - time.Second)
	_, found, err := c.Replay(t.Context(), table, op)
	require.NoError(t, err)
	require.True(t, found)
	store.OnGet(func(key string) error {
		store.OnGet(nil)
		now = now.Add(3 * lake.OperationFutureSkew)
		record, err := c.Operation(t.Context(), op.Tenant, table.Name, op.ID)
		require.NoError(t, err)
		require.True(t, c.Forgettable(record))
		return store.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{record.RemoveOp()}, Token: "gc"})
	})
	_, found, err = c.Replay(t.Context(), table, op)
	require.False(t, found)
	requireKind(t, lake.Precondition, err)
}
