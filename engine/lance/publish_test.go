// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// movingStore gives objects other names, as a local disk does. What it is told to
// stage it looks at during the call only.
type movingStore struct {
	*memStore
	refuses bool // to move
	loses   bool // the answer of a move
	moved   int
}

var (
	_ objstore.Mover  = (*movingStore)(nil)
	_ objstore.Stager = (*movingStore)(nil)
)

func (s *movingStore) Stage(ctx context.Context, key string, data []byte) error {
	return s.Put(ctx, key, data)
}

func (s *movingStore) Move(_ context.Context, from, to string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.objects[from]
	if _, taken := s.objects[to]; s.refuses || !ok || taken {
		return lake.Errorf(lake.Unavailable, "%s is not moved to %s", from, to)
	}
	delete(s.objects, from)
	s.objects[to] = data
	s.moved++
	if s.loses {
		return lake.Errorf(lake.Unavailable, "the answer is lost")
	}
	return nil
}

// TestAVersionIsPublishedByItsNameAlone publishes what was staged without
// reading it.
func TestAVersionIsPublishedByItsNameAlone(t *testing.T) {
	store := &movingStore{memStore: newMemStore()}
	tb := newTable(t, func(o *lance.Options) { o.Store = store })
	snap := tb.stage(tb.data(0, 1))
	gets, moved := store.gets, store.moved
	require.NoError(t, tb.publish(snap))
	require.Equal(t, gets, store.gets)
	require.Equal(t, moved+1, store.moved)
	require.NoError(t, tb.publish(snap), "again")
}

// TestStagedBytesAreNotNeededAgain publishes a version whose bytes were in memory
// that other versions have used since, by a store that does not move.
func TestStagedBytesAreNotNeededAgain(t *testing.T) {
	for name, fail := range map[string]func(*movingStore){
		"refused":     func(s *movingStore) { s.refuses = true },
		"answer lost": func(s *movingStore) { s.loses = true },
	} {
		t.Run(name, func(t *testing.T) {
			store := &movingStore{memStore: newMemStore()}
			tb := newTable(t, func(o *lance.Options) { o.Store = store })
			tb.store = store.memStore
			snap := tb.stage(tb.data(0, 3))
			for i := range 4 { // versions of the same number that will not be committed
				tb.stage(tb.data(int64(10*i), 5))
			}
			fail(store)
			require.NoError(t, tb.publish(snap))
			d, err := tb.e.Open(t.Context(), snap)
			require.NoError(t, err)
			require.EqualValues(t, 3, d.Rows())
			require.NoError(t, d.Close())
		})
	}
}
