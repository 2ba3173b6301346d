// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	format "github.com/lakeplane/lake/lance/file"
	"github.com/lakeplane/lake/lance/file/filetest"
	"github.com/lakeplane/lake/lance/schema"
	"github.com/lakeplane/lake/test/tpch"
)

// sizeLimit is what a compact file of Lake may be larger than that of stock
// LanceDB, in 100ths.
const sizeLimit = 110

// TestCompactFilesAreNotLarger compares the bytes of data files of both.
func TestCompactFilesAreNotLarger(t *testing.T) {
	stock := startStock(t)
	rows := 60_000
	if testing.Short() {
		rows = 20_000
	}
	for name, batches := range map[string][]arrow.RecordBatch{"telemetry": filetest.Telemetry(rows), "lineitem": lineItems(t, rows)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := batches[0].Schema()
			theirs := stockBytes(t, stock, dir, s, batches)
			compact := ownBytes(t, dir, s, format.WriterOptions{Compact: true}, batches)
			plain := ownBytes(t, dir, s, format.WriterOptions{}, batches)
			t.Logf("%d rows: plain %d, compact %d, stock %d bytes", rows, plain, compact, theirs)
			if compact*100 > theirs*sizeLimit {
				t.Errorf("compact %d bytes, stock %d: more than %d%%", compact, theirs, sizeLimit)
			}
		})
	}
}

// BenchmarkSizes reports megabytes and milliseconds of processor time of writing
// the same table plain and compact with Lake and with stock LanceDB, whose times
// include the rows' way out of JavaScript. LAKE_BENCH_PARQUET names a folder of
// Parquet files to measure too.
func BenchmarkSizes(b *testing.B) {
	stock, err := Start()
	if err != nil {
		b.Skipf("skipped: %v", err)
	}
	defer stock.Close()
	rows := 1_000_000
	if testing.Short() {
		rows = 100_000
	}
	b.Run("telemetry", func(b *testing.B) { benchSize(b, stock, filetest.Telemetry(rows)) })
	b.Run("lineitem", func(b *testing.B) { benchSize(b, stock, lineItems(b, rows)) })
	paths, err := filepath.Glob(filepath.Join(os.Getenv("LAKE_BENCH_PARQUET"), "*.parquet"))
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range paths {
		b.Run(strings.TrimSuffix(filepath.Base(path), ".parquet"), func(b *testing.B) { benchSize(b, stock, parquetRows(b, path)) })
	}
}

func benchSize(b *testing.B, stock *Stock, batches []arrow.RecordBatch) {
	dir := b.TempDir()
	s := batches[0].Schema()
	var sizes [3]int64
	var times [3]float64
	in := filepath.Join(dir, "in.arrow")
	writeIPC(b, in, s, batches...)
	for b.Loop() {
		for i, o := range []format.WriterOptions{{}, {Compact: true}} {
			start := cpuMillis()
			sizes[i] = ownBytes(b, dir, s, o, batches)
			times[i] += cpuMillis() - start
		}
		a, err := stock.Do(Command{Op: "benchwrite", Dir: dir, IPC: in, Version: "2.1", Rounds: 1})
		if err != nil {
			b.Skipf("skipped: %v", err)
		}
		times[2] += a.Rounds[0].CPU
		sizes[2] = folderBytes(b, filepath.Join(dir, "bench.lance", "data"))
	}
	for i, name := range []string{"plain", "compact", "stock"} {
		b.ReportMetric(float64(sizes[i])/1e6, name+"-MB")
		b.ReportMetric(times[i]/float64(b.N), name+"-cpu-ms")
	}
	b.ReportMetric(float64(sizes[1])/float64(sizes[2]), "compact/stock")
}

func lineItems(t testing.TB, rows int) []arrow.RecordBatch {
	t.Helper()
	var out []arrow.RecordBatch
	err := tpch.LineItems(rows, 65536, 1, func(rec arrow.RecordBatch) error {
		rec.Retain()
		out = append(out, rec)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// parquetRows reads a file; what Lake cannot store is skipped.
func parquetRows(b *testing.B, path string) []arrow.RecordBatch {
	f, err := file.OpenParquetFile(path, false)
	if err != nil {
		b.Skipf("skipped: %v", err)
	}
	defer f.Close()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		b.Skipf("skipped: %v", err)
	}
	table, err := r.ReadTable(context.Background())
	if err != nil {
		b.Skipf("skipped: %v", err)
	}
	if _, err := schema.FromArrow(table.Schema()); err != nil || table.NumRows() == 0 {
		b.Skipf("skipped: %d rows, %v", table.NumRows(), err)
	}
	var out []arrow.RecordBatch
	rows := array.NewTableReader(table, 1<<20)
	for rows.Next() {
		rec := rows.RecordBatch()
		rec.Retain()
		out = append(out, rec)
	}
	return out
}

func ownBytes(t testing.TB, dir string, s *arrow.Schema, o format.WriterOptions, batches []arrow.RecordBatch) int64 {
	t.Helper()
	fields, err := schema.FromArrow(s)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "own.lance"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := format.NewWriter(f, s, fields, o)
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	for _, rec := range batches {
		if err := w.Write(rec); err != nil {
			t.Skipf("skipped: %v", err)
		}
	}
	written, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return int64(written.Size)
}

func stockBytes(t testing.TB, stock *Stock, dir string, s *arrow.Schema, batches []arrow.RecordBatch) int64 {
	t.Helper()
	in := filepath.Join(dir, "in.arrow")
	writeIPC(t, in, s, batches...)
	if _, err := stock.Do(Command{Op: "write", Dir: dir, Table: "t", IPC: in, Version: "2.1"}); err != nil {
		t.Fatal(err)
	}
	return folderBytes(t, filepath.Join(dir, "t.lance", "data"))
}

// folderBytes is the size of the newest file of a folder: each round of writing
// leaves one.
func folderBytes(t testing.TB, dir string) int64 {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var newest os.FileInfo
	for _, e := range entries {
		st, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if newest == nil || st.ModTime().After(newest.ModTime()) {
			newest = st
		}
	}
	return newest.Size()
}
