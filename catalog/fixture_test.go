// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/hookstore"
	"github.com/lakeplane/lake/metastore/memory"
)

func newHooked(t testing.TB) *hookstore.Store {
	t.Helper()
	s := memory.New()
	t.Cleanup(func() { _ = s.Close() })
	return hookstore.New(s)
}

// loseAnswers applies the next n commits and then says that it does not know.
func loseAnswers(store *hookstore.Store, n int) {
	store.OnCommit(func(_ metastore.Txn, next func() error) error {
		err := next()
		if n > 0 && err == nil {
			n--
			return metastore.ErrUnknownOutcome
		}
		return err
	})
}

// lead takes the leadership over and returns the new fence.
func lead(t testing.TB, store metastore.Store) catalog.Fence {
	t.Helper()
	e, err := catalog.NewElection(store, catalog.ElectionOptions{Exclusive: true, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	e.Step(t.Context())
	fence, err := e.Fence()
	require.NoError(t, err)
	return fence
}

// records is where the tests' engine keeps its pointers.
var records = engine.Records{Latest: "manifest-latest", History: "manifest"}

func name(s string) lake.TableName {
	ns, n, _ := strings.Cut(s, ".")
	return lake.TableName{Namespace: ns, Name: n}
}

// first returns an unregistered table at version 1 and the engine's operations.
func first(n lake.TableName) (catalog.Table, []metastore.Op) {
	inc := lake.NewID()
	snap := lake.Snapshot{
		Engine: "test", Location: lake.Place(n, inc), Incarnation: inc, Version: 1,
		Manifest: lake.Manifest{Path: "m/" + lake.NewID().String(), Size: 1},
	}
	return catalog.Table{Name: n, Snapshot: snap, Schema: []byte("schema of " + n.String())}, records.Create(snap)
}

func create(t testing.TB, c *catalog.Catalog, f catalog.Fence, n lake.TableName) catalog.Table {
	t.Helper()
	table, ops := first(n)
	table, err := c.Create(t.Context(), f, table, ops)
	require.NoError(t, err)
	return table
}

// next stages the version after base.
func next(base lake.Snapshot, appends ...catalog.Operation) (lake.Snapshot, []metastore.Op) {
	snap := base
	snap.Version++
	snap.Manifest.Path = "m/" + lake.NewID().String()
	adds := make([]engine.Append, len(appends))
	for i, a := range appends {
		adds[i].Operation = engine.Operation{Tenant: a.Tenant, ID: a.ID, Digest: a.Digest}
	}
	return snap, records.Advance(base, snap, adds)
}

func operation() catalog.Operation {
	id := lake.NewID()
	return catalog.Operation{Tenant: "default", ID: id, Digest: lake.Digest(append(id[:], id[:]...)), Rows: 1}
}

func advance(t testing.TB, c *catalog.Catalog, f catalog.Fence, base catalog.Table, appends ...catalog.Operation) (catalog.Table, error) {
	t.Helper()
	snap, ops := next(base.Snapshot, appends...)
	return c.Advance(t.Context(), f, base, snap, ops, appends)
}

// dump returns every record of a store.
func dump(t testing.TB, store metastore.Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	for cursor := ""; ; {
		page, err := store.Scan(t.Context(), "", cursor, 100)
		require.NoError(t, err)
		for _, r := range page.Records {
			out[r.Key] = string(r.Value)
		}
		if cursor = page.Next; cursor == "" {
			return out
		}
	}
}

func requireKind(t testing.TB, want lake.Kind, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, lake.KindOf(err), "%v", err)
}
