// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance_test

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"maps"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/engine/enginetest"
	"github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
)

// table is a dataset whose commits are assumed to succeed.
type table struct {
	tune  []func(*lance.Options)
	t     testing.TB
	store *memStore
	e     *lance.Engine
	snap  lake.Snapshot
}

func newTable(t testing.TB, tune ...func(*lance.Options)) *table {
	t.Helper()
	tb := &table{t: t, store: newMemStore(), tune: tune}
	tb.restart()
	inc := lake.NewID()
	loc := lake.Place(lake.TableName{Namespace: "n", Name: "t"}, inc)
	staged, err := tb.e.Create(t.Context(), loc, inc, enginetest.Schema())
	require.NoError(t, err)
	tb.snap = staged.Snapshot
	require.NoError(t, tb.publish(tb.snap))
	return tb
}

// restart loses everything the engine kept in memory.
func (tb *table) restart() {
	tb.t.Helper()
	opts := lance.Options{Store: tb.store}
	for _, f := range tb.tune {
		f(&opts)
	}
	e, err := lance.New(opts)
	require.NoError(tb.t, err)
	tb.t.Cleanup(func() { require.NoError(tb.t, e.Close()) })
	tb.e = e
}

func (tb *table) data(from, n int64) engine.Append {
	tb.t.Helper()
	batch := enginetest.Batch(memory.NewGoAllocator(), from, n)
	defer batch.Release()
	rows, err := array.NewRecordReader(batch.Schema(), []arrow.RecordBatch{batch})
	require.NoError(tb.t, err)
	defer rows.Release()
	data, err := tb.e.StageData(tb.t.Context(), tb.snap.Location, enginetest.Schema(), rows)
	require.NoError(tb.t, err)
	return engine.Append{Operation: engine.Operation{Tenant: "acme", ID: lake.NewID(), Digest: lake.Digest{byte(from), 7}}, Data: data}
}

func (tb *table) stage(adds ...engine.Append) lake.Snapshot {
	tb.t.Helper()
	staged, err := tb.e.StageAppend(tb.t.Context(), tb.snap, adds)
	require.NoError(tb.t, err)
	return staged.Snapshot
}

func (tb *table) append(adds ...engine.Append) {
	tb.t.Helper()
	tb.snap = tb.stage(adds...)
	require.NoError(tb.t, tb.publish(tb.snap))
}

// publish publishes a version and waits until what it superseded is gone.
func (tb *table) publish(snap lake.Snapshot) error {
	err := tb.e.Publish(tb.t.Context(), snap)
	lance.Settle(tb.e)
	return err
}

func (tb *table) key(name string) string { return tb.snap.Location.Prefix() + name }

func (tb *table) count(snap lake.Snapshot) (rows int64) {
	tb.t.Helper()
	d, err := tb.e.Open(tb.t.Context(), snap)
	require.NoError(tb.t, err)
	defer d.Close()
	s, err := d.Scan(tb.t.Context(), engine.ScanOptions{})
	require.NoError(tb.t, err)
	defer s.Close()
	for {
		b, err := s.Next(tb.t.Context())
		if errors.Is(err, io.EOF) {
			require.EqualValues(tb.t, d.Rows(), rows)
			return rows
		}
		require.NoError(tb.t, err)
		rows += b.NumRows()
		b.Release()
	}
}

func (tb *table) staged() (names []string) {
	for key := range tb.store.objects {
		if strings.Contains(key, ".manifest-") {
			names = append(names, key)
		}
	}
	return names
}

func folderOf(tb *table) format.Storage { return tb.e.Folder(tb.snap.Location) }

func keysOf(tb *table) iter.Seq[string] { return maps.Keys(tb.store.objects) }

func TestCrashAfterCommitBeforePublish(t *testing.T) {
	tb := newTable(t)
	tb.append(tb.data(0, 5))
	tb.snap = tb.stage(tb.data(5, 5))
	tb.restart()
	require.EqualValues(t, 10, tb.count(tb.snap))
	require.NotContains(t, tb.store.objects, tb.key(format.ManifestName(3)))
	// The next append does not wait for the repair.
	next := tb.stage(tb.data(10, 1))
	require.NoError(t, tb.publish(tb.snap))
	require.NoError(t, tb.publish(next))
	require.Empty(t, tb.staged())
	require.EqualValues(t, 11, tb.count(next))
	require.EqualValues(t, 10, tb.count(tb.snap))
}

func TestCrashAfterFinalNameBeforeTheStagedOneIsGone(t *testing.T) {
	tb := newTable(t)
	tb.snap = tb.stage(tb.data(0, 5))
	raw := tb.store.objects[tb.key(tb.snap.Manifest.Path)]
	require.NoError(t, tb.publish(tb.snap))
	tb.store.objects[tb.key(tb.snap.Manifest.Path)] = raw
	tb.restart()
	require.EqualValues(t, 5, tb.count(tb.snap))
	require.NoError(t, tb.publish(tb.snap))
	require.Empty(t, tb.staged())
	require.EqualValues(t, 5, tb.count(tb.snap))
}

func TestForeignManifestUnderTheFinalName(t *testing.T) {
	tb := newTable(t)
	tb.snap = tb.stage(tb.data(0, 5))
	foreign := []byte("what another client wrote")
	tb.store.objects[tb.key(format.ManifestName(2))] = foreign
	for range 2 {
		err := tb.publish(tb.snap)
		require.True(t, lake.Is(err, lake.Corrupt), "%v", err)
		require.ErrorContains(t, err, "another writer")
		require.EqualValues(t, 5, tb.count(tb.snap), "the committed version stays readable")
		tb.restart()
	}
	require.True(t, bytes.Equal(foreign, tb.store.objects[tb.key(format.ManifestName(2))]), "nothing of another writer's is touched")
}

func TestDamagedPinnedManifest(t *testing.T) {
	tb := newTable(t)
	tb.append(tb.data(0, 5))
	final := tb.key(format.ManifestName(2))
	good := tb.store.objects[final]
	for _, bad := range [][]byte{{}, good[:len(good)-1], append(bytes.Clone(good), 0), append([]byte{good[0] ^ 1}, good[1:]...)} {
		tb.store.objects[final] = bad
		tb.restart()
		_, err := tb.e.Open(t.Context(), tb.snap)
		require.True(t, lake.Is(err, lake.Corrupt), "%v", err)
		_, err = tb.e.StageAppend(t.Context(), tb.snap, nil)
		require.True(t, lake.Is(err, lake.Corrupt), "%v", err)
	}
}

func TestMissingDataFileIsUnavailable(t *testing.T) {
	tb := newTable(t)
	tb.append(tb.data(0, 5))
	d, err := tb.e.Open(t.Context(), tb.snap)
	require.NoError(t, err)
	defer d.Close()
	require.NoError(t, erase(t.Context(), tb.store, tb.snap.Location))
	s, err := d.Scan(t.Context(), engine.ScanOptions{})
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Next(t.Context())
	require.ErrorIs(t, err, engine.ErrUnavailable)
	require.Equal(t, lake.Precondition, lake.KindOf(err))
}

func TestSnapshotsThatCannotBeOurs(t *testing.T) {
	tb := newTable(t)
	for name, change := range map[string]func(s *lake.Snapshot){
		"another version's path": func(s *lake.Snapshot) { s.Manifest.Path = strings.Replace(s.Manifest.Path, "614.", "613.", 1) },
		"outside the folder":     func(s *lake.Snapshot) { s.Manifest.Path = "../" + s.Manifest.Path },
		"no location":            func(s *lake.Snapshot) { s.Location = "" },
		"version 0":              func(s *lake.Snapshot) { s.Version = 0 },
	} {
		bad := tb.snap
		change(&bad)
		_, err := tb.e.Open(t.Context(), bad)
		require.True(t, lake.Is(err, lake.Invalid), "%s: %v", name, err)
		require.True(t, lake.Is(tb.publish(bad), lake.Invalid), name)
	}
}

func TestAppendReadsNothing(t *testing.T) {
	tb := newTable(t)
	tb.append(tb.data(0, 5))
	before := tb.store.gets
	for i := range int64(5) {
		tb.append(tb.data(i*10, 3))
	}
	require.Equal(t, before, tb.store.gets, "an append on a version of our own reads no object")
	tb.restart()
	tb.append(tb.data(100, 1))
	require.Equal(t, before+1, tb.store.gets, "a cold engine reads the base manifest once")
}

func TestEveryVersionOpensByNumber(t *testing.T) {
	tb := newTable(t)
	var want []uint64
	want = append(want, 0)
	for i := range int64(4) {
		tb.append(tb.data(i*100, i+1), tb.data(i*100+50, 2))
		want = append(want, want[i]+uint64(i)+3)
	}
	storage := tb.e.Folder(tb.snap.Location)
	versions, err := format.Versions(t.Context(), storage)
	require.NoError(t, err)
	require.Equal(t, []uint64{1, 2, 3, 4, 5}, versions)
	for i, v := range versions {
		m, err := format.ReadManifest(t.Context(), storage, v)
		require.NoError(t, err)
		d, err := format.Open(t.Context(), storage, m, format.Options{})
		require.NoError(t, err)
		require.Equal(t, want[i], d.Rows())
		require.NoError(t, d.Close())
	}
}

func TestTransactionTellsTheOperations(t *testing.T) {
	tb := newTable(t)
	for _, n := range []int{0, 1, 2, 16} {
		adds := make([]engine.Append, n)
		want := make([]engine.Operation, n)
		for i := range adds {
			adds[i] = tb.data(int64(i), 1)
			want[i] = adds[i].Operation
		}
		tb.append(adds...)
		m, err := format.ReadManifest(t.Context(), tb.e.Folder(tb.snap.Location), uint64(tb.snap.Version))
		require.NoError(t, err)
		properties := m.Transaction().GetTransactionProperties()
		got, err := lance.DecodeOperations(properties)
		require.NoError(t, err)
		require.Equal(t, want, append([]engine.Operation{}, got...))
		if n == 1 {
			require.Equal(t, "acme", properties["lake.append.tenant"])
			require.Equal(t, want[0].ID.String(), properties["lake.append.operation_id"])
			require.Equal(t, want[0].Digest.String(), properties["lake.append.payload_sha256"])
		}
	}
}

func TestDecodeForeignOperations(t *testing.T) {
	for _, p := range []map[string]string{
		{"lake.append.count": "x"},
		{"lake.append.count": "-1"},
		{"lake.append.count": "1000000000"},
		{"lake.append.count": "1"},
		{"lake.append.operation_id": "1"},
		{"lake.append.operation_id": lake.NewID().String(), "lake.append.payload_sha256": "zz"},
	} {
		_, err := lance.DecodeOperations(p)
		require.True(t, lake.Is(err, lake.Corrupt), "%v: %v", p, err)
	}
	got, err := lance.DecodeOperations(map[string]string{"other": "1"})
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestOptions(t *testing.T) {
	for _, o := range []lance.Options{{}, {Store: newMemStore(), OpenFiles: -1}, {Store: newMemStore(), ManifestBytes: -1}} {
		_, err := lance.New(o)
		require.True(t, lake.Is(err, lake.Invalid))
	}
}

func TestManifestCacheKeepsToItsBound(t *testing.T) {
	tb := newTable(t)
	e, err := lance.New(lance.Options{Store: tb.store, ManifestBytes: 1})
	require.NoError(t, err)
	defer e.Close()
	tb.e = e
	for i := range int64(3) {
		tb.append(tb.data(i, 1))
	}
	require.EqualValues(t, 3, tb.count(tb.snap))
	require.Empty(t, tb.staged())
}
