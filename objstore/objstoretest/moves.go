// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package objstoretest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/objstore"
)

// mover returns the ability of the store, or skips the case.
func (f *fixture) mover() objstore.Mover {
	f.t.Helper()
	m, ok := f.Store.(objstore.Mover)
	if !ok {
		f.t.Skip("optional ability: this store does not move objects")
	}
	return m
}

// moveCases are about the optional ability [objstore.Mover].
var moveCases = []namedCase{
	{"move/new name", func(t *testing.T, s *fixture) {
		m := s.mover()
		s.put("a/old")
		require.NoError(t, m.Move(t.Context(), "a/old", "b/c/new"))
		s.holds("b/c/new", []byte("a/old"))
		s.absent("a/old")
		require.Equal(t, []string{"b/c/new"}, s.list("", 10))
	}},
	{"move/taken name", func(t *testing.T, s *fixture) {
		m := s.mover()
		s.put("a/old", "a/taken")
		require.ErrorIs(t, m.Move(t.Context(), "a/old", "a/taken"), objstore.ErrExists)
		s.holds("a/taken", []byte("a/taken"))
		s.holds("a/old", []byte("a/old"))
	}},
	{"move/missing object", func(t *testing.T, s *fixture) {
		m := s.mover()
		s.put("a/b/there")
		for _, from := range []string{"none", "a/none", "a/b", "x/y/z"} {
			require.ErrorIs(t, m.Move(t.Context(), from, "a/new"), objstore.ErrNotFound, from)
		}
		s.absent("a/new")
	}},
	{"move/bad names", func(t *testing.T, s *fixture) {
		m := s.mover()
		s.put("a")
		require.ErrorIs(t, m.Move(t.Context(), "a", "b//c"), objstore.ErrInvalid)
		require.ErrorIs(t, m.Move(t.Context(), "../a", "b"), objstore.ErrInvalid)
		s.holds("a", []byte("a"))
	}},
	{"move/one of many wins", func(t *testing.T, s *fixture) {
		m := s.mover()
		const n = 16
		for i := range n {
			s.put(fmt.Sprintf("from/%d", i))
		}
		var wins atomic.Int32
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				err := m.Move(t.Context(), fmt.Sprintf("from/%d", i), "to/one")
				if err == nil {
					wins.Add(1)
				} else if !errors.Is(err, objstore.ErrExists) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, wins.Load())
		require.Len(t, s.list("from/", 100), n-1, "the losers keep their objects")
	}},
	{"move/the same object twice", func(t *testing.T, s *fixture) {
		m := s.mover()
		s.put("from")
		var wins atomic.Int32
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				err := m.Move(t.Context(), "from", fmt.Sprintf("to/%d", i))
				if err == nil {
					wins.Add(1)
				} else if !errors.Is(err, objstore.ErrNotFound) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.Positive(t, wins.Load(), "racing movers may share it: its bytes never change")
		s.absent("from")
	}},
}
