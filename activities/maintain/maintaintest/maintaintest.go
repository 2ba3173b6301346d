// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package maintaintest makes real tables for the tests of whatever maintains
// them: catalog records over a given metastore, and a storage engine's versions.
package maintaintest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/workflows"
)

// Schema is the schema of the tables made here: one column of numbers.
var Schema = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)

// World is a small deployment with a leader. It is safe for concurrent use if
// its engine is.
type World struct {
	Store   metastore.Store
	Catalog *catalog.Catalog
	Engine  engine.Engine
	// Fence is the leader's.
	Fence catalog.Fence
}

// New returns a world over the stores, with the leadership taken.
func New(t testing.TB, store metastore.Store, e engine.Engine) *World {
	t.Helper()
	election, err := catalog.NewElection(store, catalog.ElectionOptions{Exclusive: true, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { election.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	var fence catalog.Fence
	require.Eventually(t, func() bool {
		fence, err = election.Fence()
		return err == nil
	}, 10*time.Second, time.Millisecond, "the election did not elect")
	return &World{Store: store, Catalog: catalog.New(store, catalog.Options{}), Engine: e, Fence: fence}
}

// Table makes an empty table.
func (w *World) Table(t testing.TB, name lake.TableName) catalog.Table {
	t.Helper()
	inc := lake.NewID()
	staged, err := w.Engine.Create(t.Context(), lake.Place(name, inc), inc, Schema)
	require.NoError(t, err)
	table, err := w.Catalog.Create(t.Context(), w.Fence, catalog.Table{Name: name, Snapshot: staged.Snapshot, Schema: []byte("schema")}, staged.Ops)
	require.NoError(t, err)
	require.NoError(t, w.Engine.Publish(t.Context(), table.Snapshot))
	return table
}

// Appended makes a table of n small appends of ten rows, numbered from 0.
func (w *World) Appended(t testing.TB, name lake.TableName, n int) catalog.Table {
	t.Helper()
	table := w.Table(t, name)
	for i := range n {
		table = w.Append(t, table, int64(10*i), 10)
	}
	return table
}

// Append appends the numbers from first on to exactly the table given.
func (w *World) Append(t testing.TB, table catalog.Table, first, n int64) catalog.Table {
	t.Helper()
	table, err := w.TryAppend(t.Context(), table, first, n)
	require.NoError(t, err)
	return table
}

// TryAppend is an append that may lose to another commit: lake.Conflict.
func (w *World) TryAppend(ctx context.Context, table catalog.Table, first, n int64) (catalog.Table, error) {
	rows, err := numbers(first, n)
	if err != nil {
		return catalog.Table{}, err
	}
	defer rows.Release()
	data, err := w.Engine.StageData(ctx, table.Snapshot.Location, Schema, rows)
	if err != nil {
		return catalog.Table{}, err
	}
	id := lake.NewID()
	operation := catalog.Operation{Tenant: "default", ID: id, Digest: lake.Digest(append(id[:], id[:]...)), Rows: uint64(n)}
	add := engine.Append{Operation: engine.Operation{Tenant: operation.Tenant, ID: id, Digest: operation.Digest}, Data: data}
	staged, err := w.Engine.StageAppend(ctx, table.Snapshot, []engine.Append{add})
	if err != nil {
		return catalog.Table{}, err
	}
	moved, err := w.Catalog.Advance(ctx, w.Fence, table, staged.Snapshot, staged.Ops, []catalog.Operation{operation})
	if err != nil {
		return catalog.Table{}, err
	}
	return moved, w.Engine.Publish(ctx, moved.Snapshot)
}

func numbers(first, n int64) (array.RecordReader, error) {
	b := array.NewInt64Builder(memory.NewGoAllocator())
	defer b.Release()
	for i := range n {
		b.Append(first + i)
	}
	column := b.NewArray()
	defer column.Release()
	batch := array.NewRecordBatch(Schema, []arrow.Array{column}, n)
	defer batch.Release()
	return array.NewRecordReader(Schema, []arrow.RecordBatch{batch})
}

// Numbers reads a version, in order.
func (w *World) Numbers(t testing.TB, snap lake.Snapshot) (out []int64) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	d, err := w.Engine.Open(ctx, snap)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	s, err := d.Scan(ctx, engine.ScanOptions{Ordered: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for {
		b, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		out = append(out, b.Column(0).(*array.Int64).Int64Values()...)
		b.Release()
	}
}

// RequireNumbers checks that a version holds 0..n-1 in order.
func (w *World) RequireNumbers(t testing.TB, snap lake.Snapshot, n int64) {
	t.Helper()
	got := w.Numbers(t, snap)
	require.Len(t, got, int(n))
	for i, v := range got {
		require.EqualValues(t, i, v)
	}
}

// Now returns the table as it is now.
func (w *World) Now(t testing.TB, name lake.TableName) catalog.Table {
	t.Helper()
	table, err := w.Catalog.Get(context.WithoutCancel(t.Context()), name)
	require.NoError(t, err)
	return table
}

// Drop drops a table, with an undrop window that ends at once.
func (w *World) Drop(t testing.TB, table catalog.Table) {
	t.Helper()
	_, err := w.Catalog.Drop(t.Context(), w.Fence, table, w.Engine.Retire(table.Snapshot), catalog.DropRequest{
		Requester: "test", PurgeAfter: table.UpdatedAt,
	})
	require.NoError(t, err)
}

// Intend records the intent to maintain the table and returns the argument of
// its steps.
func (w *World) Intend(t testing.TB, table catalog.Table) workflows.MaintenanceStep {
	t.Helper()
	step := workflows.MaintenanceStep{Namespace: table.Name.Namespace, Name: table.Name.Name, Incarnation: table.Snapshot.Incarnation}
	_, _, err := w.Catalog.OpenProcedure(t.Context(), catalog.Procedure{
		Kind: catalog.MaintenanceKind, ID: step.Ref().ID, Namespace: step.Namespace, Table: step.Name,
	})
	require.NoError(t, err)
	return step
}

// Procedure is the record of a procedure.
func (w *World) Procedure(t testing.TB, ref workflows.Ref) catalog.Procedure {
	t.Helper()
	p, err := w.Catalog.Procedure(context.WithoutCancel(t.Context()), string(ref.Kind), ref.ID)
	require.NoError(t, err)
	return p
}

// Operations records n append operations whose ids were made at the moment
// given. They belong to a table without objects.
func (w *World) Operations(t testing.TB, n int, at time.Time) (made []catalog.Operation) {
	t.Helper()
	inc := lake.NewID()
	name := lake.TableName{Namespace: "operations", Name: "t" + inc.String()}
	snap := lake.Snapshot{Engine: "none", Location: lake.Place(name, inc), Incarnation: inc, Version: 1, Manifest: lake.Manifest{Path: "m", Size: 1}}
	table, err := w.Catalog.Create(t.Context(), w.Fence, catalog.Table{Name: name, Snapshot: snap, Schema: []byte("schema")}, nil)
	require.NoError(t, err)
	then := catalog.New(w.Store, catalog.Options{Now: func() time.Time { return at }}) // an old id is not committed today
	for left := n; left > 0; left -= catalog.MaxGroup {
		group := make([]catalog.Operation, min(left, catalog.MaxGroup))
		for i := range group {
			id := lake.NewIDAt(at)
			group[i] = catalog.Operation{Tenant: "default", ID: id, Digest: lake.Digest(append(id[:], id[:]...)), Rows: 1}
		}
		next := table.Snapshot
		next.Version++
		table, err = then.Advance(t.Context(), w.Fence, table, next, nil, group)
		require.NoError(t, err)
		made = append(made, group...)
	}
	return made
}
