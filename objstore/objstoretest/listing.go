// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package objstoretest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/objstore"
)

var listCases = []namedCase{
	{"list/empty store", func(t *testing.T, s *fixture) {
		require.Empty(t, s.list("", 1))
		require.Empty(t, s.list("a/", 1))
	}},
	{"list/folder boundaries", func(t *testing.T, s *fixture) {
		keys := []string{
			"ns/t.lance/data/1", "ns/t.lance/_versions/1.manifest", "ns/t.lance2/data/1", "ns/t.lanc", "ns/t.lance-x/1", "ns2/t.lance/1", "top",
		}
		s.put(keys...)
		require.Equal(t, []string{"ns/t.lance/_versions/1.manifest", "ns/t.lance/data/1"}, s.list("ns/t.lance/", 10))
		require.Equal(t, []string{"ns/t.lance2/data/1"}, s.list("ns/t.lance2/", 10))
		require.Equal(t, []string{"ns2/t.lance/1"}, s.list("ns2/", 10))
		require.Empty(t, s.list("ns/t.lanc/", 10), "an object is not a folder")
		require.Empty(t, s.list("n/", 10))
		require.Equal(t, sorted(keys...), s.list("", 2))
	}},
	{"list/a part of a name is no prefix", func(t *testing.T, s *fixture) {
		for _, prefix := range []string{"ns", "ns/t.lance", "/", "a//", "../", "a/../"} {
			_, _, err := s.List(t.Context(), prefix, "", 10)
			require.ErrorIs(t, err, objstore.ErrInvalid, "prefix %q", prefix)
		}
	}},
	{"list/byte order of whole keys", func(t *testing.T, s *fixture) {
		// '-', '.' sort before '/', digits and letters after it.
		keys := []string{"a-b", "a.b", "a/b", "a/b-c/d", "a/b.c", "a/b0", "a0/b", "aB", "ab", "a!", "b/a/a", "b/a-/a", "Z", "é", "éy", "日/本"}
		s.put(keys...)
		want := sorted(keys...)
		for _, limit := range []int{1, 2, 3, 5, len(keys), objstore.MaxPage} {
			require.Equal(t, want, s.list("", limit), "limit %d", limit)
		}
	}},
	{"list/after any key", func(t *testing.T, s *fixture) {
		keys := sorted("a/1", "a/2/x", "a/2/y", "a/2-", "a/3", "b")
		s.put(keys...)
		for _, after := range []string{"0", "a", "a/0", "a/1", "a/2", "a/2/", "a/2-", "a/2/x", "a/2/xx", "a/2/y/z", "a/20", "a/3", "a/3/x", "az", "b", "c"} {
			var all, inA []string
			for _, key := range keys {
				if key > after {
					all = append(all, key)
					if strings.HasPrefix(key, "a/") {
						inA = append(inA, key)
					}
				}
			}
			if strings.HasSuffix(after, "/") {
				continue // not a key
			}
			require.Equal(t, all, s.keysAfter("", after), "after %q", after)
			require.Equal(t, inA, s.keysAfter("a/", after), "in a/ after %q", after)
		}
	}},
	{"list/size and exact pages", func(t *testing.T, s *fixture) {
		for i := range 4 {
			require.NoError(t, s.Put(t.Context(), fmt.Sprint("p/", i), make([]byte, i*1000)))
		}
		infos, more, err := s.List(t.Context(), "p/", "", 4)
		require.NoError(t, err)
		require.False(t, more, "a page that ends exactly at the end has no more")
		require.Len(t, infos, 4)
		for i, info := range infos {
			require.EqualValues(t, i*1000, info.Size)
		}
	}},
	{"list/bad arguments", func(t *testing.T, s *fixture) {
		for _, limit := range []int{-1, 0, objstore.MaxPage + 1} {
			_, _, err := s.List(t.Context(), "", "", limit)
			require.ErrorIs(t, err, objstore.ErrInvalid, "limit %d", limit)
		}
		_, _, err := s.List(t.Context(), "", "a//b", 1)
		require.ErrorIs(t, err, objstore.ErrInvalid)
	}},
	{"list/sees every acknowledged change", func(t *testing.T, s *fixture) {
		for i := range 30 {
			key := fmt.Sprintf("d/%02d", i)
			s.put(key)
			require.Contains(t, s.list("d/", 7), key)
		}
		for i := range 30 {
			require.NoError(t, s.Delete(t.Context(), fmt.Sprintf("d/%02d", i)))
			require.Len(t, s.list("d/", 7), 29-i)
		}
	}},
	{"list/deleting what a page returned reaches the end", func(t *testing.T, s *fixture) {
		for i := range 25 {
			s.put(fmt.Sprintf("d/%d/%02d", i%3, i), fmt.Sprintf("e/%02d", i))
		}
		after := ""
		for {
			infos, more, err := s.List(t.Context(), "d/", after, 4)
			require.NoError(t, err)
			for _, info := range infos {
				require.NoError(t, s.Delete(t.Context(), info.Key))
				after = info.Key
			}
			if !more {
				break
			}
		}
		require.Empty(t, s.list("d/", 10))
		require.Len(t, s.list("e/", 10), 25)
	}},
	{"list/more than one full page", func(t *testing.T, s *fixture) {
		var want []string
		for i := range objstore.MaxPage + 50 {
			want = append(want, fmt.Sprintf("many/%05d", i))
		}
		s.putMany(want)
		require.Equal(t, want, s.list("many/", objstore.MaxPage))
	}},
}

// keysAfter returns one page of keys, nil for none.
func (f *fixture) keysAfter(prefix, after string) (keys []string) {
	f.t.Helper()
	infos, more, err := f.List(f.t.Context(), prefix, after, objstore.MaxPage)
	require.NoError(f.t, err)
	require.False(f.t, more)
	for _, info := range infos {
		keys = append(keys, info.Key)
	}
	return keys
}

var deleteCases = []namedCase{
	{"delete/removes one object", func(t *testing.T, s *fixture) {
		s.put("a/b/1", "a/b/2")
		require.NoError(t, s.Delete(t.Context(), "a/b/1"))
		s.absent("a/b/1")
		s.holds("a/b/2", []byte("a/b/2"))
		require.Equal(t, []string{"a/b/2"}, s.list("", 10))
	}},
	{"delete/missing object succeeds", func(t *testing.T, s *fixture) {
		s.put("a/b/c")
		for _, key := range []string{"x", "x/y/z", "a", "a/b", "a/b/d", "a/b/c/d"} {
			require.NoError(t, s.Delete(t.Context(), key), key)
			require.NoError(t, s.Delete(t.Context(), key), key)
		}
		s.holds("a/b/c", []byte("a/b/c"))
	}},
	{"delete/frees the folder's name", func(t *testing.T, s *fixture) {
		s.put("a/b/c/d")
		require.NoError(t, s.Delete(t.Context(), "a/b/c/d"))
		s.put("a/b")
		s.holds("a/b", []byte("a/b"))
		require.NoError(t, s.Delete(t.Context(), "a/b"))
		s.put("a/b/c/d")
	}},
}
