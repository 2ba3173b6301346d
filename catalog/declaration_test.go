// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

func declaration(n lake.TableName, expires time.Duration) catalog.Declaration {
	return catalog.Declaration{Name: n, Incarnation: lake.NewID(), By: "ann", Reserves: true, Expires: time.Now().Add(expires)}
}

// register registers a declared incarnation.
func register(t testing.TB, c *catalog.Catalog, f catalog.Fence, d catalog.Declaration) error {
	t.Helper()
	snap := lake.Snapshot{
		Engine: "test", Location: d.Location(), Incarnation: d.Incarnation, Version: 1,
		Manifest: lake.Manifest{Path: "m/" + lake.NewID().String(), Size: 1},
	}
	_, err := c.Create(t.Context(), f, catalog.Table{Name: d.Name, Snapshot: snap, Schema: []byte("s")}, append(records.Create(snap), d.RegisterOps()...))
	return err
}

// Of registering and giving up, exactly one applies, in whatever order, and
// neither leaves more than its own records.
func TestADeclarationIsRegisteredOrGivenUp(t *testing.T) {
	store := newHooked(t)
	fence, c := lead(t, store), catalog.New(store, catalog.Options{})
	before := len(dump(t, store))

	d, err := c.Declare(t.Context(), fence, declaration(name("a.first"), time.Hour))
	require.NoError(t, err)
	require.NoError(t, register(t, c, fence, d))
	_, err = c.Abandon(t.Context(), d)
	requireKind(t, lake.Conflict, err)

	d, err = c.Declare(t.Context(), fence, declaration(name("a.second"), -time.Hour))
	require.NoError(t, err)
	gone, err := c.Abandon(t.Context(), d)
	require.NoError(t, err)
	requireKind(t, lake.Conflict, register(t, c, fence, d))
	_, err = c.Reserved(t.Context(), d.Name)
	requireKind(t, lake.NotFound, err)
	again, err := c.Abandon(t.Context(), gone)
	require.NoError(t, err)
	require.Equal(t, gone, again)
	emptied, err := c.Emptied(t.Context(), gone)
	require.NoError(t, err)
	require.Error(t, c.ForgetDeclaration(t.Context(), d), "not abandoned")
	requireKind(t, lake.Conflict, c.ForgetDeclaration(t.Context(), gone))
	require.NoError(t, c.ForgetDeclaration(t.Context(), emptied))
	require.NoError(t, c.ForgetDeclaration(t.Context(), emptied))
	// The table, its two records of the engine, and the generation.
	require.Len(t, dump(t, store), before+4)
}

func TestRacingRegistrationsAndGivingUp(t *testing.T) {
	store := newHooked(t)
	fence, c := lead(t, store), catalog.New(store, catalog.Options{})
	for range 50 {
		d, err := c.Declare(t.Context(), fence, declaration(name("a.t"+lake.NewID().String()), time.Hour))
		require.NoError(t, err)
		var made, gone error
		var racers sync.WaitGroup
		racers.Go(func() { made = register(t, c, fence, d) })
		racers.Go(func() { _, gone = c.Abandon(t.Context(), d) })
		racers.Wait()
		require.NotEqual(t, made == nil, gone == nil, "%v, %v", made, gone)
	}
}

func TestANameIsReservedOnce(t *testing.T) {
	store := newHooked(t)
	fence, c := lead(t, store), catalog.New(store, catalog.Options{})
	n := name("a.t")
	d, err := c.Declare(t.Context(), fence, declaration(n, time.Hour))
	require.NoError(t, err)
	_, err = c.Declare(t.Context(), fence, declaration(n, time.Hour))
	requireKind(t, lake.Conflict, err)
	require.ErrorContains(t, err, "ann is making a table of that name")
	found, err := c.Reserved(t.Context(), n)
	require.NoError(t, err)
	require.Equal(t, d, found)

	// One that only notes what it stages is in nobody's way.
	plain := declaration(n, time.Hour)
	plain.Reserves = false
	plain, err = c.Declare(t.Context(), fence, plain)
	require.NoError(t, err)
	require.NoError(t, register(t, c, fence, plain))
	requireKind(t, lake.AlreadyExists, register(t, c, fence, d))
	_, err = c.Declare(t.Context(), fence, declaration(n, time.Hour))
	requireKind(t, lake.AlreadyExists, err)

	// What has expired makes room.
	other := name("a.other")
	old, err := c.Declare(t.Context(), fence, declaration(other, time.Hour))
	require.NoError(t, err)
	later := clocked(store, time.Now().Add(2*time.Hour))
	fresh, err := later.Declare(t.Context(), fence, declaration(other, 3*time.Hour))
	require.NoError(t, err)
	requireKind(t, lake.Conflict, register(t, c, fence, old))
	require.NoError(t, register(t, c, fence, fresh))
	page, _, err := c.Declarations(t.Context(), "", 100)
	require.NoError(t, err)
	require.Len(t, page, 2, "the one that lost, and the one that expired")
}

func TestDeclarationsWithLostAnswersAndWithoutALeader(t *testing.T) {
	store := newHooked(t)
	fence, c := lead(t, store), catalog.New(store, catalog.Options{})
	loseAnswers(store, 1)
	d, err := c.Declare(t.Context(), fence, declaration(name("a.t"), time.Hour))
	require.NoError(t, err)
	loseAnswers(store, 1)
	_, err = c.Abandon(t.Context(), d)
	require.NoError(t, err)
	store.OnCommit(func(metastore.Txn, func() error) error { return metastore.ErrUnknownOutcome })
	_, err = c.Declare(t.Context(), fence, declaration(name("a.u"), time.Hour))
	requireKind(t, lake.Undetermined, err)
	store.OnCommit(nil)
	_, err = c.Declare(t.Context(), catalog.Fence{}, declaration(name("a.u"), time.Hour))
	require.Error(t, err)
	for _, bad := range []catalog.Declaration{{}, {Name: name("a.t")}, {Name: name("a.t"), Incarnation: lake.NewID()}} {
		_, err = c.Declare(t.Context(), fence, bad)
		requireKind(t, lake.Invalid, err)
	}
}

// TestAStaleLeaderDeclaresNothing: what it stages would be in nobody's books but
// its own.
func TestAStaleLeaderDeclaresNothing(t *testing.T) {
	store := newHooked(t)
	stale, c := lead(t, store), catalog.New(store, catalog.Options{})
	lead(t, store)
	before := dump(t, store)
	for _, reserves := range []bool{false, true} {
		d := declaration(name("a.t"), time.Hour)
		d.Reserves = reserves
		_, err := c.Declare(t.Context(), stale, d)
		requireKind(t, lake.Fenced, err)
	}
	require.Equal(t, before, dump(t, store))
}
