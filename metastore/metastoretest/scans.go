// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metastoretest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore"
)

var scanCases = []namedCase{
	{"scan/empty store", func(t *testing.T, s *fixture) {
		page, err := s.Scan(t.Context(), "a/", "", 10)
		require.NoError(t, err)
		require.Empty(t, page.Records)
		require.Empty(t, s.all("", 10))
	}},
	{"scan/prefix boundaries", func(t *testing.T, s *fixture) {
		keys := []string{"a", "a/1", "a/2", "a/2/x", "a2/1", "ab", "b/1", "A/1", "a.b/1", "a-b"}
		s.fill(keys)
		for prefix, want := range map[string][]string{
			"a/":   {"a/1", "a/2", "a/2/x"},
			"a/2":  {"a/2", "a/2/x"},
			"a2/":  {"a2/1"},
			"a":    {"a", "a-b", "a.b/1", "a/1", "a/2", "a/2/x", "a2/1", "ab"},
			"b/1":  {"b/1"},
			"b/1/": nil,
			"c":    nil,
			"A":    {"A/1"},
		} {
			require.Equal(t, want, nilIfEmpty(keysOf(s.all(prefix, 3))), "prefix %q", prefix)
		}
		require.Len(t, s.all("", 3), len(keys))
	}},
	{"scan/prefix characters are not patterns", func(t *testing.T, s *fixture) {
		s.fill([]string{"a%/1", "ab/1", "a_/1", "a*/1", `a\/1`, "a?/1", "a[b]/1", "a'/1"})
		for _, prefix := range []string{"a%/", "a_/", "a*/", `a\/`, "a?/", "a[b]/", "a'/"} {
			require.Equal(t, []string{prefix + "1"}, keysOf(s.all(prefix, 10)), "prefix %q", prefix)
		}
	}},
	{"scan/prefix at the end of the alphabet", func(t *testing.T, s *fixture) {
		top := "\U0010ffff"
		s.fill([]string{top, top + top, "z", "é/1", "é/2", "ê/1"})
		require.Equal(t, []string{top, top + top}, keysOf(s.all(top, 10)))
		require.Equal(t, []string{"é/1", "é/2"}, keysOf(s.all("é/", 1)))
	}},
	{"scan/every page size finds every key once", func(t *testing.T, s *fixture) {
		var keys []string
		for i := range 50 {
			keys = append(keys, fmt.Sprintf("p/%02d", i))
		}
		s.fill(keys)
		s.fill([]string{"o/1", "q/1"})
		for _, limit := range []int{1, 2, 7, 49, 50, 51, metastore.MaxPage} {
			require.Equal(t, keys, keysOf(s.all("p/", limit)), "limit %d", limit)
		}
	}},
	{"cursor/survives deletion of its row", cursorSurvives},
	{"cursor/sees what lies ahead of it now", func(t *testing.T, s *fixture) {
		s.fill([]string{"p/1", "p/2", "p/3"})
		first, err := s.Scan(t.Context(), "p/", "", 1)
		require.NoError(t, err)
		require.NotEmpty(t, first.Next)
		s.commit(metastore.Remove("p/1", []byte("p/1")), metastore.Remove("p/2", []byte("p/2")), metastore.Remove("p/3", []byte("p/3")))
		rest := map[string]string{}
		for cursor := first.Next; cursor != ""; {
			page, err := s.Scan(t.Context(), "p/", cursor, 1)
			require.NoError(t, err, "a cursor stays good when everything is gone")
			require.NoError(t, addPage(rest, page, "p/", 1))
			cursor = page.Next
		}
		require.Empty(t, rest)
	}},
	{"cursor/of another prefix is refused", func(t *testing.T, s *fixture) {
		s.fill([]string{"a/1", "a/2", "a/3", "a2/1", "a2/2"})
		page, err := s.Scan(t.Context(), "a/", "", 1)
		require.NoError(t, err)
		require.NotEmpty(t, page.Next)
		for _, prefix := range []string{"", "a", "a2/", "a/1", "b/"} {
			_, err := s.Scan(t.Context(), prefix, page.Next, 1)
			require.ErrorIs(t, err, metastore.ErrInvalid, "prefix %q", prefix)
		}
	}},
	{"cursor/garbage is refused", func(t *testing.T, s *fixture) {
		for _, cursor := range []string{"x", "a/1", "!!!", strings.Repeat("A", 40), "\x00"} {
			_, err := s.Scan(t.Context(), "a/", cursor, 1)
			require.ErrorIs(t, err, metastore.ErrInvalid, "cursor %q", cursor)
		}
	}},
	{"cursor/can be used twice", func(t *testing.T, s *fixture) {
		s.fill([]string{"a/1", "a/2", "a/3"})
		first, err := s.Scan(t.Context(), "a/", "", 2)
		require.NoError(t, err)
		again, err := s.Scan(t.Context(), "a/", first.Next, 2)
		require.NoError(t, err)
		repeat, err := s.Scan(t.Context(), "a/", first.Next, 2)
		require.NoError(t, err)
		require.Equal(t, again.Records, repeat.Records)
	}},
	{"scan/pages of large values", func(t *testing.T, s *fixture) {
		big := bytes.Repeat([]byte("v"), metastore.MaxValueBytes)
		var keys []string
		for i := range 50 { // 17 MiB: more than one page may hold on any backend
			key := fmt.Sprintf("big/%02d", i)
			s.commit(metastore.Create(key, big))
			keys = append(keys, key)
		}
		found := s.all("big/", metastore.MaxPage)
		require.Equal(t, keys, keysOf(found))
		require.Equal(t, string(big), found["big/49"])
	}},
}

func nilIfEmpty(keys []string) []string {
	if len(keys) == 0 {
		return nil
	}
	return keys
}

// cursorSurvives deletes, after each page, the rows around the cursor.
func cursorSurvives(t *testing.T, s *fixture) {
	var keys []string
	for i := range 20 {
		keys = append(keys, fmt.Sprintf("p/%02d", i))
	}
	s.fill(keys)
	found := map[string]string{}
	deleted := map[string]bool{}
	for cursor := ""; ; {
		page, err := s.Scan(t.Context(), "p/", cursor, 3)
		require.NoError(t, err)
		require.NoError(t, addPage(found, page, "p/", 3))
		for _, rec := range page.Records {
			s.commit(metastore.Remove(rec.Key, rec.Value))
			deleted[rec.Key] = true
		}
		if page.Next == "" {
			break
		}
		cursor = page.Next
	}
	require.Equal(t, keys, keysOf(found))
	require.Len(t, deleted, len(keys))
	require.Empty(t, s.all("p/", 3))
	require.True(t, slices.IsSorted(keys))
}
