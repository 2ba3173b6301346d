// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package droptest makes dropped tables for the tests of whatever drops them:
// real catalog records over a given metastore, real objects in a given store,
// and an engine that keeps versions but no rows.
package droptest

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/workflows"
)

// EngineName is the engine of the tables made here.
const EngineName = "droptest"

// Engine keeps versions where a real one does.
var Engine = engine.Records{Latest: "lance-manifest-latest", History: "lance-manifest"}

// World is a small deployment.
type World struct {
	Store   metastore.Store
	Catalog *catalog.Catalog
	Objects objstore.Store
	fence   catalog.Fence
}

// New returns a world over the stores, with the leadership taken.
func New(t testing.TB, store metastore.Store, objects objstore.Store) *World {
	t.Helper()
	e, err := catalog.NewElection(store, catalog.ElectionOptions{Exclusive: true, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { e.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	var fence catalog.Fence
	require.Eventually(t, func() bool {
		fence, err = e.Fence()
		return err == nil
	}, 10*time.Second, time.Millisecond, "the election did not elect")
	return &World{Store: store, Catalog: catalog.New(store, catalog.Options{}), Objects: objects, fence: fence}
}

// Fence is the leader's, for those who make tables of another engine.
func (w *World) Fence() catalog.Fence { return w.fence }

// Table makes a table with the given number of versions and of objects.
func (w *World) Table(t testing.TB, name lake.TableName, versions, objects int) catalog.Table {
	t.Helper()
	inc := lake.NewID()
	snap := lake.Snapshot{
		Engine: EngineName, Location: lake.Place(name, inc), Incarnation: inc, Version: 1,
		Manifest: lake.Manifest{Path: "_versions/1.manifest", Size: 1},
	}
	table, err := w.Catalog.Create(t.Context(), w.fence, catalog.Table{Name: name, Snapshot: snap, Schema: []byte("schema")}, Engine.Create(snap))
	require.NoError(t, err)
	for range versions - 1 {
		next := table.Snapshot
		next.Version++
		next.Manifest.Path = fmt.Sprintf("_versions/%d.manifest", next.Version)
		table, err = w.Catalog.Advance(t.Context(), w.fence, table, next, Engine.Advance(table.Snapshot, next, nil), nil)
		require.NoError(t, err)
	}
	for i := range objects {
		require.NoError(t, w.Objects.Put(t.Context(), fmt.Sprintf("%sdata/%06d.lance", snap.Location.Prefix(), i), []byte("0123456789")))
	}
	return table
}

// Drop drops a table with an undrop window that ends at the moment given, and
// returns the argument of the drop's steps.
func (w *World) Drop(t testing.TB, table catalog.Table, purgeAfter time.Time) workflows.DropStep {
	t.Helper()
	_, err := w.Catalog.Drop(t.Context(), w.fence, table, Engine.Retire(table.Snapshot), catalog.DropRequest{
		Requester: "test", PurgeAfter: purgeAfter,
	})
	require.NoError(t, err)
	return workflows.DropStep{Namespace: table.Name.Namespace, Name: table.Name.Name, Incarnation: table.Snapshot.Incarnation}
}

// Procedure is the record of the drop.
func (w *World) Procedure(t testing.TB, step workflows.DropStep) catalog.Procedure {
	t.Helper()
	p, err := w.Catalog.Procedure(context.WithoutCancel(t.Context()), string(step.Ref().Kind), step.Ref().ID)
	require.NoError(t, err)
	return p
}

// ObjectsLeft counts the objects of the incarnation.
func (w *World) ObjectsLeft(t testing.TB, step workflows.DropStep) int {
	t.Helper()
	return CountObjects(t, w.Objects, lake.Place(step.Table(), step.Incarnation).Prefix())
}

// CountObjects counts the objects under a prefix.
func CountObjects(t testing.TB, objects objstore.Store, prefix string) (n int) {
	t.Helper()
	for after, more := "", true; more; {
		var infos []objstore.Info
		var err error
		infos, more, err = objects.List(context.WithoutCancel(t.Context()), prefix, after, objstore.MaxPage)
		require.NoError(t, err)
		if n += len(infos); len(infos) > 0 {
			after = infos[len(infos)-1].Key
		}
	}
	return n
}

// Keys returns the metastore's keys under a prefix.
func (w *World) Keys(t testing.TB, prefix string) (keys []string) {
	t.Helper()
	for cursor := ""; ; {
		page, err := w.Store.Scan(context.WithoutCancel(t.Context()), prefix, cursor, 1000)
		require.NoError(t, err)
		for _, r := range page.Records {
			keys = append(keys, r.Key)
		}
		if cursor = page.Next; cursor == "" {
			return keys
		}
	}
}

// RequireGone checks that a finished drop left nothing: no object, no version
// record, no pointer, no tombstone, and a closed record.
func (w *World) RequireGone(t testing.TB, step workflows.DropStep) {
	t.Helper()
	location := lake.Place(step.Table(), step.Incarnation)
	require.Zero(t, w.ObjectsLeft(t, step), "objects under %s", location)
	require.Empty(t, w.Keys(t, Engine.HistoryPrefix(location)))
	require.Empty(t, w.Keys(t, Engine.Latest+"/"+string(location)))
	require.Empty(t, w.Keys(t, "drop/"+step.Ref().ID))
	record := w.Procedure(t, step)
	require.Equal(t, catalog.ProcedureCompleted, record.State)
	require.True(t, record.Deadline.IsZero(), "the record is still held")
}

// Undrop takes a drop back as an undrop does: one commit that needs the exact
// tombstone and the procedure's record in a phase before the point of no
// return. It reports whether the commit applied.
func (w *World) Undrop(t testing.TB, step workflows.DropStep) bool {
	t.Helper()
	tombstone, err := w.Catalog.Tombstone(t.Context(), step.Table(), step.Incarnation)
	require.NoError(t, err)
	record := w.Procedure(t, step)
	if phase := workflows.Phase(record.Phase); phase != "" && phase != workflows.PhaseWaiting {
		return false
	}
	next := record
	next.LastError = "undropped"
	_, err = w.Catalog.CommitProcedure(t.Context(), record, next,
		append(Engine.Restore(tombstone.Table.Snapshot), tombstone.RemoveOp())...)
	return err == nil
}

// TakeBack undrops a table with the catalog's commit, which also ends the
// procedure's record, and returns the table.
func (w *World) TakeBack(t testing.TB, step workflows.DropStep) catalog.Table {
	t.Helper()
	tombstone, err := w.Catalog.Tombstone(t.Context(), step.Table(), step.Incarnation)
	require.NoError(t, err)
	table, err := w.Catalog.Undrop(t.Context(), w.fence, tombstone, Engine.Restore(tombstone.Table.Snapshot), w.Procedure(t, step), "test")
	require.NoError(t, err)
	return table
}
