// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metastoretest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore"
)

func isErr(err, target error) bool { return errors.Is(err, target) }

// abilityCases apply to stores that have the ability.
var abilityCases = []namedCase{
	{"watch/wakes for its prefix", func(t *testing.T, s *fixture) {
		w := s.watcher()
		ctx, cancel := context.WithCancel(t.Context())
		signals, err := w.Watch(ctx, "a/")
		require.NoError(t, err)
		s.put("a2/1", "x")
		s.commit(metastore.GuardAbsent("a/1"), metastore.Create("b", nil))
		s.put("a/1", "x")
		requireSignal(t, signals)
		s.commit(metastore.Remove("a/1", []byte("x")))
		requireSignal(t, signals)
		cancel()
		requireClosed(t, signals)
	}},
	{"watch/a slow watcher does not hold commits up", func(t *testing.T, s *fixture) {
		signals, err := s.watcher().Watch(t.Context(), "")
		require.NoError(t, err)
		for i := range 50 {
			s.put(fmt.Sprint("k", i), "x")
		}
		requireSignal(t, signals)
	}},
	{"watch/ends when the store closes", func(t *testing.T, s *fixture) {
		w := s.watcher()
		signals, err := w.Watch(t.Context(), "a/")
		require.NoError(t, err)
		_, err = w.Watch(t.Context(), "a//")
		require.ErrorIs(t, err, metastore.ErrInvalid)
		require.NoError(t, s.Close())
		requireClosed(t, signals)
		_, err = w.Watch(t.Context(), "a/")
		require.ErrorIs(t, err, metastore.ErrClosed)
	}},
	{"snapshot/reads present and missing keys", func(t *testing.T, s *fixture) {
		snap := s.snapshotter()
		s.put("a", "1", "b", "")
		found, err := snap.GetAll(t.Context(), []string{"a", "b", "c"})
		require.NoError(t, err)
		require.Equal(t, map[string]metastore.Record{"a": {Key: "a", Value: []byte("1")}, "b": {Key: "b", Value: []byte{}}}, found)
		_, err = snap.GetAll(t.Context(), []string{"a", "/"})
		require.ErrorIs(t, err, metastore.ErrInvalid)
	}},
	{"snapshot/is of one moment", snapshotOfOneMoment},
}

func (f *fixture) watcher() metastore.Watcher {
	f.t.Helper()
	w, ok := f.Store.(metastore.Watcher)
	if !ok {
		f.t.Skipf("%T is not a Watcher, which is optional", f.Store)
	}
	return w
}

func (f *fixture) snapshotter() metastore.Snapshotter {
	f.t.Helper()
	s, ok := f.Store.(metastore.Snapshotter)
	if !ok {
		f.t.Skipf("%T is not a Snapshotter, which is optional", f.Store)
	}
	return s
}

func requireSignal(t *testing.T, signals <-chan struct{}) {
	t.Helper()
	select {
	case _, open := <-signals:
		require.True(t, open, "the watch ended")
	case <-time.After(10 * time.Second):
		t.Fatal("no signal")
	}
}

// requireClosed drains signals that were under way.
func requireClosed(t *testing.T, signals <-chan struct{}) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case _, open := <-signals:
			if !open {
				return
			}
		case <-deadline:
			t.Fatal("the watch did not end")
		}
	}
}

// snapshotOfOneMoment moves a pair of records together and never sees them
// apart.
func snapshotOfOneMoment(t *testing.T, s *fixture) {
	snap := s.snapshotter()
	s.put("x", "0", "y", "0")
	var mover sync.WaitGroup
	mover.Go(func() {
		for i := range 100 {
			old, next := fmt.Append(nil, i), fmt.Append(nil, i+1)
			if err := s.retrying(txn(metastore.Update("x", old, next), metastore.Update("y", old, next))); err != nil {
				t.Error(err)
			}
		}
	})
	for range 100 {
		found, err := snap.GetAll(t.Context(), []string{"x", "y"})
		if err != nil || string(found["x"].Value) != string(found["y"].Value) {
			t.Errorf("x=%s y=%s: %v", found["x"].Value, found["y"].Value, err)
		}
	}
	mover.Wait()
}
