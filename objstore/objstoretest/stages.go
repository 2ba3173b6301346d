// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package objstoretest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/objstore"
)

// stager returns the ability of the store, or skips the case.
func (f *fixture) stager() objstore.Stager {
	f.t.Helper()
	st, ok := f.Store.(objstore.Stager)
	if !ok {
		f.t.Skip("optional ability: this store does not stage objects")
	}
	return st
}

// stageCases are about the optional ability [objstore.Stager].
var stageCases = []namedCase{
	{"stage/is there", func(t *testing.T, s *fixture) {
		st := s.stager()
		for _, key := range []string{"top", "a/b/1", "a/b/2"} {
			require.NoError(t, st.Stage(t.Context(), key, []byte(key)))
			s.holds(key, []byte(key))
		}
		require.NoError(t, st.Stage(t.Context(), "empty", nil))
		s.holds("empty", []byte{})
		require.Equal(t, []string{"a/b/1", "a/b/2", "empty", "top"}, s.list("", 10))
	}},
	{"stage/taken name", func(t *testing.T, s *fixture) {
		st := s.stager()
		s.put("a/taken")
		require.ErrorIs(t, st.Stage(t.Context(), "a/taken", []byte("other")), objstore.ErrExists)
		s.holds("a/taken", []byte("a/taken"))
	}},
	{"stage/bad names", func(t *testing.T, s *fixture) {
		require.ErrorIs(t, s.stager().Stage(t.Context(), "b//c", nil), objstore.ErrInvalid)
	}},
	{"stage/ended context", func(t *testing.T, s *fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, s.stager().Stage(ctx, "a", nil), context.Canceled)
		s.absent("a")
	}},
	{"stage/one of many wins", func(t *testing.T, s *fixture) {
		st := s.stager()
		var wins atomic.Int32
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				err := st.Stage(t.Context(), "to/one", fmt.Append(nil, i))
				if err == nil {
					wins.Add(1)
				} else if !errors.Is(err, objstore.ErrExists) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, wins.Load())
	}},
	{"stage/again", func(t *testing.T, s *fixture) { // with or without the ability
		for range 2 {
			require.NoError(t, objstore.StageIdentical(t.Context(), s.Store, "a/1", []byte("x")))
		}
		require.ErrorIs(t, objstore.StageIdentical(t.Context(), s.Store, "a/1", []byte("y")), objstore.ErrExists)
		s.holds("a/1", []byte("x"))
	}},
}
