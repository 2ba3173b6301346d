// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package blockcache_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/blockcache"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/objstore/objstoretest"
)

// far is a store whose objects are not in memory and whose reads are counted,
// and may fail.
type far struct {
	objstore.Store
	reads atomic.Int64
	fail  atomic.Pointer[error]
	hold  chan struct{} // when set, a read waits for it
}

type farObject struct {
	obj objstore.Object
	far *far
}

func (f *far) Open(ctx context.Context, key string) (objstore.Object, error) {
	obj, err := f.Store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	return &farObject{obj, f}, nil
}

func (o *farObject) Size() int64  { return o.obj.Size() }
func (o *farObject) Close() error { return o.obj.Close() }

func (o *farObject) ReadAt(p []byte, off int64) (int, error) {
	o.far.reads.Add(1)
	if o.far.hold != nil {
		<-o.far.hold
	}
	if err := o.far.fail.Load(); err != nil {
		return 0, *err
	}
	return o.obj.ReadAt(p, off)
}

func openFar(tb testing.TB, opts blockcache.Options) (*blockcache.Cache, *far) {
	tb.Helper()
	store, err := local.Open(tb.TempDir())
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, store.Close()) })
	f := &far{Store: store}
	c, err := blockcache.New(f, opts)
	require.NoError(tb, err)
	return c, f
}

func TestStore(t *testing.T) {
	objstoretest.Run(t, func(tb testing.TB) objstore.Store {
		c, _ := openFar(tb, blockcache.Options{Bytes: 4096, BlockBytes: 7})
		return c
	})
}

func put(t *testing.T, s objstore.Store, key string, n int) []byte {
	t.Helper()
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	require.NoError(t, s.Put(t.Context(), key, data))
	return data
}

func read(t *testing.T, s objstore.Store, key string, off int64, n int) []byte {
	t.Helper()
	obj, err := s.Open(t.Context(), key)
	require.NoError(t, err)
	defer obj.Close()
	p := make([]byte, n)
	_, err = obj.ReadAt(p, off)
	require.NoError(t, err)
	return p
}

func TestBlocksAreFetchedOnce(t *testing.T) {
	c, f := openFar(t, blockcache.Options{Bytes: 1 << 20, BlockBytes: 100})
	data := put(t, c, "a", 1050)
	require.Equal(t, data[250:260], read(t, c, "a", 250, 10))
	require.EqualValues(t, 1, f.reads.Load())
	require.Equal(t, data[200:300], read(t, c, "a", 200, 100))
	require.EqualValues(t, 1, f.reads.Load(), "the block is there")
	require.Equal(t, data, read(t, c, "a", 0, 1050))
	require.EqualValues(t, 3, f.reads.Load(), "what is missing before it and behind it")
	require.Equal(t, data[1000:], read(t, c, "a", 1000, 50))
	require.EqualValues(t, 3, f.reads.Load())
	require.Equal(t, blockcache.Stats{Hits: 3, Misses: 11, Fetches: 3, FetchedBytes: 1050, Bytes: 1050}, c.Stats())

	require.NoError(t, c.Delete(t.Context(), "a"))
	require.Zero(t, c.Stats().Bytes)
	_, err := c.Open(t.Context(), "a")
	require.ErrorIs(t, err, objstore.ErrNotFound)
}

func TestTheCacheKeepsToItsBound(t *testing.T) {
	c, _ := openFar(t, blockcache.Options{Bytes: 1000, BlockBytes: 100})
	data := put(t, c, "a", 100_000)
	for range 2000 {
		off := rand.Int64N(99_000)
		n := 1 + rand.IntN(900)
		require.Equal(t, data[off:off+int64(n)], read(t, c, "a", off, n))
		require.LessOrEqual(t, c.Stats().Bytes, int64(1000))
	}
	require.Equal(t, data, read(t, c, "a", 0, 100_000), "more than fits is read all the same")
}

func TestReadersShareARequest(t *testing.T) {
	c, f := openFar(t, blockcache.Options{Bytes: 1 << 20, BlockBytes: 1000})
	data := put(t, c, "a", 1000)
	f.hold = make(chan struct{})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if got := read(t, c, "a", int64(i), 10); string(got) != string(data[i:i+10]) {
				t.Error("wrong bytes")
			}
		})
	}
	require.Eventually(t, func() bool { return c.Stats().Hits == 19 }, 5e9, 1e6)
	close(f.hold)
	all.Wait()
	require.EqualValues(t, 1, f.reads.Load())
}

func TestAFailedRequestIsNotKept(t *testing.T) {
	c, f := openFar(t, blockcache.Options{BlockBytes: 100, Bytes: 1000})
	data := put(t, c, "a", 500)
	obj, err := c.Open(t.Context(), "a")
	require.NoError(t, err)
	defer obj.Close()
	cause := errors.New("the network is down")
	f.fail.Store(&cause)
	_, err = obj.ReadAt(make([]byte, 10), 0)
	require.ErrorIs(t, err, cause)
	f.fail.Store(nil)
	p := make([]byte, 10)
	_, err = obj.ReadAt(p, 0)
	require.NoError(t, err)
	require.Equal(t, data[:10], p)
	n, err := obj.ReadAt(make([]byte, 10), 495)
	require.Equal(t, 5, n)
	require.ErrorIs(t, err, io.EOF)
}

func TestWrongOptions(t *testing.T) {
	for _, o := range []blockcache.Options{{Bytes: -1}, {BlockBytes: -1}, {Bytes: 10, BlockBytes: 11}} {
		_, err := blockcache.New(nil, o)
		require.Equal(t, lake.Invalid, lake.KindOf(err))
	}
}
