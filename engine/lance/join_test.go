// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/engine/enginetest"
	"github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
)

func (tb *table) dataFiles() (names []string) {
	for key := range keysOf(tb) {
		if strings.Contains(key, "/data/") {
			names = append(names, key)
		}
	}
	return names
}

// ids reads the first column of the current version, in order.
func (tb *table) ids() (out []int64) {
	tb.t.Helper()
	d, err := tb.e.Open(tb.t.Context(), tb.snap)
	require.NoError(tb.t, err)
	defer d.Close()
	s, err := d.Scan(tb.t.Context(), engine.ScanOptions{Ordered: true, Columns: []int{0}})
	require.NoError(tb.t, err)
	defer s.Close()
	for uint64(len(out)) < d.Rows() {
		b, err := s.Next(tb.t.Context())
		require.NoError(tb.t, err)
		out = append(out, b.Column(0).(*array.Int64).Int64Values()...)
		b.Release()
	}
	return out
}

func TestSmallAppendsOfAVersionShareAFile(t *testing.T) {
	tb := newTable(t)
	adds := []engine.Append{tb.data(0, 3), tb.data(3, 1), tb.data(4, 5)}
	require.Empty(t, tb.dataFiles(), "few rows are held")
	require.EqualValues(t, 3, adds[0].Data.Rows())
	require.Positive(t, adds[0].Data.Memory())
	tb.append(adds...)
	require.Len(t, tb.dataFiles(), 1)
	require.Equal(t, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8}, tb.ids())
}

func TestLargeAppendsHaveFilesOfTheirOwn(t *testing.T) {
	tb := newTable(t)
	big := tb.data(10, 10_000)
	require.Len(t, tb.dataFiles(), 1)
	require.Zero(t, big.Data.Memory())
	tb.append(tb.data(0, 5), tb.data(5, 5), big, tb.data(10_010, 2))
	require.Len(t, tb.dataFiles(), 3, "neighbours share a file, and the order is kept")
	ids := tb.ids()
	require.Len(t, ids, 10_012)
	for i, id := range ids {
		require.EqualValues(t, i, id)
	}
}

// TestAnotherBaseFindsTheJoinedFile: a version that lost its commit is staged
// again on the winner's, with the rows it has written already.
func TestAnotherBaseFindsTheJoinedFile(t *testing.T) {
	tb := newTable(t)
	mine := []engine.Append{tb.data(0, 3), tb.data(3, 1)}
	tb.stage(mine...)
	tb.append(tb.data(100, 1))
	files := len(tb.dataFiles())
	tb.append(mine...)
	require.Len(t, tb.dataFiles(), files, "nothing is written twice")
	require.Equal(t, []int64{100, 0, 1, 2, 3}, tb.ids())

	again := []engine.Append{tb.data(10, 1), tb.data(11, 1)}
	tb.stage(again...)
	tb.append(again[0])
	tb.append(again[1])
	require.Equal(t, []int64{100, 0, 1, 2, 3, 10, 11}, tb.ids(), "another group does not take the file of the first")
}

// TestPublishRenames: on a store that moves objects a manifest is written once.
func TestPublishRenames(t *testing.T) {
	store, err := local.Open(t.TempDir())
	require.NoError(t, err)
	defer store.Close()
	e, err := lance.New(lance.Options{Store: store})
	require.NoError(t, err)
	defer e.Close()
	inc := lake.NewID()
	loc := lake.Place(lake.TableName{Namespace: "n", Name: "t"}, inc)
	staged, err := e.Create(t.Context(), loc, inc, enginetest.Schema())
	require.NoError(t, err)
	list := func() (names []string) {
		infos, _, err := store.List(t.Context(), loc.Prefix(), "", objstore.MaxPage)
		require.NoError(t, err)
		for _, i := range infos {
			names = append(names, strings.TrimPrefix(i.Key, loc.Prefix()))
		}
		return names
	}
	require.Equal(t, []string{staged.Snapshot.Manifest.Path}, list())
	final, _, _ := strings.Cut(staged.Snapshot.Manifest.Path, "-")
	for range 2 {
		require.NoError(t, e.Publish(t.Context(), staged.Snapshot))
		require.Equal(t, []string{final}, list())
	}
	other, err := lance.New(lance.Options{Store: store})
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, other.Publish(t.Context(), staged.Snapshot), "by a process that did not stage it")
	require.Equal(t, []string{final}, list())
}
