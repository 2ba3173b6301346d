// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metastoretest

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore"
)

// BenchWriters are the numbers of concurrent committers that [Bench] measures.
var BenchWriters = []int{1, 8, 32, 64}

// BenchValue is the value of every record in [Bench], of the size of a table
// record without its schema.
var BenchValue = bytes.Repeat([]byte("v"), 300)

// Bench measures a backend: commits of one record, commits as an append makes
// them (a guard, an update, two creates and a token), point reads and scans.
func Bench(b *testing.B, open Factory) {
	for _, writers := range BenchWriters {
		b.Run(fmt.Sprintf("create/writers=%d", writers), func(b *testing.B) { BenchCommits(b, writers, Creates(b, open(b))) })
	}
	for _, writers := range BenchWriters {
		b.Run(fmt.Sprintf("append/writers=%d", writers), func(b *testing.B) { BenchCommits(b, writers, Appends(b, open(b), writers)) })
	}
	for _, readers := range []int{1, 8} {
		b.Run(fmt.Sprintf("get/readers=%d", readers), func(b *testing.B) { benchGet(b, open(b), readers) })
	}
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("scan/keys=%d", n), func(b *testing.B) { benchScan(b, open(b), n) })
	}
}

// BenchCommits calls commit for 0..b.N-1 from the given number of goroutines
// and reports commits/s. Peers of a backend are measured with it as well.
func BenchCommits(b *testing.B, writers int, commit func(writer, i int) error) {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	cpu := cpuTime()
	b.ResetTimer()
	for w := range writers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < b.N; i = int(next.Add(1)) - 1 {
				if err := commit(w, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
	reportCPU(b, cpu)
}

// reportCPU reports the processor time of this process for each call, which
// other load on the machine changes less than the time on the wall.
func reportCPU(b *testing.B, since time.Duration) {
	b.Helper()
	b.ReportMetric(float64((cpuTime()-since).Microseconds())/float64(b.N), "cpu-µs/op")
}

// Creates returns a function that commits one new record of its own, the ith.
func Creates(tb testing.TB, s metastore.Store) func(writer, i int) error {
	return func(_, i int) error {
		return s.Commit(tb.Context(), txn(metastore.Create(fmt.Sprintf("bench/%010d", i), BenchValue)))
	}
}

// Appends returns a function that commits as an append does: a guard that all
// share, an update of the writer's own table, two creates and a token.
func Appends(tb testing.TB, s metastore.Store, writers int) func(writer, i int) error {
	tb.Helper()
	guard := metastore.Guard("election", []byte("1"))
	require.NoError(tb, s.Commit(tb.Context(), txn(metastore.Create("election", []byte("1")))))
	current := make([][]byte, writers)
	for w := range writers {
		current[w] = bytes.Clone(BenchValue)
		require.NoError(tb, s.Commit(tb.Context(), txn(metastore.Create(fmt.Sprint("tbl/ns/", w), current[w]))))
	}
	return func(w, i int) error {
		next := append(bytes.Clone(BenchValue), fmt.Sprint(i)...)
		err := s.Commit(tb.Context(), metastore.Txn{Token: fmt.Sprintf("%036d", i), Ops: []metastore.Op{
			guard,
			metastore.Update(fmt.Sprint("tbl/ns/", w), current[w], next),
			metastore.Create(fmt.Sprintf("lance-manifest/ns/%d/%020d", w, i), BenchValue),
			metastore.Create(fmt.Sprintf("append-operation/v1/default/ns/%d/%d", w, i), BenchValue),
		}})
		current[w] = next
		return err
	}
}

func load(b *testing.B, s metastore.Store, n int) {
	b.Helper()
	var all sync.WaitGroup
	for w := range 16 {
		all.Go(func() {
			var ops []metastore.Op
			for i := w; i < n; i += 16 {
				ops = append(ops, metastore.Create(fmt.Sprintf("bench/%010d", i), BenchValue))
				if len(ops) == metastore.MaxOps || i+16 >= n {
					if err := s.Commit(b.Context(), txn(ops...)); err != nil {
						b.Error(err)
					}
					ops = nil
				}
			}
		})
	}
	all.Wait()
}

func benchGet(b *testing.B, s metastore.Store, readers int) {
	const n = 10_000
	load(b, s, n)
	var next atomic.Int64
	var all sync.WaitGroup
	cpu := cpuTime()
	b.ResetTimer()
	for range readers {
		all.Go(func() {
			for i := int(next.Add(1)); i <= b.N; i = int(next.Add(1)) {
				if _, err := s.Get(b.Context(), fmt.Sprintf("bench/%010d", i*7919%n)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
	reportCPU(b, cpu)
}

func benchScan(b *testing.B, s metastore.Store, n int) {
	load(b, s, n)
	for b.Loop() {
		found := 0
		for cursor := ""; ; {
			page, err := s.Scan(b.Context(), "bench/", cursor, 1000)
			require.NoError(b, err)
			found += len(page.Records)
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		require.Equal(b, n, found)
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "keys/s")
}
