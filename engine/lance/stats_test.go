// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake/predicate"
)

func (tb *table) sidecars() (names []string) {
	for key := range keysOf(tb) {
		if strings.Contains(key, "/_lake/stats/") {
			names = append(names, key)
		}
	}
	return names
}

// TestSmallAppendsWriteNoStatistics: what an append waits for is its data file
// and its manifest, unless the file is large.
func TestSmallAppendsWriteNoStatistics(t *testing.T) {
	tb := newTable(t)
	tb.append(tb.data(0, 5), tb.data(5, 5))
	tb.append(tb.data(10, 2_000)) // in a file of its own, of less than 1 MiB
	require.Len(t, tb.dataFiles(), 2)
	require.Empty(t, tb.sidecars())
	tb.append(tb.data(2_010, 20_000))
	require.Len(t, tb.dataFiles(), 3)
	require.Len(t, tb.sidecars(), 1)

	made, err := tb.e.Compact(t.Context(), tb.snap)
	require.NoError(t, err)
	staged, err := tb.e.StageCompaction(t.Context(), tb.snap, made)
	require.NoError(t, err)
	tb.snap = staged.Snapshot
	require.Len(t, tb.sidecars(), 2, "a compaction makes up for it")
	in, out := tb.pieces(predicate.Compare{Column: 0, Op: predicate.Greater, Value: int64(30_000)})
	require.Equal(t, []int{0, 1}, []int{in, out})
}

// pieces tells how much of the current version a scan of some rows takes in.
func (tb *table) pieces(where predicate.Predicate) (in, out int) {
	tb.t.Helper()
	d, err := tb.e.Open(tb.t.Context(), tb.snap)
	require.NoError(tb.t, err)
	defer d.Close()
	part, err := engine.Prune(tb.t.Context(), d, where)
	require.NoError(tb.t, err)
	return part.Pieces()
}

func TestStatisticsCanBeTurnedOff(t *testing.T) {
	tb := newTable(t)
	var err error
	tb.e, err = lance.New(lance.Options{Store: tb.store, StatsBytes: -1})
	require.NoError(t, err)
	defer tb.e.Close()
	tb.append(tb.data(0, 30_000))
	require.Empty(t, tb.sidecars())
	in, out := tb.pieces(predicate.Compare{Column: 0, Op: predicate.Greater, Value: int64(30_000)})
	require.Equal(t, []int{1, 0}, []int{in, out})
}

// TestInspectNamesSidecars, so that an audit does not take them for left over.
func TestInspectNamesSidecars(t *testing.T) {
	tb := newTable(t)
	tb.append(tb.data(0, 30_000))
	found, err := tb.e.Inspect(t.Context(), tb.snap)
	require.NoError(t, err)
	require.Equal(t, tb.sidecars(), found.Extras)
}
