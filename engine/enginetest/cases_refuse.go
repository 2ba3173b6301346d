// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
)

func testSchemaMismatch(t *testing.T, f *fixture) {
	base := f.create(t)
	fields := Schema().Fields()
	renamed := append([]arrow.Field(nil), fields...)
	renamed[2].Name = "remark"
	retyped := append([]arrow.Field(nil), fields...)
	retyped[1].Type = arrow.PrimitiveTypes.Float32
	for name, c := range map[string]struct {
		fields []arrow.Field
		want   string
	}{
		"renamed": {renamed, "note"},
		"retyped": {retyped, "torque"},
		"missing": {fields[:7], "pose"},
		"extra":   {append(fields[:8:8], arrow.Field{Name: "more", Type: arrow.PrimitiveTypes.Int8}), "more"},
	} {
		t.Run(name, func(t *testing.T) {
			rows := readerOf(t, arrow.NewSchema(c.fields, nil))
			defer rows.Release()
			_, err := f.Engine.StageData(t.Context(), base.Location, Schema(), rows)
			requireKind(t, err, lake.Invalid)
			require.ErrorContains(t, err, c.want)
		})
	}
	t.Run("metadata may differ", func(t *testing.T) {
		bare := arrow.NewSchema(fields, nil)
		batch := Batch(f.mem, 0, 2)
		defer batch.Release()
		rows := readerOf(t, bare, array.NewRecordBatch(bare, batch.Columns(), 2))
		defer rows.Release()
		_, err := f.Engine.StageData(t.Context(), base.Location, Schema(), rows)
		require.NoError(t, err)
	})
}

func testRequiredColumn(t *testing.T, f *fixture) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "must", Type: arrow.PrimitiveTypes.Int64}}, nil)
	inc := lake.NewID()
	_, err := f.Engine.Create(t.Context(), place(inc), inc, schema)
	require.NoError(t, err)
	b := array.NewRecordBuilder(f.mem, schema)
	defer b.Release()
	b.Field(0).AppendNull()
	rows := readerOf(t, schema, b.NewRecordBatch())
	defer rows.Release()
	_, err = f.Engine.StageData(t.Context(), place(inc), schema, rows)
	requireKind(t, err, lake.Invalid)
	require.ErrorContains(t, err, "column must holds 1 nulls")
}

// alienData is what no engine made.
type alienData struct{}

func (alienData) Rows() uint64  { return 1 }
func (alienData) Bytes() uint64 { return 1 }

// Memory is nothing.
func (alienData) Memory() uint64 { return 0 }

func testForeignData(t *testing.T, f *fixture) {
	a, b := f.create(t), f.create(t)
	_, err := f.Engine.StageAppend(t.Context(), a, []engine.Append{f.data(t, b.Location, 0, 1)})
	requireKind(t, err, lake.Invalid)
	_, err = f.Engine.StageAppend(t.Context(), a, []engine.Append{{Operation: operation(), Data: alienData{}}})
	requireKind(t, err, lake.Invalid)
}

func testWrongDigest(t *testing.T, f *fixture) {
	snap := f.append(t, f.create(t), 0, 3)
	other := snap
	other.Manifest.SHA256[0] ^= 1
	longer := snap
	longer.Manifest.Size++
	for _, bad := range []lake.Snapshot{other, longer} {
		_, err := f.Engine.Open(t.Context(), bad)
		requireKind(t, err, lake.Corrupt, lake.Precondition)
		requireKind(t, f.Engine.Publish(t.Context(), bad), lake.Corrupt, lake.Precondition)
	}
}

func testWrongEngine(t *testing.T, f *fixture) {
	snap := f.create(t)
	snap.Engine = "parquet"
	_, err := f.Engine.Open(t.Context(), snap)
	requireKind(t, err, lake.Invalid)
	_, err = f.Engine.StageAppend(t.Context(), snap, nil)
	requireKind(t, err, lake.Invalid)
}

func testErased(t *testing.T, f *fixture) {
	snap := f.append(t, f.create(t), 0, 3)
	require.NoError(t, f.Erase(context.WithoutCancel(t.Context()), snap.Location))
	_, err := f.Engine.Open(t.Context(), snap)
	require.ErrorIs(t, err, engine.ErrUnavailable)
	requireKind(t, f.Engine.Publish(t.Context(), snap), lake.Precondition)
}

func testRetire(t *testing.T, f *fixture) {
	snap := f.append(t, f.create(t), 0, 5)
	late := f.stage(t, snap, f.data(t, snap.Location, 5, 5))
	require.NoError(t, f.ledger.commit(f.Engine.Retire(snap)))
	requireKind(t, f.ledger.commit(late.Ops), lake.Conflict)
	requireKind(t, f.ledger.commit(f.Engine.Retire(snap)), lake.Conflict)
	f.requireRows(t, snap, [2]int64{0, 5})
	require.NoError(t, f.ledger.commit(f.Engine.Restore(snap)))
	require.NoError(t, f.ledger.commit(late.Ops))
	f.requireRows(t, late.Snapshot, [2]int64{0, 10})
	requireKind(t, f.ledger.commit(f.Engine.Retire(snap)), lake.Conflict)
}

func testForget(t *testing.T, f *fixture) {
	snap := f.create(t)
	requireKind(t, f.ledger.commit(f.Engine.Forget(snap)), lake.Conflict)
	require.NoError(t, f.ledger.commit(f.Engine.Retire(snap)))
	require.NoError(t, f.ledger.commit(f.Engine.Forget(snap)))
	requireKind(t, f.ledger.commit(f.Engine.Forget(snap)), lake.Conflict)
	require.Equal(t, f.ledger.count(f.Engine.HistoryPrefix(snap.Location)), f.ledger.count(""), "only history rows may be left")
	requireKind(t, f.ledger.commit(f.stage(t, snap, f.data(t, snap.Location, 0, 1)).Ops), lake.Conflict)
}

func testHistory(t *testing.T, f *fixture) {
	snap := f.create(t)
	prefix := f.Engine.HistoryPrefix(snap.Location)
	require.Equal(t, byte('/'), prefix[len(prefix)-1])
	require.Equal(t, 1, f.ledger.count(prefix))
	other := f.append(t, f.create(t), 0, 1)
	f.append(t, f.append(t, snap, 0, 2), 2, 2)
	require.Equal(t, 3, f.ledger.count(prefix))
	require.Equal(t, 2, f.ledger.count(f.Engine.HistoryPrefix(other.Location)))
}

func testDeterministicOps(t *testing.T, f *fixture) {
	snap := f.create(t)
	require.Equal(t, f.Engine.Retire(snap), f.Engine.Retire(snap))
	require.Equal(t, f.Engine.Restore(snap), f.Engine.Restore(snap))
	require.Equal(t, f.Engine.Forget(snap), f.Engine.Forget(snap))
}
