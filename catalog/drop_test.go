// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
)

// buried returns a dropped table's tombstone and procedure.
func buried(t *testing.T, c *catalog.Catalog, fence catalog.Fence, table catalog.Table) (catalog.Tombstone, catalog.Procedure) {
	t.Helper()
	grave, err := c.Drop(t.Context(), fence, table, records.Retire(table.Snapshot), catalog.DropRequest{PurgeAfter: time.Now()})
	require.NoError(t, err)
	drop, err := c.Procedure(t.Context(), catalog.DropKind, grave.ProcedureID())
	require.NoError(t, err)
	return grave, drop
}

func TestUndropAndDropAgain(t *testing.T) {
	store, c, fence := prepared(t)
	table := create(t, c, fence, name("a.t"))
	op := operation()
	table, err := advance(t, c, fence, table, op)
	require.NoError(t, err)
	before := dump(t, store)
	for round := range uint64(3) {
		grave, drop := buried(t, c, fence, table)
		require.Equal(t, catalog.ProcedurePending, drop.State)
		require.Equal(t, round, drop.Epoch, "epochs go on")
		claimed := drop
		claimed.Epoch, claimed.State = drop.Epoch+1, catalog.ProcedureRunning
		drop, err = c.CommitProcedure(t.Context(), drop, claimed)
		require.NoError(t, err)

		loseAnswers(store, int(round))
		back, err := c.Undrop(t.Context(), fence, grave, records.Restore(table.Snapshot), drop, "ann")
		require.NoError(t, err)
		require.Equal(t, table, back)
		now, err := c.Get(t.Context(), table.Name)
		require.NoError(t, err)
		require.Equal(t, table.Raw(), now.Raw(), "the exact record")
		_, found, err := c.Replay(t.Context(), now, op)
		require.NoError(t, err)
		require.True(t, found, "its operations are remembered")
		ended, err := c.Procedure(t.Context(), drop.Kind, drop.ID)
		require.NoError(t, err)
		require.Equal(t, catalog.ProcedureCancelled, ended.State)
		_, err = c.CommitProcedure(t.Context(), drop, drop)
		requireKind(t, lake.Fenced, err)
		_, err = c.Undrop(t.Context(), fence, grave, records.Restore(table.Snapshot), ended, "ann")
		requireKind(t, lake.Precondition, err)
	}
	after := dump(t, store)
	require.NotEqual(t, before["__lake_internal/catalog-directory-generation"], after["__lake_internal/catalog-directory-generation"])
	require.Len(t, after, len(before)+1+6, "only the procedure's record and its audit are left")
	_, err = advance(t, c, fence, table, operation())
	require.NoError(t, err)
}

func TestUndropRefusals(t *testing.T) {
	store, c, stale := prepared(t)
	table := create(t, c, stale, name("a.t"))
	other := create(t, c, stale, name("a.other"))
	grave, drop := buried(t, c, stale, table)
	_, otherDrop := buried(t, c, stale, other)
	fence := lead(t, store)
	undrop := func(f catalog.Fence, g catalog.Tombstone, p catalog.Procedure) error {
		before := dump(t, store)
		_, err := c.Undrop(t.Context(), f, g, records.Restore(table.Snapshot), p, "ann")
		require.Error(t, err)
		require.Equal(t, before, dump(t, store))
		return err
	}
	requireKind(t, lake.Fenced, undrop(stale, grave, drop))
	requireKind(t, lake.Fenced, undrop(catalog.Fence{}, grave, drop))
	requireKind(t, lake.Invalid, undrop(fence, grave, otherDrop))
	requireKind(t, lake.Invalid, undrop(fence, catalog.Tombstone{}, drop))

	moved := drop
	moved.Phase = "past the point of no return"
	moved, err := c.CommitProcedure(t.Context(), drop, moved)
	require.NoError(t, err)
	requireKind(t, lake.Precondition, undrop(fence, grave, drop))
	create(t, c, fence, name("a.t"))
	requireKind(t, lake.AlreadyExists, undrop(fence, grave, moved))
}
