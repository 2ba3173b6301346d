// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metastoretest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore"
)

var tokenCases = []namedCase{
	{"token/a retry succeeds and applies once", func(t *testing.T, s *fixture) {
		first := metastore.Txn{Token: "t1", Ops: []metastore.Op{metastore.Create("a", []byte("1")), metastore.GuardAbsent("g")}}
		for range 3 {
			require.NoError(t, s.Commit(t.Context(), first))
		}
		s.commit(metastore.Update("a", []byte("1"), []byte("2")), metastore.Create("g", nil))
		require.NoError(t, s.Commit(t.Context(), first), "also after others changed the keys")
		s.holds("a", "2")
		s.commit(metastore.Remove("a", []byte("2")))
		require.NoError(t, s.Commit(t.Context(), first))
		s.absent("a")
	}},
	{"token/a retry may reorder its operations", func(t *testing.T, s *fixture) {
		a, b := metastore.Create("a", []byte("1")), metastore.Create("b", []byte("1"))
		require.NoError(t, s.Commit(t.Context(), metastore.Txn{Token: "t", Ops: []metastore.Op{a, b}}))
		require.NoError(t, s.Commit(t.Context(), metastore.Txn{Token: "t", Ops: []metastore.Op{b, a}}))
	}},
	{"token/reuse with other operations is refused", func(t *testing.T, s *fixture) {
		base := metastore.Create("a", []byte("1"))
		require.NoError(t, s.Commit(t.Context(), metastore.Txn{Token: "t", Ops: []metastore.Op{base}}))
		for name, ops := range map[string][]metastore.Op{
			"other value":  {metastore.Create("a", []byte("2"))},
			"other key":    {metastore.Create("b", []byte("1"))},
			"other effect": {metastore.Remove("a", []byte("1"))},
			"more":         {base, metastore.Create("b", []byte("1"))},
		} {
			err := s.Commit(t.Context(), metastore.Txn{Token: "t", Ops: ops})
			require.ErrorIs(t, err, metastore.ErrInvalid, name)
		}
		require.Equal(t, map[string]string{"a": "1"}, s.all("", 10))
	}},
	{"token/a conflict does not use it up", func(t *testing.T, s *fixture) {
		s.put("a", "1")
		late := metastore.Txn{Token: "t", Ops: []metastore.Op{metastore.Create("a", []byte("2"))}}
		s.isConflict(s.Commit(t.Context(), late), "a")
		s.commit(metastore.Remove("a", []byte("1")))
		require.NoError(t, s.Commit(t.Context(), late))
		require.NoError(t, s.Commit(t.Context(), late))
		s.holds("a", "2")
	}},
	{"token/guards only", func(t *testing.T, s *fixture) {
		s.put("g", "1")
		check := metastore.Txn{Token: "t", Ops: []metastore.Op{metastore.Guard("g", []byte("1"))}}
		require.NoError(t, s.Commit(t.Context(), check))
		s.commit(metastore.Remove("g", []byte("1")))
		require.NoError(t, s.Commit(t.Context(), check), "the first attempt applied")
	}},
	{"token/without one every call is a transaction of its own", func(t *testing.T, s *fixture) {
		op := metastore.Create("a", []byte("1"))
		s.commit(op)
		s.conflicts([]string{"a"}, op)
	}},
	{"token/any bytes, and apart from keys", func(t *testing.T, s *fixture) {
		for i, token := range []string{"a", "a/b", "'; --", "\x00", "\xff\xfe", strings.Repeat("x", metastore.MaxTokenBytes)} {
			create := metastore.Txn{Token: token, Ops: []metastore.Op{metastore.Create(fmt.Sprint("k", i), nil)}}
			require.NoError(t, s.Commit(t.Context(), create), "%q", token)
			require.NoError(t, s.Commit(t.Context(), create), "%q", token)
		}
		require.Len(t, s.all("", 100), 6)
		s.absent("a/b")
	}},
	{"token/16 attempts at once apply once", attemptsAtOnce},
}

func attemptsAtOnce(t *testing.T, s *fixture) {
	s.put("n", "0")
	for round := range 10 {
		old, next := fmt.Append(nil, round), fmt.Append(nil, round+1)
		attempt := metastore.Txn{Token: fmt.Sprint("round-", round), Ops: []metastore.Op{
			metastore.Update("n", old, next), metastore.Create(fmt.Sprint("log/", round), next),
		}}
		errs := make([]error, 16)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { errs[i] = s.retrying(attempt) })
		}
		all.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
		s.holds("n", string(next))
	}
	require.Len(t, s.all("log/", 100), 10)
}
