// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lake/predicate"
)

// testSlices: however a version is cut, each of its rows is in one slice, also
// when the snapshot is opened again and the slices are pruned.
func testSlices(t *testing.T, f *fixture) {
	ds := threeParts(t, f)
	d, ok := ds.(engine.Divider)
	if !ok {
		t.Skip("the engine's datasets are not divided")
	}
	rows, err := d.PieceRows(t.Context(), nil)
	require.NoError(t, err)
	total := uint64(0)
	for _, n := range rows {
		total += n
	}
	require.EqualValues(t, 250, total)
	for cut := range len(rows) + 1 {
		var ids []int64
		for _, r := range [][2]int{{0, cut}, {cut, cut}, {cut, len(rows)}} {
			slice, err := d.Slice(r[0], r[1])
			require.NoError(t, err)
			got := idsOf(t, slice)
			require.EqualValues(t, slice.Rows(), len(got))
			ids = append(ids, got...)
			require.NoError(t, slice.Close())
		}
		require.Len(t, ids, 250)
		for i, id := range ids {
			require.EqualValues(t, i, id)
		}
	}
	one := predicate.Compare{Column: 0, Op: predicate.Equal, Value: int64(120)}
	some, err := d.PieceRows(t.Context(), one)
	require.NoError(t, err)
	require.Len(t, some, len(rows))
	holders := 0
	for i := range rows {
		slice, err := d.Slice(i, i+1)
		require.NoError(t, err)
		part, err := engine.Prune(t.Context(), slice, one)
		require.NoError(t, err)
		for _, id := range idsOf(t, part) {
			if id == 120 {
				holders++
				require.NotZero(t, some[i])
			}
		}
	}
	require.Equal(t, 1, holders)
	for _, r := range [][2]int{{-1, 0}, {1, 0}, {0, len(rows) + 1}} {
		_, err := d.Slice(r[0], r[1])
		require.Equal(t, lake.Invalid, lake.KindOf(err), "%v: %v", r, err)
	}
}

// idsOf reads the first column of a part.
func idsOf(t *testing.T, p interface {
	Scan(ctx context.Context, opts engine.ScanOptions) (engine.Scan, error)
},
) (ids []int64) {
	t.Helper()
	scan, err := p.Scan(t.Context(), engine.ScanOptions{Columns: []int{0}, Ordered: true})
	require.NoError(t, err)
	defer mustClose(t, scan)
	for batch := range batches(t, scan) {
		ids = append(ids, batch.Column(0).(*array.Int64).Int64Values()...)
	}
	return ids
}
