// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package divide

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		name  string
		rows  []uint64
		most  int
		least uint64
		want  []Range
	}{
		{"no pieces", nil, 4, 10, []Range{{0, 0}}},
		{"one piece", []uint64{1000}, 4, 10, []Range{{0, 1}}},
		{"few rows", []uint64{5, 5, 5}, 4, 10, []Range{{0, 3}}},
		{"enough for two", []uint64{10, 10}, 4, 10, []Range{{0, 1}, {1, 2}}},
		{"evenly", []uint64{10, 10, 10, 10, 10, 10, 10, 10}, 4, 1, []Range{{0, 2}, {2, 4}, {4, 6}, {6, 8}}},
		{"what is wanted lies together", []uint64{0, 0, 0, 10, 10, 0, 0}, 2, 1, []Range{{0, 4}, {4, 7}}},
		{"one large piece", []uint64{1, 1, 1000, 1}, 4, 1, []Range{{0, 2}, {2, 3}, {3, 4}}},
		{"one range asked for", []uint64{10, 10}, 1, 1, []Range{{0, 2}}},
		{"none asked for", []uint64{10, 10}, 0, 0, []Range{{0, 2}}},
		{"nothing wanted", []uint64{0, 0}, 4, 1, []Range{{0, 2}}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, Cut(c.rows, c.most, c.least)) })
	}
}

// TestRangesTakeInEveryPieceOnce over any table.
func TestRangesTakeInEveryPieceOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOf(rapid.Uint64Range(0, 1<<32)).Draw(t, "rows")
		most := rapid.IntRange(-1, 40).Draw(t, "most")
		got := Cut(rows, most, rapid.Uint64Range(0, 1<<33).Draw(t, "least"))
		if len(got) > max(most, 1) {
			t.Fatalf("%d ranges, at most %d were wanted", len(got), most)
		}
		next := 0
		for _, r := range got {
			if r.From != next || r.To < r.From || len(got) > 1 && sum(rows[r.From:r.To]) == 0 {
				t.Fatalf("range %v after %d of %v", r, next, got)
			}
			next = r.To
		}
		if next != len(rows) {
			t.Fatalf("%v of %d pieces", got, len(rows))
		}
	})
}
