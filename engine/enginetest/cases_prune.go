// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lake/predicate"
)

// testPrune: whatever an engine leaves out, no row that is wanted is in it, and
// what a part delivers is what it says.
func testPrune(t *testing.T, f *fixture) {
	ds := threeParts(t, f)
	id := func(op predicate.Op, v int64) predicate.Predicate {
		return predicate.Compare{Column: 0, Op: op, Value: v}
	}
	cases := []struct {
		name     string
		where    predicate.Predicate
		from, to int64 // ids of the rows that are wanted
	}{
		{"no condition", nil, 0, 250},
		{"one row", id(predicate.Equal, 120), 120, 121},
		{"no row", id(predicate.Equal, 250), 0, 0},
		{"a range", predicate.And{id(predicate.GreaterOrEqual, 118), id(predicate.Less, 123)}, 118, 123},
		{"some of them", predicate.In{Column: 0, Values: []any{int64(7), int64(8)}}, 7, 9},
		{"one side or the other", predicate.Or{id(predicate.Less, 2), id(predicate.Less, 1)}, 0, 2},
		{"null where none is", predicate.Null{Column: 0}, 0, 0},
		{"not null", predicate.NotNull{Column: 4}, 0, 250},
		{"a column without order", predicate.Null{Column: 6}, 0, 0},
		{"a time", predicate.Compare{Column: 4, Op: predicate.Less, Value: int64(1_700_000_000_000_003)}, 0, 3},
		{"a constant of another type", predicate.Compare{Column: 0, Op: predicate.Equal, Value: "7"}, 0, 250},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			part, err := engine.Prune(t.Context(), ds, c.where)
			require.NoError(t, err)
			require.True(t, part.Schema().Equal(ds.Schema()))
			scan, err := part.Scan(t.Context(), engine.ScanOptions{Columns: []int{0}, Ordered: true, BatchRows: 50})
			require.NoError(t, err)
			defer mustClose(t, scan)
			var got []int64
			for batch := range batches(t, scan) {
				got = append(got, batch.Column(0).(*array.Int64).Int64Values()...)
			}
			require.EqualValues(t, part.Rows(), len(got))
			require.True(t, slices.IsSorted(got))
			for want := c.from; want < c.to; want++ {
				require.Contains(t, got, want)
			}
			in, out := part.Pieces()
			require.True(t, in > 0 || len(got) == 0)
			require.True(t, out > 0 || len(got) == 250, "%d rows of 250, nothing left out", len(got))
		})
	}
	if _, ok := ds.(engine.Pruner); ok {
		_, err := engine.Prune(t.Context(), ds, predicate.Null{Column: 8})
		require.Equal(t, lake.Invalid, lake.KindOf(err), "%v", err)
	}
}
