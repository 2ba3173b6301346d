// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is an Opener that counts.
type store struct {
	opens, open atomic.Int64
	size        uint64
	fail        atomic.Bool
	hold        chan struct{}
	started     chan struct{}
}

type dataset struct {
	engine.Dataset
	store  *store
	snap   lake.Snapshot
	closed atomic.Bool
}

func (d *dataset) Bytes() uint64 { return d.store.size }

func (d *dataset) Close() error {
	if d.closed.Swap(true) {
		panic("closed twice")
	}
	d.store.open.Add(-1)
	return nil
}

func (s *store) Name() string { return "lance" }

func (s *store) Open(ctx context.Context, snap lake.Snapshot) (engine.Dataset, error) {
	s.opens.Add(1)
	if s.started != nil {
		s.started <- struct{}{}
	}
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if s.fail.Load() {
		return nil, errors.New("broken disk")
	}
	s.open.Add(1)
	return &dataset{store: s, snap: snap}, nil
}

var inc = lake.NewID()

func snap(v lake.Version) lake.Snapshot {
	return lake.Snapshot{Engine: "lance", Location: "a/b", Incarnation: inc, Version: v}
}

func TestOneOpenIsSharedAndKept(t *testing.T) {
	s := &store{size: 1, hold: make(chan struct{})}
	c := New(s, Options{})
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			h, err := c.Open(context.Background(), snap(1))
			if err != nil {
				t.Error(err)
				return
			}
			h.Release()
			h.Release()
		})
	}
	close(s.hold)
	wg.Wait()
	h, err := c.Open(t.Context(), snap(1))
	require.NoError(t, err)
	h.Release()
	require.EqualValues(t, 1, s.opens.Load())
	c.Close()
	require.Zero(t, s.open.Load())
	require.Zero(t, c.Bytes())
}

func TestEveryPartOfTheIdentityCounts(t *testing.T) {
	s := &store{size: 1}
	c := New(s, Options{})
	defer c.Close()
	recreated, moved, rewritten := snap(1), snap(1), snap(1)
	recreated.Incarnation = lake.NewID()
	moved.Location = "a/c"
	rewritten.Manifest.SHA256 = lake.Digest{1}
	for _, sn := range []lake.Snapshot{snap(1), snap(2), recreated, moved, rewritten} {
		h, err := c.Open(t.Context(), sn)
		require.NoError(t, err)
		require.Equal(t, sn, h.Dataset.(*dataset).snap, "never another incarnation's rows")
		h.Release()
	}
	require.EqualValues(t, 5, s.opens.Load())
}

func TestTheLongestIdleCloseFirstAndUsedOnesStay(t *testing.T) {
	s := &store{size: 10}
	c := New(s, Options{Bytes: 25})
	used, err := c.Open(t.Context(), snap(1))
	require.NoError(t, err)
	for v := lake.Version(2); v <= 6; v++ {
		h, err := c.Open(t.Context(), snap(v))
		require.NoError(t, err)
		h.Release()
		require.LessOrEqual(t, c.Bytes(), uint64(30))
	}
	require.False(t, used.Dataset.(*dataset).closed.Load())
	require.EqualValues(t, 2, s.open.Load())
	h, err := c.Open(t.Context(), snap(6))
	require.NoError(t, err)
	h.Release()
	require.EqualValues(t, 6, s.opens.Load(), "the most recent one was kept")
	c.Close()
	require.False(t, used.Dataset.(*dataset).closed.Load(), "Close does not pull a dataset from under a query")
	used.Release()
	require.Zero(t, s.open.Load())
}

func TestFailuresAreNotKept(t *testing.T) {
	s := &store{size: 1}
	s.fail.Store(true)
	c := New(s, Options{})
	defer c.Close()
	_, err := c.Open(t.Context(), snap(1))
	require.ErrorContains(t, err, "broken disk")
	s.fail.Store(false)
	h, err := c.Open(t.Context(), snap(1))
	require.NoError(t, err)
	h.Release()
}

func TestAnOpenNobodyWaitsForIsCancelled(t *testing.T) {
	s := &store{size: 1, hold: make(chan struct{}), started: make(chan struct{}, 2)}
	c := New(s, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := c.Open(ctx, snap(1)); done <- err }()
	<-s.started
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	c.wg.Wait() // the open itself ended, by the cancellation and nothing else
	c.Close()
	require.Zero(t, s.open.Load())
}

func TestAnotherEngineIsRefused(t *testing.T) {
	c := New(&store{}, Options{})
	defer c.Close()
	other := snap(1)
	other.Engine = "paper"
	_, err := c.Open(t.Context(), other)
	require.True(t, lake.Is(err, lake.Unsupported))
	require.ErrorContains(t, err, `"paper"`)
}

func TestNothingIsUsedAfterItClosed(t *testing.T) {
	s := &store{size: 10}
	c := New(s, Options{Bytes: 30})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(50))*time.Microsecond)
				h, err := c.Open(ctx, snap(lake.Version(1+rand.IntN(9))))
				cancel()
				if err != nil {
					continue
				}
				if h.Dataset.(*dataset).closed.Load() {
					t.Error("a closed dataset was handed out")
				}
				h.Release()
			}
		})
	}
	wg.Wait()
	c.Close()
	require.Zero(t, s.open.Load())
	require.Zero(t, c.Bytes())
}
