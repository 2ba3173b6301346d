// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package objstoretest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// deleteAll deletes a batch that must succeed.
func (f *fixture) deleteAll(keys ...string) {
	f.t.Helper()
	n, err := objstore.DeleteAll(f.t.Context(), f.Store, keys)
	require.NoError(f.t, err)
	require.Equal(f.t, len(keys), n)
}

// pages collects the keys of a listing by pages and checks each of them.
func (f *fixture) pages(prefix, after string, limit int) []string {
	f.t.Helper()
	keys := []string{}
	last := limit
	for infos, err := range objstore.Pages(f.t.Context(), f.Store, prefix, after, limit) {
		require.NoError(f.t, err)
		require.Equal(f.t, limit, last, "only the last page is short")
		last = len(infos)
		require.NotZero(f.t, last)
		require.LessOrEqual(f.t, last, limit)
		for _, info := range infos {
			require.False(f.t, info.Modified.IsZero(), "modification time of %q", info.Key)
			keys = append(keys, info.Key)
		}
	}
	require.IsIncreasing(f.t, append([]string{after}, keys...))
	return keys
}

var batchCases = []namedCase{
	{"batch/exactly what is named", func(t *testing.T, s *fixture) {
		gone := []string{"ns/t.lance/data/1", "ns/t.lance/data/2", "ns/t.lance/_versions/1", "ns/top"}
		stay := []string{"ns/t.lance/data/10", "ns/t.lance2/data/1", "ns/t.lance-x/1", "ns/t.lance/data/2.x", "ns/topper", "ns2/top", "data/1"}
		s.put(gone...)
		s.put(stay...)
		s.deleteAll(gone...)
		for _, key := range gone {
			s.absent(key)
		}
		require.Equal(t, sorted(stay...), s.list("", 3))
		for _, key := range stay {
			s.holds(key, []byte(key))
		}
	}},
	{"batch/none, missing and repeated keys", func(t *testing.T, s *fixture) {
		s.put("a/b/c", "a/x")
		for range 2 {
			s.deleteAll()
			s.deleteAll("x", "x/y/z", "a", "a/b", "a/b/d", "a/b/c/d", "a/x", "a/x", "a/x/y")
		}
		require.Equal(t, []string{"a/b/c"}, s.list("", 10), "a folder is no object")
		s.deleteAll("a/b/c", "a/x", "a/b/c")
		require.Empty(t, s.list("", 10))
	}},
	{"batch/an invalid key deletes nothing", func(t *testing.T, s *fixture) {
		s.put("a", "b/c")
		for _, bad := range []string{"", "/", "b/", "../a", "b//c", "a\xff", "a\x00"} {
			n, err := objstore.DeleteAll(t.Context(), s.Store, []string{"a", "b/c", bad})
			require.ErrorIs(t, err, objstore.ErrInvalid, "%q", bad)
			require.True(t, lake.Is(err, lake.Invalid))
			require.Zero(t, n)
		}
		require.Equal(t, []string{"a", "b/c"}, s.list("", 10))
	}},
	{"batch/frees the folders' names", func(_ *testing.T, s *fixture) {
		s.put("a/b/c/d", "a/b/c/e", "a/f/g")
		s.deleteAll("a/b/c/e", "a/f/g", "a/b/c/d")
		s.put("a")
		s.deleteAll("a")
		s.put("a/b/c/d")
	}},
	{"batch/many", func(t *testing.T, s *fixture) {
		var keys, odd []string
		for i := range 300 {
			key := fmt.Sprintf("m/%d/%05d", i%3, i)
			if keys = append(keys, key); i%2 == 1 {
				odd = append(odd, key)
			}
		}
		s.putMany(keys)
		s.deleteAll(odd...)
		require.Len(t, s.list("m/", objstore.MaxPage), 150)
		s.deleteAll(keys...)
		require.Empty(t, s.list("m/", 1))
	}},
	{"batch/an ended context does nothing", func(t *testing.T, s *fixture) {
		s.put("a", "b")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		n, err := objstore.DeleteAll(ctx, s.Store, []string{"b", "a"})
		require.ErrorIs(t, err, context.Canceled)
		var failed *objstore.DeleteError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, []string{"b", "a"}, failed.Failed)
		require.Zero(t, n)
		require.Equal(t, []string{"a", "b"}, s.list("", 10))
	}},
	{"batch/one cut off says what may be left", cutOff},
	{"batch/batches and puts in one folder", batchesAndPuts},
}

// cutOff ends the context of batches at various moments: what a batch does not
// name as left is gone, and what is left is whole.
func cutOff(t *testing.T, s *fixture) {
	var keys []string
	for i := range 24 {
		keys = append(keys, fmt.Sprintf("c/%d/%02d", i%2, i))
	}
	for round := range 4 {
		s.putMissing(keys)
		ctx, cancel := context.WithCancelCause(t.Context())
		watched := &countdown{Context: ctx, left: round * 9, end: func() { cancel(context.Canceled) }}
		n, err := objstore.DeleteAll(watched, s.Store, keys)
		cancel(nil)
		left := map[string]bool{}
		var failed *objstore.DeleteError
		if errors.As(err, &failed) {
			require.ErrorIs(t, err, context.Canceled)
			for _, key := range failed.Failed {
				left[key] = true
			}
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, len(keys), n+len(left), "round %d", round)
		for _, key := range s.list("c/", objstore.MaxPage) {
			require.True(t, left[key], "%s is there and was not named", key)
			s.holds(key, []byte(key))
		}
	}
}

// countdown is a context that ends when it has been asked a number of times.
type countdown struct {
	context.Context
	mu   sync.Mutex
	left int
	end  func()
}

func (c *countdown) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left < 0 {
		c.end()
	}
	return c.Context.Err()
}

func (f *fixture) putMissing(keys []string) {
	f.t.Helper()
	for _, key := range keys {
		require.NoError(f.t, objstore.PutIdentical(f.t.Context(), f, key, []byte(key)))
	}
}

// batchesAndPuts empties folders by batches while others fill them.
func batchesAndPuts(t *testing.T, s *fixture) {
	var all sync.WaitGroup
	for w := range 6 {
		all.Go(func() {
			for i := range 15 {
				keys := []string{fmt.Sprintf("x/y/%d/%d", i%2, w), fmt.Sprintf("x/%d", w), fmt.Sprintf("x/z/%d", w)}
				for _, key := range keys {
					if err := s.Put(t.Context(), key, []byte(key)); err != nil {
						t.Errorf("put: %v", err)
					}
				}
				if n, err := objstore.DeleteAll(t.Context(), s.Store, keys); err != nil || n != len(keys) {
					t.Errorf("delete: %d, %v", n, err)
				}
			}
		})
	}
	all.Wait()
	require.Empty(t, s.list("", 10))
}

var pagesCases = []namedCase{
	{"pages/as listed", func(t *testing.T, s *fixture) {
		require.Empty(t, s.pages("", "", 1))
		keys := []string{"a-b", "a.b", "a/b", "a/b-c/d", "a/b.c", "a/b0", "a0/b", "aB", "ab", "a!", "b/a/a", "b/a-/a", "Z", "é", "日/本"}
		s.put(keys...)
		for _, limit := range []int{1, 2, 3, 5, len(keys), objstore.MaxPage} {
			require.Equal(t, sorted(keys...), s.pages("", "", limit), "limit %d", limit)
			require.Equal(t, []string{"a/b0"}, s.pages("a/", "a/b.c", limit))
			require.Empty(t, s.pages("c/", "", limit))
		}
	}},
	{"pages/bad arguments", func(t *testing.T, s *fixture) {
		s.put("ns/a")
		for _, c := range []struct {
			prefix, after string
			limit         int
		}{{"ns", "", 1}, {"", "a//b", 1}, {"", "", 0}, {"", "", objstore.MaxPage + 1}} {
			calls := 0
			for infos, err := range objstore.Pages(t.Context(), s.Store, c.prefix, c.after, c.limit) {
				calls++
				require.ErrorIs(t, err, objstore.ErrInvalid, "%+v", c)
				require.Empty(t, infos)
			}
			require.Equal(t, 1, calls)
		}
	}},
	{"pages/deleting what a page held reaches the end", func(t *testing.T, s *fixture) {
		for i := range 40 {
			s.put(fmt.Sprintf("d/%d/%02d", i%3, i), fmt.Sprintf("e/%02d", i))
		}
		total := 0
		for infos, err := range objstore.Pages(t.Context(), s.Store, "d/", "", 4) {
			require.NoError(t, err)
			var keys []string
			for _, info := range infos {
				keys = append(keys, info.Key)
			}
			s.deleteAll(keys...)
			total += len(keys)
		}
		require.Equal(t, 40, total)
		require.Empty(t, s.list("d/", 10))
		require.Len(t, s.list("e/", 10), 40)
	}},
	{"pages/what has gone is left out", func(t *testing.T, s *fixture) {
		s.put("d/1", "d/2", "d/3", "d/4")
		var got []string
		for infos, err := range objstore.Pages(t.Context(), s.Store, "d/", "", 2) {
			require.NoError(t, err)
			for _, info := range infos {
				got = append(got, info.Key)
			}
			require.NoError(t, s.Delete(t.Context(), "d/3"))
		}
		require.Equal(t, []string{"d/1", "d/2", "d/4"}, got)
	}},
	{"pages/a loop may end early", func(t *testing.T, s *fixture) {
		s.put("d/1", "d/2", "d/3")
		for infos, err := range objstore.Pages(t.Context(), s.Store, "", "", 1) {
			require.NoError(t, err)
			require.Len(t, infos, 1)
			break
		}
	}},
	{"pages/an ended context is the last word", func(t *testing.T, s *fixture) {
		s.put("d/1", "d/2", "d/3")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var errs []error
		for _, err := range objstore.Pages(ctx, s.Store, "", "", 1) {
			errs = append(errs, err)
			cancel()
		}
		require.Len(t, errs, 2)
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], context.Canceled)
	}},
}
