// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFragmentationIsWhatACompactionDoes(t *testing.T) {
	tb := newTable(t)
	before, after, err := tb.e.Fragmentation(t.Context(), tb.snap)
	require.NoError(t, err)
	require.Equal(t, []int{0, 0}, []int{before, after}, "an empty table")
	for i := range int64(5) {
		tb.append(tb.data(i*10, 10))
	}
	before, after, err = tb.e.Fragmentation(t.Context(), tb.snap)
	require.NoError(t, err)
	none, err := tb.e.CompactSome(t.Context(), tb.snap, 0)
	require.NoError(t, err)
	require.Nil(t, none)
	c, err := tb.e.CompactSome(t.Context(), tb.snap, 1)
	require.NoError(t, err)
	read, written := c.Parts()
	require.Equal(t, []int{5, 1}, []int{read, written})
	require.Equal(t, []int{read, written}, []int{before, after})
	staged, err := tb.e.StageCompaction(t.Context(), tb.snap, c)
	require.NoError(t, err)
	tb.snap = staged.Snapshot
	require.NoError(t, tb.publish(tb.snap))
	require.EqualValues(t, 50, tb.count(tb.snap))
	before, _, err = tb.e.Fragmentation(t.Context(), tb.snap)
	require.NoError(t, err)
	require.Zero(t, before, "nothing is left to join")
}
