// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
)

func TestCompactWhileAppendsGoOn(t *testing.T) {
	tb := newTable(t)
	none, err := tb.e.Compact(t.Context(), tb.snap)
	require.NoError(t, err)
	require.Nil(t, none, "nothing to compact")
	for i := range int64(6) {
		tb.append(tb.data(i*10, 10))
	}
	compacted := tb.snap
	c, err := tb.e.Compact(t.Context(), compacted)
	require.NoError(t, err)
	before, after := c.Parts()
	require.Equal(t, []int{6, 1}, []int{before, after})

	// An append was committed before the compaction got there.
	tb.append(tb.data(60, 5))
	staged, err := tb.e.StageCompaction(t.Context(), tb.snap, c)
	require.NoError(t, err)
	require.Len(t, staged.Ops, 2)
	tb.snap = staged.Snapshot
	require.NoError(t, tb.publish(tb.snap))
	require.EqualValues(t, 65, tb.count(tb.snap))
	require.EqualValues(t, 60, tb.count(compacted), "older versions stay")
	m, err := format.ReadManifest(t.Context(), folderOf(tb), uint64(tb.snap.Version))
	require.NoError(t, err)
	require.Len(t, m.Fragments(), 2)

	_, err = tb.e.StageCompaction(t.Context(), tb.snap, c)
	require.True(t, lake.Is(err, lake.Conflict), "the same compaction twice: %v", err)
	other := newTable(t)
	_, err = tb.e.StageCompaction(t.Context(), other.snap, c)
	require.True(t, lake.Is(err, lake.Invalid), "another table: %v", err)
}

func TestSweepLeavesWhatIsKept(t *testing.T) {
	tb := newTable(t)
	one := tb.snap
	tb.append(tb.data(0, 10))
	two := tb.snap
	tb.append(tb.data(10, 10))
	c, err := tb.e.Compact(t.Context(), tb.snap)
	require.NoError(t, err)
	staged, err := tb.e.StageCompaction(t.Context(), tb.snap, c)
	require.NoError(t, err)
	tb.snap = staged.Snapshot // committed, and not yet published
	lost := tb.stage(tb.data(20, 1))
	neighbour := tb.key("")[:len(tb.key(""))-1] + "2/data/x.lance"
	tb.store.objects[neighbour] = []byte("x")

	sweep := func(keep []lake.Snapshot, before time.Time) (keys []string) {
		for key, err := range tb.e.Sweep(t.Context(), tb.snap.Location, keep, before) {
			require.NoError(t, err)
			keys = append(keys, key)
		}
		return keys
	}
	require.Empty(t, sweep([]lake.Snapshot{tb.snap, two}, time.Time{}), "nothing is old enough")
	gone := sweep([]lake.Snapshot{tb.snap, two}, time.Now())
	require.Contains(t, gone, tb.key(lost.Manifest.Path))
	require.Contains(t, gone, tb.key(format.ManifestName(1)))
	require.NotContains(t, gone, neighbour)
	for _, key := range gone {
		require.NoError(t, tb.store.Delete(t.Context(), key))
	}
	tb.restart()
	require.EqualValues(t, 20, tb.count(tb.snap))
	require.EqualValues(t, 10, tb.count(two))
	require.NoError(t, tb.publish(tb.snap))
	data := slices.DeleteFunc(slices.Collect(keysOf(tb)), func(k string) bool { return k[len(k)-6:] != ".lance" })
	require.Len(t, data, 3, "one of version 2, the compacted one, the neighbour's")

	tb.restart()
	for _, err := range tb.e.Sweep(t.Context(), tb.snap.Location, []lake.Snapshot{tb.snap, one}, time.Now()) {
		require.Error(t, err, "a kept version that cannot be read stops the sweep")
	}
}
