// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package objstoretest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/objstore"
)

// Bench measures a backend: puts from 1 and 8 callers, opening and reading,
// random reads of an open object, listing and deleting.
func Bench(b *testing.B, open Factory) {
	for _, size := range []int{1 << 10, 1 << 20} {
		for _, callers := range []int{1, 8} {
			b.Run(fmt.Sprintf("put/size=%d/callers=%d", size, callers), func(b *testing.B) { benchPut(b, open(b), size, callers) })
		}
	}
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("open+read/size=%d", size), func(b *testing.B) { benchOpenRead(b, open(b), size) })
	}
	b.Run("readat/size=4096", func(b *testing.B) { benchReadAt(b, open(b)) })
	b.Run("list/objects=10000", func(b *testing.B) { benchList(b, open(b)) })
	b.Run("delete/callers=8", func(b *testing.B) { benchDelete(b, open(b)) })
}

// spread calls do for 0..b.N-1 from the given number of goroutines.
func spread(b *testing.B, callers int, do func(i int) error) {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < b.N; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
}

func benchPut(b *testing.B, s objstore.Store, size, callers int) {
	data := noise(1, size)
	b.SetBytes(int64(size))
	spread(b, callers, func(i int) error { return s.Put(b.Context(), fmt.Sprintf("t.lance/data/%08d", i), data) })
}

func benchOpenRead(b *testing.B, s objstore.Store, size int) {
	require.NoError(b, s.Put(b.Context(), "ns/t.lance/data/x", noise(1, size)))
	b.SetBytes(int64(size))
	for b.Loop() {
		if _, err := objstore.ReadAll(b.Context(), s, "ns/t.lance/data/x", int64(size)); err != nil {
			b.Fatal(err)
		}
	}
}

func benchReadAt(b *testing.B, s objstore.Store) {
	const size, step = 64 << 20, 4096
	require.NoError(b, s.Put(b.Context(), "big", noise(1, size)))
	obj, err := s.Open(b.Context(), "big")
	require.NoError(b, err)
	defer obj.Close()
	p := make([]byte, step)
	b.SetBytes(step)
	for i := 0; b.Loop(); i++ {
		if _, err := obj.ReadAt(p, int64(i)*7919*step%size); err != nil {
			b.Fatal(err)
		}
	}
}

func benchList(b *testing.B, s objstore.Store) {
	const n = 10_000
	spreadN(b, n, func(i int) error { return s.Put(b.Context(), fmt.Sprintf("t.lance/data/%08d", i), nil) })
	for b.Loop() {
		total := 0
		for after, more := "", true; more; {
			var infos []objstore.Info
			var err error
			if infos, more, err = s.List(b.Context(), "t.lance/", after, objstore.MaxPage); err != nil {
				b.Fatal(err)
			}
			total += len(infos)
			after = infos[len(infos)-1].Key
		}
		require.Equal(b, n, total)
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "objects/s")
}

func benchDelete(b *testing.B, s objstore.Store) {
	key := func(i int) string { return fmt.Sprintf("t.lance/data/%08d", i) }
	spreadN(b, b.N, func(i int) error { return s.Put(b.Context(), key(i), nil) })
	spread(b, 8, func(i int) error { return s.Delete(b.Context(), key(i)) })
}

// spreadN prepares objects outside of the measurement.
func spreadN(b *testing.B, n int, do func(i int) error) {
	b.Helper()
	var all sync.WaitGroup
	for w := range 16 {
		all.Go(func() {
			for i := w; i < n; i += 16 {
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}
