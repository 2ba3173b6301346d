// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

func TestFilter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFilter(1 << 12)
		names := rapid.SliceOf(rapid.String()).Draw(t, "names")
		for _, name := range names {
			f.add(name)
		}
		for _, name := range names {
			require.True(t, f.has(name))
		}
	})
	f := newFilter(1 << 20)
	for i := range 1 << 20 / 10 {
		f.add(fmt.Sprint("there/", i))
	}
	wrong := 0
	for i := range 100_000 {
		if f.has(fmt.Sprint("absent/", i)) {
			wrong++
		}
	}
	require.Less(t, wrong, 2500, "about one in a hundred")
}

// TestKeysOfBeforeAreKnown opens a store with records and tokens and finds that
// creates conflict and retries are recognised, before and after the filters
// are filled.
func TestKeysOfBeforeAreKnown(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	require.NoError(t, err)
	txn := func(i int) metastore.Txn {
		return metastore.Txn{Token: fmt.Sprint("t", i), Ops: []metastore.Op{metastore.Create(fmt.Sprint("k/", i), []byte("1"))}}
	}
	const n = 3000
	for i := range n {
		require.NoError(t, s.db.Set(recordKey(nil, fmt.Sprint("k/", i)), []byte("1"), nil))
	}
	require.NoError(t, s.Commit(t.Context(), metastore.Txn{Token: "last", Ops: []metastore.Op{metastore.Create("last", nil)}}))
	require.NoError(t, s.Close())

	s, err = Open(dir, Options{})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Commit(t.Context(), metastore.Txn{Token: "last", Ops: []metastore.Op{metastore.Create("last", nil)}}))
	check := func() {
		for i := 0; i < n; i += 97 {
			require.ErrorAs(t, s.Commit(t.Context(), txn(i)), new(*metastore.ConflictError))
			got, err := s.Get(t.Context(), fmt.Sprint("k/", i))
			require.NoError(t, err)
			require.Equal(t, "1", string(got.Value))
		}
	}
	check()
	require.Eventually(t, func() bool { return s.keys.ready.Load() && s.tokens.filled.Load() }, 20*time.Second, time.Millisecond)
	check()
	require.NoError(t, s.Commit(t.Context(), metastore.Txn{Token: "last", Ops: []metastore.Op{metastore.Create("last", nil)}}))
	require.False(t, s.keys.mayHold("never"))
	_, err = s.Get(t.Context(), "never")
	require.True(t, lake.Is(err, lake.NotFound), "%v", err)
	require.NoError(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create("never", nil)}}))
	require.True(t, s.keys.mayHold("never"))
	_, err = s.Get(t.Context(), "never")
	require.NoError(t, err)
}
