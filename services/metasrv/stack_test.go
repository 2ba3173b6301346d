// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/api/lakepb"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/metastore/pebble"
	"github.com/lakeplane/lake/objstore/local"
)

// onDisk is the storage of a single-node deployment.
type onDisk struct{ dir string }

func (d onDisk) open(t testing.TB) (*pebble.Store, *enginelance.Engine, func()) {
	t.Helper()
	store, err := pebble.Open(d.dir+"/metastore", pebble.Options{Logger: quiet})
	require.NoError(t, err)
	objects, err := local.Open(d.dir + "/objects")
	require.NoError(t, err)
	storage, err := enginelance.New(enginelance.Options{Store: objects})
	require.NoError(t, err)
	return store, storage, func() {
		require.NoError(t, storage.Close())
		require.NoError(t, store.Close())
	}
}

// TestOnDisk runs the authority on Pebble and Lance files, restarts it, and
// finds everything as it was.
func TestOnDisk(t *testing.T) {
	disk := onDisk{t.TempDir()}
	store, storage, closeAll := disk.open(t)
	a := startOn(t, store, storage)
	a.create(t, "a", "t")
	a.create(t, "a", "gone")
	const clients, each = 8, 4
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				o := newOp(t, "a", "t", int64(c*each+i))
				_, err := a.put(t.Context(), o)
				for status.Code(err) == codes.ResourceExhausted {
					_, err = a.put(t.Context(), o)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	o := newOp(t, "a", "t", clients*each)
	first, err := a.put(t.Context(), o)
	require.NoError(t, err)
	requireEach(t, a, clients*each+1)
	dropped, err := a.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("a", "gone")})
	require.NoError(t, err)
	a.stop()
	closeAll()

	store, storage, closeAll = disk.open(t)
	b := startOn(t, store, storage)
	requireEach(t, b, clients*each+1)
	again, err := b.put(t.Context(), o)
	require.NoError(t, err)
	require.True(t, again.GetReplayed())
	require.Equal(t, first.GetVersion(), again.GetVersion())
	next, err := b.put(t.Context(), newOp(t, "a", "t", clients*each+1))
	require.NoError(t, err)
	require.Equal(t, first.GetVersion()+1, next.GetVersion())
	repeated, err := b.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{
		Name: nameOf("a", "gone"), Incarnation: dropped.GetDropped().GetSnapshot().GetIncarnation(),
	})
	require.NoError(t, err)
	require.Equal(t, dropped.String(), repeated.String())
	b.stop()
	closeAll()
}

// BenchmarkAppend measures acknowledged appends of ten rows to one table, over
// an in-memory connection, by 1, 8 and 64 clients. It reports the commits
// beside the appends: appends that wait share one.
func BenchmarkAppend(b *testing.B) {
	for _, clients := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("memory/clients=%d", clients), func(b *testing.B) { benchAppend(b, start(b), clients) })
		b.Run(fmt.Sprintf("disk/clients=%d", clients), func(b *testing.B) {
			store, storage, closeAll := onDisk{b.TempDir()}.open(b)
			a := startOn(b, store, storage)
			benchAppend(b, a, clients)
			a.stop()
			closeAll()
		})
	}
}

func benchAppend(b *testing.B, a *authority, clients int) {
	a.create(b, "a", "t")
	ops := make(chan op, b.N)
	for i := range b.N {
		ops <- newOp(b, "a", "t", int64(i), 1, 2, 3, 4, 5, 6, 7, 8, 9)
	}
	close(ops)
	b.ResetTimer()
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for o := range ops {
				if _, err := a.put(b.Context(), o); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	table, err := a.catalog.GetTable(b.Context(), &lakepb.GetTableRequest{Name: nameOf("a", "t")})
	require.NoError(b, err)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
	b.ReportMetric(float64(table.GetSnapshot().GetVersion()-1)/b.Elapsed().Seconds(), "commits/s")
}
