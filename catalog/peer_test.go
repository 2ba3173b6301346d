// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/hookstore"
)

// unfinished returns a store as a release left it that kept no directory
// generation: with a table and without the marker.
func unfinished(t *testing.T) (*hookstore.Store, *catalog.Catalog, catalog.Fence) {
	t.Helper()
	store := newHooked(t)
	c := catalog.New(store, catalog.Options{})
	fence := lead(t, store)
	create(t, c, fence, name("n.t"))
	dir, err := c.Directory(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, dir.Generation)
	return store, c, fence
}

func TestFinalizeNeedsEveryWriter(t *testing.T) {
	store, c, fence := unfinished(t)
	_, err := c.FinalizeOps(t.Context())
	requireKind(t, lake.Precondition, err)
	require.ErrorContains(t, err, "did not announce itself")

	leader := catalog.Peer{Role: catalog.RoleMeta, Instance: fence.Holder(), Capabilities: catalog.Capabilities()}
	require.NoError(t, c.Announce(t.Context(), leader))
	old := catalog.Peer{Role: catalog.RoleMeta, Instance: "old", Version: "0.1", Capabilities: []string{"something"}}
	require.NoError(t, c.Announce(t.Context(), old))
	writers, _, problems, err := c.CheckWriters(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, writers)
	require.Len(t, problems, 1)
	require.Contains(t, problems[0], "old")
	require.NoError(t, c.Leave(t.Context(), catalog.RoleMeta, "old"))
	require.NoError(t, c.Leave(t.Context(), catalog.RoleMeta, "old"), "twice")

	// A server that is not known takes over between the check and the commit.
	ops, err := c.FinalizeOps(t.Context())
	require.NoError(t, err)
	later := lead(t, store)
	var conflict *metastore.ConflictError
	require.ErrorAs(t, store.Commit(t.Context(), metastore.Txn{Ops: ops}), &conflict)
	ok, err := c.Authoritative(t.Context())
	require.NoError(t, err)
	require.False(t, ok)

	leader.Instance = later.Holder()
	require.NoError(t, c.Announce(t.Context(), leader))
	ops, err = c.FinalizeOps(t.Context())
	require.NoError(t, err)
	require.NoError(t, store.Commit(t.Context(), metastore.Txn{Ops: ops}))
	dir, err := c.Directory(t.Context(), "")
	require.NoError(t, err)
	require.NotEmpty(t, dir.Generation)
	again, err := c.FinalizeOps(t.Context())
	require.NoError(t, err)
	require.Empty(t, again, "it is in force, for good")
	create(t, c, later, name("n.next"))
	next, err := c.Directory(t.Context(), dir.Generation)
	require.NoError(t, err)
	require.False(t, next.NotModified, "a change of the set has a generation of its own")
}

func TestPeersAge(t *testing.T) {
	store := newHooked(t)
	now := time.Now()
	c := catalog.New(store, catalog.Options{Now: func() time.Time { return now }})
	live := func() int {
		peers, err := c.Peers(t.Context(), catalog.RoleMeta)
		require.NoError(t, err)
		return len(peers)
	}
	for range 2 {
		require.NoError(t, c.Announce(t.Context(), catalog.Peer{Role: catalog.RoleMeta, Instance: "a", Capabilities: catalog.Capabilities()}))
	}
	require.Equal(t, 1, live())
	require.True(t, func() bool {
		p, _ := c.Peers(t.Context(), catalog.RoleMeta)
		return p[0].Can(catalog.CapabilityGeneration)
	}())
	now = now.Add(catalog.PeerTTL + time.Second)
	require.Zero(t, live())
	require.Len(t, dump(t, store), 1)
	now = now.Add(25 * time.Hour)
	require.Zero(t, live())
	require.Empty(t, dump(t, store), "the record of one that is long gone")
}
