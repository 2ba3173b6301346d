// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// idsIn looks for rows by their ids.
func idsIn(looks *atomic.Int64, wanted func(id int64) bool) *Glance {
	return &Glance{Columns: []int{0}, Wanted: func(b arrow.RecordBatch) bool {
		looks.Add(1)
		return slices.ContainsFunc(b.Column(0).(*array.Int64).Int64Values(), wanted)
	}}
}

// Whatever is deleted, and however batches are cut, a scan that looks delivers
// every wanted row, in order, and nothing that another would not.
func TestGlanceLosesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t)
		counts := rapid.SliceOfN(rapid.Int64Range(1, 40), 1, 3).Draw(rt, "fragments")
		f.append(counts...)
		for i, n := range counts {
			if gone := rapid.SliceOfDistinct(rapid.Uint32Range(0, uint32(n-1)), rapid.ID[uint32]).Draw(rt, "deleted"); len(gone) > 0 {
				f.delete(i, gone...)
			}
		}
		files := NewFileCache(0, f.mem)
		defer files.Close()
		d, err := Open(t.Context(), f.st, f.m, Options{Files: files})
		require.NoError(rt, err)
		low := rapid.Int64Range(0, 80).Draw(rt, "low")
		high := low + rapid.Int64Range(0, 30).Draw(rt, "rows")
		options := ScanOptions{
			Ordered: true, BatchRows: rapid.IntRange(1, 20).Draw(rt, "batch"),
			BatchBytes: rapid.SampledFrom([]int{0, 1, 200, 1000}).Draw(rt, "bytes"),
			// Each choice tells rows apart: names and poses alone are null in every fifth.
			Columns: rapid.SampledFrom([][]int{nil, {1, 2}, {3, 0}, {2}}).Draw(rt, "columns"),
		}
		all := collect(t, d, options)
		only := options
		only.BatchRows = 1000
		only.Columns = []int{0}
		ids := collect(t, d, only)
		var looks atomic.Int64
		options.Glance = idsIn(&looks, func(id int64) bool { return id >= low && id < high })
		got := collect(t, d, options)
		at := 0 // got is a part of all, in order
		for i, line := range all {
			id := int64(0)
			_, err := fmt.Sscanf(ids[i], `{"id":%d}`, &id)
			require.NoError(rt, err)
			if at < len(got) && got[at] == line {
				at++
			} else {
				require.False(rt, id >= low && id < high, "row %d is missing", id)
			}
		}
		require.Len(rt, got, at)
		require.Equal(rt, len(all) > 0, looks.Load() > 0)
	})
}

// Rows of which none is wanted are not read: their file could not even be.
func TestGlanceSavesReading(t *testing.T) {
	f := newFixture(t)
	f.append(100, 100)
	d := f.open()
	var looks atomic.Int64
	got := collect(t, d, ScanOptions{BatchRows: 10, Glance: idsIn(&looks, func(id int64) bool { return id == 157 })})
	require.Equal(t, want(t, 150, 151, 152, 153, 154, 155, 156, 157, 158, 159), got)
	require.EqualValues(t, 20, looks.Load())
	require.Empty(t, collect(t, d, ScanOptions{Glance: idsIn(&looks, func(int64) bool { return false })}))
}

// A scan that finds wanted rows everywhere stops looking.
func TestGlanceGivesUp(t *testing.T) {
	f := newFixture(t)
	f.append(400)
	d := f.open()
	var looks atomic.Int64
	got := collect(t, d, ScanOptions{BatchRows: 10, Glance: idsIn(&looks, func(int64) bool { return true })})
	require.Len(t, got, 400)
	require.EqualValues(t, glancePatience, looks.Load())
}

func TestGlanceRefusesWrongColumns(t *testing.T) {
	f := newFixture(t)
	f.append(1)
	_, err := f.open().Scan(t.Context(), ScanOptions{Glance: &Glance{Columns: []int{4}}})
	require.ErrorContains(t, err, "column 4 is repeated or not in 0..3")
}
