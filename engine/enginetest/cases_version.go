// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"errors"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

func testCreate(t *testing.T, f *fixture) {
	snap := f.create(t)
	require.Equal(t, f.Engine.Name(), snap.Engine)
	require.EqualValues(t, 1, snap.Version)
	require.Equal(t, place(snap.Incarnation), snap.Location)
	require.Positive(t, snap.Manifest.Size)

	ds := f.open(t, snap)
	require.Zero(t, ds.Rows())
	require.Empty(t, drain(t, ds, engine.ScanOptions{}))
	require.True(t, ds.Schema().Equal(Schema()), "want %v\ngot %v", Schema(), ds.Schema())
	want, got := Schema().Metadata(), ds.Schema().Metadata()
	require.True(t, want.Equal(got), "schema metadata: want %v, got %v", want, got)
	require.Equal(t, "element", ds.Schema().Field(5).Type.(*arrow.FixedSizeListType).ElemField().Name)
}

func testUnsupportedColumn(t *testing.T, f *fixture) {
	require.NoError(t, f.Engine.CheckSchema(Schema()))
	bad := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "choice", Type: arrow.SparseUnionOf([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int8}}, []arrow.UnionTypeCode{0})},
	}, nil)
	inc := lake.NewID()
	_, createErr := f.Engine.Create(t.Context(), place(inc), inc, bad)
	for _, err := range []error{f.Engine.CheckSchema(bad), createErr} {
		requireKind(t, err, lake.Invalid, lake.Unsupported)
		require.ErrorContains(t, err, "choice")
	}
	requireKind(t, f.Engine.CheckSchema(arrow.NewSchema(nil, nil)), lake.Invalid, lake.Unsupported)
}

func testAppend(t *testing.T, f *fixture) {
	one := f.create(t)
	two := f.append(t, one, 0, 250)
	three := f.append(t, two, 250, 7)
	require.EqualValues(t, 3, three.Version)
	require.Equal(t, one.Incarnation, three.Incarnation)
	f.requireRows(t, three, [2]int64{0, 257})
	f.requireRows(t, two, [2]int64{0, 250})
	f.requireRows(t, one)
}

func testGroup(t *testing.T, f *fixture) {
	base := f.create(t)
	adds := make([]engine.Append, 16)
	for i := range adds {
		adds[i] = f.data(t, base.Location, int64(i)*10, 10)
	}
	staged := f.stage(t, base, adds...)
	require.LessOrEqual(t, len(staged.Ops), 4, "a group of 16 must leave room in one transaction of %d", metastore.MaxOps)
	require.NoError(t, f.ledger.commit(staged.Ops))
	require.NoError(t, f.Engine.Publish(t.Context(), staged.Snapshot))
	require.Equal(t, base.Version+1, staged.Snapshot.Version)
	f.requireRows(t, staged.Snapshot, [2]int64{0, 160})
}

func testEmptyAppend(t *testing.T, f *fixture) {
	base := f.append(t, f.create(t), 0, 3)
	next := f.append(t, base, 3, 0)
	require.Equal(t, base.Version+1, next.Version)
	f.requireRows(t, next, [2]int64{0, 3})
	f.requireRows(t, f.append(t, next, 3, 2), [2]int64{0, 5})
}

func testManyAppends(t *testing.T, f *fixture) {
	snap := f.create(t)
	for i := range int64(40) {
		snap = f.append(t, snap, i*3, 3)
	}
	require.EqualValues(t, 41, snap.Version)
	f.requireRows(t, snap, [2]int64{0, 120})
}

func testConflict(t *testing.T, f *fixture) {
	base := f.create(t)
	a := f.stage(t, base, f.data(t, base.Location, 0, 5))
	b := f.stage(t, base, f.data(t, base.Location, 100, 5))
	require.NotEqual(t, a.Snapshot, b.Snapshot, "two writers must not stage the same snapshot")
	require.NoError(t, f.ledger.commit(a.Ops))
	requireKind(t, f.ledger.commit(b.Ops), lake.Conflict)
	requireKind(t, f.ledger.commit(a.Ops), lake.Conflict)
	require.NoError(t, f.Engine.Publish(t.Context(), a.Snapshot))
	f.requireRows(t, a.Snapshot, [2]int64{0, 5})
}

func testRestage(t *testing.T, f *fixture) {
	base := f.create(t)
	lost := f.data(t, base.Location, 10, 5)
	loser := f.stage(t, base, lost)
	winner := f.append(t, base, 0, 10)
	requireKind(t, f.ledger.commit(loser.Ops), lake.Conflict)
	again := f.stage(t, winner, lost)
	require.NoError(t, f.ledger.commit(again.Ops))
	require.NoError(t, f.Engine.Publish(t.Context(), again.Snapshot))
	f.requireRows(t, again.Snapshot, [2]int64{0, 15})
}

func testConcurrentStaging(t *testing.T, f *fixture) {
	base := f.create(t)
	adds := make([]engine.Append, 8)
	var wg sync.WaitGroup
	for i := range adds {
		wg.Go(func() {
			rows := reader(t, f.mem, int64(i)*20, 20, 7)
			defer rows.Release()
			data, err := f.Engine.StageData(t.Context(), base.Location, Schema(), rows)
			if err != nil {
				t.Errorf("stage %d: %v", i, err)
			}
			adds[i] = engine.Append{Operation: operation(), Data: data}
		})
	}
	wg.Wait()
	staged := f.stage(t, base, adds...)
	require.NoError(t, f.ledger.commit(staged.Ops))
	f.requireRows(t, staged.Snapshot, [2]int64{0, 160})
}

func testPublish(t *testing.T, f *fixture) {
	base := f.create(t)
	staged := f.stage(t, base, f.data(t, base.Location, 0, 9))
	require.NoError(t, f.ledger.commit(staged.Ops))
	f.requireRows(t, staged.Snapshot, [2]int64{0, 9})
	for range 3 {
		require.NoError(t, f.Engine.Publish(t.Context(), staged.Snapshot))
		f.requireRows(t, staged.Snapshot, [2]int64{0, 9})
	}
	// A late publication of an older version changes nothing.
	next := f.append(t, staged.Snapshot, 9, 1)
	require.NoError(t, f.Engine.Publish(t.Context(), staged.Snapshot))
	f.requireRows(t, next, [2]int64{0, 10})
}

func testIncarnations(t *testing.T, f *fixture) {
	a := f.append(t, f.create(t), 0, 4)
	b := f.append(t, f.create(t), 100, 6)
	require.NotEqual(t, a.Location, b.Location)
	f.requireRows(t, a, [2]int64{0, 4})
	f.requireRows(t, b, [2]int64{100, 6})
	require.NoError(t, f.Erase(t.Context(), a.Location))
	f.requireRows(t, b, [2]int64{100, 6})
}

var errSource = errors.New("the source broke")

// brokenReader fails after its rows.
type brokenReader struct{ array.RecordReader }

func (brokenReader) Err() error { return errSource }

func testFailingSource(t *testing.T, f *fixture) {
	base := f.create(t)
	rows := reader(t, f.mem, 0, 10, 5)
	defer rows.Release()
	_, err := f.Engine.StageData(t.Context(), base.Location, Schema(), brokenReader{rows})
	require.ErrorIs(t, err, errSource)
}
