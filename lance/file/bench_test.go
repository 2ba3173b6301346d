// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/file/filetest"
	"github.com/lakeplane/lake/lance/schema"
)

func benchRows() int {
	if testing.Short() {
		return 200_000
	}
	return 2_000_000
}

func arrowBytes(batches []arrow.RecordBatch) (n int64) {
	for _, b := range batches {
		for i := range int(b.NumCols()) {
			n += int64(arrayBytes(b.Column(i), 0, int(b.NumRows())))
		}
	}
	return n
}

// cpuSeconds is the processor time of the process so far.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// reportCPU reports the processor time per iteration, which a loaded machine
// changes less than the wall clock.
func reportCPU(b *testing.B, since float64) {
	b.ReportMetric((cpuSeconds()-since)*1000/float64(b.N), "cpu-ms/op")
}

func BenchmarkWrite(b *testing.B) {
	batches := filetest.Telemetry(benchRows())
	fields, err := schema.FromArrow(filetest.TelemetrySchema)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(arrowBytes(batches))
	b.ReportAllocs()
	b.ResetTimer()
	start := cpuSeconds()
	for b.Loop() {
		f, err := os.Create(filepath.Join(b.TempDir(), "bench.lance"))
		if err != nil {
			b.Fatal(err)
		}
		w, err := NewWriter(f, filetest.TelemetrySchema, fields, WriterOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for _, rec := range batches {
			if err := w.Write(rec); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := w.Close(); err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	reportCPU(b, start)
}

// benchFile writes the table once and maps the file.
func benchFile(b *testing.B) (mapped, plain Source, size int64) {
	batches := filetest.Telemetry(benchRows())
	data, _ := writeFile(b, filetest.TelemetrySchema, WriterOptions{}, batches...)
	path := filepath.Join(b.TempDir(), "bench.lance")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	mem, err := syscall.Mmap(int(f.Fd()), 0, len(data), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = syscall.Munmap(mem) })
	return Bytes(mem), fileSource{f, int64(len(data))}, arrowBytes(batches)
}

type fileSource struct {
	*os.File
	size int64
}

func (f fileSource) Size() int64 { return f.size }

// touch sums every byte, so that zero-copy batches pay for their page faults.
func touch(d arrow.ArrayData) (sum uint64) {
	for _, b := range d.Buffers() {
		if b != nil {
			for _, w := range words[uint64](b.Bytes()[:b.Len()&^7]) {
				sum += w
			}
		}
	}
	for _, c := range d.Children() {
		sum += touch(c)
	}
	return sum
}

var touched uint64

func benchScan(b *testing.B, src Source, size int64, fields []int32, mem memory.Allocator) {
	b.SetBytes(size)
	b.ReportAllocs()
	start := cpuSeconds()
	for b.Loop() {
		r, err := Open(context.Background(), src, Options{Allocator: mem})
		if err != nil {
			b.Fatal(err)
		}
		for rec, err := range r.Scan(context.Background(), ScanOptions{Fields: fields, Parallel: 2}) {
			if err != nil {
				b.Fatal(err)
			}
			for _, c := range rec.Columns() {
				touched += touch(c.Data())
			}
			rec.Release()
		}
	}
	reportCPU(b, start)
}

func BenchmarkScan(b *testing.B) {
	mapped, plain, size := benchFile(b)
	pool := NewPool()
	b.Run("mapped", func(b *testing.B) { benchScan(b, mapped, size, nil, pool) })
	b.Run("mapped without pool", func(b *testing.B) { benchScan(b, mapped, size, nil, nil) })
	b.Run("pread", func(b *testing.B) { benchScan(b, plain, size, nil, pool) })
	b.Run("two columns", func(b *testing.B) { benchScan(b, mapped, int64(benchRows())*16, []int32{1, 2}, pool) })
	for i, f := range filetest.TelemetrySchema.Fields() {
		b.Run("only "+f.Name, func(b *testing.B) { benchScan(b, mapped, size, []int32{int32(i)}, pool) })
	}
}

// apart is a source whose reads are hardly ever joined.
type apart struct{ Source }

func (apart) JoinGap() uint64 { return 4 << 10 }

func BenchmarkTake(b *testing.B) {
	mapped, plain, _ := benchFile(b)
	r := rand.New(rand.NewPCG(3, 4))
	rows := make([]uint64, 1000)
	for i := range rows {
		rows[i] = r.Uint64N(uint64(benchRows()))
	}
	for name, src := range map[string]Source{"mapped": mapped, "pread": plain, "pread apart": apart{plain}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			start := cpuSeconds()
			for b.Loop() {
				f, err := Open(context.Background(), src, Options{})
				if err != nil {
					b.Fatal(err)
				}
				rec, err := f.Take(context.Background(), rows, nil)
				if err != nil {
					b.Fatal(err)
				}
				rec.Release()
			}
			reportCPU(b, start)
		})
	}
}
