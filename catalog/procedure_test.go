// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

func intend(t *testing.T, store metastore.Store, c *catalog.Catalog, p catalog.Procedure) catalog.Procedure {
	t.Helper()
	require.NoError(t, store.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{c.CreateProcedureOp(p)}}))
	p, err := c.Procedure(t.Context(), p.Kind, p.ID)
	require.NoError(t, err)
	return p
}

func TestProcedureRoundTrip(t *testing.T) {
	store := newHooked(t)
	c := catalog.New(store, catalog.Options{})
	at := time.Now().UTC().Truncate(time.Microsecond)
	old := intend(t, store, c, catalog.Procedure{Kind: "k", ID: "a/b", Namespace: "n", Table: "t"})
	require.Equal(t, catalog.ProcedurePending, old.State)
	next := old
	next.State, next.Phase, next.Epoch, next.Holder = catalog.ProcedureRunning, "p", 1, "me"
	next.Deadline, next.Cursor, next.LastError = at, "c", "e"
	next.Counters = map[string]int64{"n": 3}
	stored, err := c.CommitProcedure(t.Context(), old, next)
	require.NoError(t, err)
	next.Counters["n"] = 4 // the stored record must not share the map
	read, err := c.Procedure(t.Context(), "k", "a/b")
	require.NoError(t, err)
	require.Equal(t, stored, read)
	require.Equal(t, int64(3), read.Counters["n"])
	require.Equal(t, at, read.Deadline)
	_, err = c.Procedure(t.Context(), "k", "a")
	requireKind(t, lake.NotFound, err)
}

func TestProcedureLease(t *testing.T) {
	store := newHooked(t)
	c := catalog.New(store, catalog.Options{})
	old := intend(t, store, c, catalog.Procedure{Kind: "k", ID: "i"})
	other := metastore.Create("some/key", []byte("1"))

	claim := func(p catalog.Procedure, holder string) (catalog.Procedure, error) {
		next := p
		next.State, next.Epoch, next.Holder = catalog.ProcedureRunning, p.Epoch+1, holder
		return c.CommitProcedure(t.Context(), p, next)
	}
	one, err := claim(old, "one")
	require.NoError(t, err)
	_, err = claim(old, "late")
	requireKind(t, lake.Fenced, err)
	two, err := claim(one, "two")
	require.NoError(t, err)

	requireKind(t, lake.Fenced, c.CommitKeep(t.Context(), one, other))
	_, err = c.CommitProcedure(t.Context(), one, one, other)
	requireKind(t, lake.Fenced, err)
	_, err = store.Get(t.Context(), other.Key)
	require.ErrorIs(t, err, metastore.ErrNotFound, "nothing a loser wrote is there")

	require.NoError(t, c.CommitKeep(t.Context(), two, other))
	requireKind(t, lake.Conflict, c.CommitKeep(t.Context(), two, other))
	_, err = c.CommitProcedure(t.Context(), two, two, other)
	requireKind(t, lake.Conflict, err)

	for _, lost := range []int{1, 3} {
		loseAnswers(store, lost)
		two, err = claim(two, "two")
		require.NoError(t, err)
		loseAnswers(store, lost)
		require.NoError(t, c.CommitKeep(t.Context(), two, metastore.Create("x/"+lake.NewID().String(), nil)))
	}
}

func TestProcedureRefusals(t *testing.T) {
	store := newHooked(t)
	c := catalog.New(store, catalog.Options{})
	old := intend(t, store, c, catalog.Procedure{Kind: "k", ID: "i", Epoch: 4})
	for label, change := range map[string]func(*catalog.Procedure){
		"other kind":    func(p *catalog.Procedure) { p.Kind = "x" },
		"other id":      func(p *catalog.Procedure) { p.ID = "x" },
		"epoch back":    func(p *catalog.Procedure) { p.Epoch = 3 },
		"unknown state": func(p *catalog.Procedure) { p.State = "x" },
	} {
		next := old
		change(&next)
		_, err := c.CommitProcedure(t.Context(), old, next)
		require.Equal(t, lake.Invalid, lake.KindOf(err), label)
	}
	unread := catalog.Procedure{Kind: "k", ID: "i"}
	_, err := c.CommitProcedure(t.Context(), unread, unread)
	requireKind(t, lake.Invalid, err)
	requireKind(t, lake.Invalid, c.CommitKeep(t.Context(), unread))
}

func TestProceduresByKind(t *testing.T) {
	store := newHooked(t)
	c := catalog.New(store, catalog.Options{})
	for _, k := range []string{"drop", "drop2", "gc"} {
		intend(t, store, c, catalog.Procedure{Kind: k, ID: "1/x"})
	}
	for kind, want := range map[string]int{"": 3, "drop": 1, "drop2": 1, "none": 0} {
		page, next, err := c.Procedures(t.Context(), kind, "", 10)
		require.NoError(t, err)
		require.Empty(t, next)
		require.Len(t, page, want, "kind %q", kind)
	}
	_, _, err := c.Procedures(t.Context(), "a/b", "", 10)
	requireKind(t, lake.Invalid, err)
	_, _, err = c.Procedures(t.Context(), "", "", 0)
	requireKind(t, lake.Invalid, err)
	_, _, err = c.Procedures(t.Context(), "", "nonsense", 10)
	requireKind(t, lake.Invalid, err)
}
