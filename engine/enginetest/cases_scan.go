// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
)

// threeParts opens a dataset of 250 rows from three appends.
func threeParts(t *testing.T, f *fixture) engine.Dataset {
	t.Helper()
	snap := f.append(t, f.create(t), 0, 120)
	snap = f.append(t, snap, 120, 1)
	return f.open(t, f.append(t, snap, 121, 129))
}

func testProjection(t *testing.T, f *fixture) {
	ds := threeParts(t, f)
	scan, err := ds.Scan(t.Context(), engine.ScanOptions{Columns: []int{7, 0, 2}, Ordered: true})
	require.NoError(t, err)
	defer mustClose(t, scan)
	var got []string
	for batch := range batches(t, scan) {
		require.EqualValues(t, 3, batch.NumCols())
		for i, name := range []string{"pose", "id", "note"} {
			require.Equal(t, name, batch.Schema().Field(i).Name)
		}
		got = append(got, rowTexts(t, batch)...)
	}
	require.Equal(t, only(t, wantRows(t, [2]int64{0, 250}), "pose", "id", "note"), only(t, got, "pose", "id", "note"))
}

// only keeps some keys of rows in JSON.
func only(t *testing.T, rows []string, keys ...string) []string {
	t.Helper()
	out := make([]string, len(rows))
	for i, r := range rows {
		var row map[string]any
		require.NoError(t, json.Unmarshal([]byte(r), &row))
		for k := range row {
			if !slices.Contains(keys, k) {
				delete(row, k)
			}
		}
		text, err := json.Marshal(row)
		require.NoError(t, err)
		out[i] = string(text)
	}
	return out
}

func testNoColumns(t *testing.T, f *fixture) {
	ds := threeParts(t, f)
	scan, err := ds.Scan(t.Context(), engine.ScanOptions{Columns: []int{}, BatchRows: 128})
	require.NoError(t, err)
	defer mustClose(t, scan)
	var rows int64
	for batch := range batches(t, scan) {
		require.Zero(t, batch.NumCols())
		require.LessOrEqual(t, batch.NumRows(), int64(128))
		rows += batch.NumRows()
	}
	require.EqualValues(t, 250, rows)
}

func testScanOptions(t *testing.T, f *fixture) {
	ds := f.open(t, f.create(t))
	for name, opts := range map[string]engine.ScanOptions{
		"column out of range": {Columns: []int{8}},
		"negative column":     {Columns: []int{-1}},
		"repeated column":     {Columns: []int{0, 0}},
		"negative rows":       {BatchRows: -1},
		"negative bytes":      {BatchBytes: -1},
		"negative parallel":   {Parallel: -1},
	} {
		_, err := ds.Scan(t.Context(), opts)
		require.True(t, lake.Is(err, lake.Invalid), "%s: %v", name, err)
	}
}

func testBatchBounds(t *testing.T, f *fixture) {
	ds := threeParts(t, f)
	want := wantRows(t, [2]int64{0, 250})
	for _, opts := range []engine.ScanOptions{
		{BatchRows: 1}, {BatchRows: 33}, {BatchRows: 1000}, {BatchBytes: 1}, {BatchBytes: 4096},
	} {
		opts.Ordered = true
		scan, err := ds.Scan(t.Context(), opts)
		require.NoError(t, err)
		most := int64(opts.BatchRows)
		if most == 0 {
			most = engine.DefaultBatchRows
		}
		if opts.BatchBytes == 4096 {
			most = 200 // some rows have more than twenty bytes of values
		}
		var got []string
		for batch := range batches(t, scan) {
			require.Positive(t, batch.NumRows())
			require.LessOrEqual(t, batch.NumRows(), most, "%+v", opts)
			got = append(got, rowTexts(t, batch)...)
		}
		require.NoError(t, scan.Close())
		require.Equal(t, want, got, "%+v", opts)
	}
}

func testOrdered(t *testing.T, f *fixture) {
	ds := threeParts(t, f)
	want := wantRows(t, [2]int64{0, 250})
	for _, parallel := range []int{0, 1, 4} {
		require.Equal(t, want, drain(t, ds, engine.ScanOptions{Ordered: true, Parallel: parallel, BatchRows: 50}))
		any := drain(t, ds, engine.ScanOptions{Parallel: parallel, BatchRows: 50})
		require.ElementsMatch(t, want, any)
	}
}

// drainMany empties a scan with n goroutines and returns all rows.
func drainMany(t *testing.T, scan engine.Scan, n int) []string {
	var mu sync.Mutex
	var out []string
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for batch := range batches(t, scan) {
				rows := rowTexts(t, batch)
				mu.Lock()
				out = append(out, rows...)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return out
}

func testParallelScan(t *testing.T, f *fixture) {
	ds := threeParts(t, f)
	want := wantRows(t, [2]int64{0, 250})
	for _, opts := range []engine.ScanOptions{{BatchRows: 13}, {BatchRows: 13, Parallel: 2}, {BatchRows: 13, Ordered: true}} {
		scan, err := ds.Scan(t.Context(), opts)
		require.NoError(t, err)
		require.ElementsMatch(t, want, drainMany(t, scan, 8))
		require.NoError(t, scan.Close())
	}
}

func testConcurrentScans(t *testing.T, f *fixture) {
	ds := threeParts(t, f)
	want := wantRows(t, [2]int64{0, 250})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			got := drain(t, ds, engine.ScanOptions{Ordered: true, BatchRows: 10 + i})
			if !slices.Equal(want, got) {
				t.Errorf("scan %d: wrong rows", i)
			}
		})
	}
	wg.Wait()
}

func testBatchesOutlive(t *testing.T, f *fixture) {
	snap := f.append(t, f.append(t, f.create(t), 0, 120), 120, 130)
	ds, err := f.Engine.Open(t.Context(), snap)
	require.NoError(t, err)
	scan, err := ds.Scan(t.Context(), engine.ScanOptions{Ordered: true, BatchRows: 64})
	require.NoError(t, err)
	first, err := scan.Next(t.Context())
	require.NoError(t, err)
	// A scan still open keeps what it needs when its dataset closes …
	require.NoError(t, ds.Close())
	var kept []arrow.RecordBatch
	kept = append(kept, first)
	for batch := range batches(t, scan) {
		batch.Retain()
		kept = append(kept, batch)
	}
	// … and a batch when its scan does and the objects are deleted.
	require.NoError(t, scan.Close())
	require.NoError(t, f.Erase(t.Context(), snap.Location))
	var got []string
	for _, batch := range kept {
		got = append(got, rowTexts(t, batch)...)
		batch.Release()
	}
	require.Equal(t, wantRows(t, [2]int64{0, 250}), got)
}

func testClosedScan(t *testing.T, f *fixture) {
	ds := threeParts(t, f)
	for _, parallel := range []int{0, 2} {
		scan, err := ds.Scan(t.Context(), engine.ScanOptions{BatchRows: 10, Parallel: parallel})
		require.NoError(t, err)
		batch, err := scan.Next(t.Context())
		require.NoError(t, err)
		batch.Release()
		require.NoError(t, scan.Close())
		require.NoError(t, scan.Close())
		_, err = scan.Next(t.Context())
		require.ErrorIs(t, err, engine.ErrScanClosed)
	}
}

func testCancelledScan(t *testing.T, f *fixture) {
	ds := threeParts(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	scan, err := ds.Scan(ctx, engine.ScanOptions{BatchRows: 10})
	require.NoError(t, err)
	defer mustClose(t, scan)
	batch, err := scan.Next(t.Context())
	require.NoError(t, err)
	batch.Release()
	cancel()
	_, err = scan.Next(t.Context())
	require.ErrorIs(t, err, context.Canceled)

	_, err = ds.Scan(ctx, engine.ScanOptions{})
	require.ErrorIs(t, err, context.Canceled)

	other, err := ds.Scan(t.Context(), engine.ScanOptions{})
	require.NoError(t, err)
	defer mustClose(t, other)
	_, err = other.Next(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func testNoLeak(t *testing.T, f *fixture) {
	checked := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer checked.AssertSize(t, 0)
	f.mem = checked
	snap := f.append(t, f.create(t), 0, 200)
	f.requireRows(t, snap, [2]int64{0, 200})
}

// batches yields the batches of a scan and releases each after its turn.
func batches(t *testing.T, scan engine.Scan) func(yield func(arrow.RecordBatch) bool) {
	return func(yield func(arrow.RecordBatch) bool) {
		for {
			batch, err := scan.Next(t.Context())
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Errorf("next: %v", err)
				return
			}
			more := yield(batch)
			batch.Release()
			if !more {
				return
			}
		}
	}
}
