// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/lance/file"
	"github.com/lakeplane/lake/lance/file/filetest"
	"github.com/lakeplane/lake/lance/schema"
)

// BenchmarkAgainstStock reads and writes the same table with Lake and with
// stock LanceDB in turn and reports the processor time of both in milliseconds,
// and how many times less Lake takes. Stock's times include the way of the rows
// into or out of JavaScript, which its users pay too.
func BenchmarkAgainstStock(b *testing.B) {
	stock, err := Start()
	if err != nil {
		b.Skipf("skipped: %v", err)
	}
	defer stock.Close()
	rows := 2_000_000
	if testing.Short() {
		rows = 200_000
	}
	dir := b.TempDir()
	batches := filetest.Telemetry(rows)
	ipcFile := filepath.Join(dir, "in.arrow")
	writeIPC(b, ipcFile, filetest.TelemetrySchema, batches...)
	b.Run("write", func(b *testing.B) { benchWrite(b, stock, dir, ipcFile, batches) })
	batches = nil
	runtime.GC()
	for _, c := range []struct {
		name    string
		columns []string
	}{{"scan", nil}, {"scan two columns", []string{"a", "x"}}} {
		path := filepath.Join(dir, "own.lance", "data", "one.lance")
		b.Run(c.name, func(b *testing.B) { benchRead(b, stock, dir, []string{path}, c.columns) })
	}
	b.Run("scan of the file of stock", func(b *testing.B) {
		m, err := ReadManifest(filepath.Join(dir, "bench.lance"))
		if err != nil {
			b.Fatal(err)
		}
		var paths []string
		for _, f := range m.GetFragments() {
			paths = append(paths, filepath.Join(dir, "bench.lance", "data", f.GetFiles()[0].GetPath()))
		}
		benchRead(b, stock, dir, paths, nil)
	})
	b.Run("take 1000 rows", func(b *testing.B) { benchTake(b, stock, dir, uint64(rows)) })
}

// benchTake takes 1,000 random rows of all columns, others each time, from an
// open table. Stock LanceDB takes them from Lake's file and from its own; the
// times are wall clock.
func benchTake(b *testing.B, stock *Stock, dir string, rows uint64) {
	const per = 1000
	r := rand.New(rand.NewPCG(8, 8))
	var own, theirs, theirOwn float64
	d := openFolder(b, filepath.Join(dir, "own.lance"))
	for b.Loop() {
		numbers := make([]uint64, 2*per)
		for i := range numbers {
			numbers[i] = r.Uint64N(rows)
		}
		takeOwn(b, d, numbers[:per]) // the first take opens the file
		start := time.Now()
		takeOwn(b, d, numbers[per:])
		own += float64(time.Since(start).Microseconds()) / 1e3
		theirs += stockTake(b, stock, Command{Dir: dir, Table: "own", Offsets: numbers})
		theirOwn += stockTake(b, stock, Command{Dir: dir, Table: "bench", Offsets: numbers})
	}
	n := float64(b.N)
	b.ReportMetric(own/n, "lake-ms")
	b.ReportMetric(theirs/n, "stock-ms")
	b.ReportMetric(theirOwn/n, "stock-own-file-ms")
}

func openFolder(b *testing.B, dir string) *lance.Dataset {
	b.Helper()
	m, err := lance.ReadManifest(b.Context(), Folder(dir), 1)
	if err != nil {
		b.Fatal(err)
	}
	d, err := lance.Open(b.Context(), Folder(dir), m, lance.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = d.Close() })
	return d
}

func takeOwn(b *testing.B, d *lance.Dataset, rows []uint64) {
	b.Helper()
	rec, err := d.Take(b.Context(), rows, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range rec.Columns() {
		touch(c.Data())
	}
	rec.Release()
}

// stockTake times the second half of some takes, on a warm table.
func stockTake(b *testing.B, stock *Stock, c Command) float64 {
	b.Helper()
	c.Op, c.Rounds = "timetake", 2
	a, err := stock.Do(c)
	if err != nil {
		b.Fatal(err)
	}
	return a.Rounds[1].Wall
}

func cpuMillis() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec)*1e3 + float64(u.Utime.Usec+u.Stime.Usec)/1e3
}

func report(b *testing.B, own, theirs float64) {
	n := float64(b.N)
	b.ReportMetric(own/n, "lake-cpu-ms")
	b.ReportMetric(theirs/n, "stock-cpu-ms")
	b.ReportMetric(theirs/own, "times-less")
}

func stockCPU(b *testing.B, stock *Stock, c Command) float64 {
	b.Helper()
	c.Rounds = 1
	a, err := stock.Do(c)
	if err != nil {
		b.Fatal(err)
	}
	return a.Rounds[0].CPU
}

func benchWrite(b *testing.B, stock *Stock, dir, ipcFile string, batches []arrow.RecordBatch) {
	var own, theirs float64
	for b.Loop() {
		start := cpuMillis()
		writeOwnFile(b, filepath.Join(dir, "own.lance"), batches)
		own += cpuMillis() - start
		theirs += stockCPU(b, stock, Command{Op: "benchwrite", Dir: dir, IPC: ipcFile, Version: "2.1"})
	}
	report(b, own, theirs)
}

// writeOwnFile writes a dataset through a file, as the engine does.
func writeOwnFile(b *testing.B, dir string, batches []arrow.RecordBatch) {
	b.Helper()
	fields, err := schema.FromArrow(filetest.TelemetrySchema)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "data", "one.lance"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w, err := file.NewWriter(f, filetest.TelemetrySchema, fields, file.WriterOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for _, rec := range batches {
		if err := w.Write(rec); err != nil {
			b.Fatal(err)
		}
	}
	written, err := w.Close()
	if err != nil {
		b.Fatal(err)
	}
	if err := writeManifest(dir, fields, written); err != nil {
		b.Fatal(err)
	}
}

// benchRead scans files with Lake, and the same rows with stock LanceDB.
func benchRead(b *testing.B, stock *Stock, dir string, paths, names []string) {
	var ids []int32
	for _, n := range names {
		ids = append(ids, int32(filetest.TelemetrySchema.FieldIndices(n)[0]))
	}
	pool := file.NewPool()
	var own, theirs float64
	for b.Loop() {
		start := cpuMillis()
		for _, path := range paths {
			scanMapped(b, path, ids, pool)
		}
		own += cpuMillis() - start
		theirs += stockCPU(b, stock, Command{Op: "bench", Dir: dir, Table: "bench", Columns: names})
	}
	report(b, own, theirs)
}

func scanMapped(b *testing.B, path string, ids []int32, pool *file.Pool) {
	b.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	mem, err := syscall.Mmap(int(f.Fd()), 0, int(st.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(mem) }()
	r, err := file.Open(context.Background(), file.Bytes(mem), file.Options{Allocator: pool})
	if err != nil {
		b.Fatal(err)
	}
	for rec, err := range r.Scan(context.Background(), file.ScanOptions{Fields: ids, Parallel: 2}) {
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range rec.Columns() {
			touch(c.Data())
		}
		rec.Release()
	}
}

var touched byte

// touch reads a byte of every cache line, so that mapped pages are paid for.
func touch(d arrow.ArrayData) {
	for _, buf := range d.Buffers() {
		if buf != nil {
			for i, v := 0, buf.Bytes(); i < len(v); i += 64 {
				touched += v[i]
			}
		}
	}
	for _, c := range d.Children() {
		touch(c)
	}
}
