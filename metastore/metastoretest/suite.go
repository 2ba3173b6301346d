// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package metastoretest is the conformance suite of metastore backends. A
// backend calls [Run], [RunModel], [RunHistories] and [Bench] from its own tests:
//
//	func TestStore(t *testing.T) { metastoretest.Run(t, open) }
package metastoretest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore"
)

// Factory opens a store with no records. It registers with tb what must be
// cleaned up, closing the store included.
type Factory func(tb testing.TB) metastore.Store

// Run runs every conformance case, each on a store of its own, some at a time.
func Run(t *testing.T, open Factory) {
	for _, group := range [][]namedCase{commitCases, tokenCases, scanCases, limitCases, keyCases, raceCases, lifeCases, abilityCases} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel() // most of the time is spent waiting for a disk or a server
				c.run(t, &fixture{Store: open(t), t: t, open: open})
			})
		}
	}
}

type namedCase struct {
	name string
	run  func(t *testing.T, s *fixture)
}

// fixture is the store under test with the assertions the cases share.
type fixture struct {
	metastore.Store
	t    *testing.T
	open Factory
}

func txn(ops ...metastore.Op) metastore.Txn { return metastore.Txn{Ops: ops} }

func (f *fixture) commit(ops ...metastore.Op) {
	f.t.Helper()
	require.NoError(f.t, f.Commit(f.t.Context(), txn(ops...)))
}

// put sets up records that must not exist yet.
func (f *fixture) put(pairs ...string) {
	f.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		f.commit(metastore.Create(pairs[i], []byte(pairs[i+1])))
	}
}

// fill creates many records with their key as value.
func (f *fixture) fill(keys []string) {
	f.t.Helper()
	for chunk := range slices.Chunk(keys, metastore.MaxOps) {
		var ops []metastore.Op
		for _, key := range chunk {
			ops = append(ops, metastore.Create(key, []byte(key)))
		}
		f.commit(ops...)
	}
}

// holds asserts the value of a key.
func (f *fixture) holds(key, want string) {
	f.t.Helper()
	rec, err := f.Get(f.t.Context(), key)
	require.NoError(f.t, err, key)
	require.Equal(f.t, key, rec.Key)
	require.NotNil(f.t, rec.Value)
	require.Equal(f.t, want, string(rec.Value))
}

// absent asserts that there is no record.
func (f *fixture) absent(key string) {
	f.t.Helper()
	_, err := f.Get(f.t.Context(), key)
	require.ErrorIs(f.t, err, metastore.ErrNotFound, key)
}

// conflicts asserts that ops fail on one of keys, and that a current value, if
// the backend tells it, is the one of that key.
func (f *fixture) conflicts(keys []string, ops ...metastore.Op) {
	f.t.Helper()
	f.isConflict(f.Commit(f.t.Context(), txn(ops...)), keys...)
}

func (f *fixture) isConflict(err error, keys ...string) {
	f.t.Helper()
	var conflict *metastore.ConflictError
	require.ErrorAs(f.t, err, &conflict)
	require.Contains(f.t, keys, conflict.Key)
	require.NotErrorIs(f.t, err, metastore.ErrRetryable, "a conflict is a definite answer")
	if !conflict.Known {
		return
	}
	rec, err := f.Get(f.t.Context(), conflict.Key)
	if conflict.Current == nil {
		require.ErrorIs(f.t, err, metastore.ErrNotFound)
		return
	}
	require.NoError(f.t, err)
	require.Equal(f.t, rec.Value, conflict.Current)
}

// all reads a whole scan with the given page limit. It checks the order inside
// each page and that no key comes twice.
func (f *fixture) all(prefix string, limit int) map[string]string {
	f.t.Helper()
	found, err := scanAll(f.t.Context(), f.Store, prefix, limit)
	require.NoError(f.t, err)
	return found
}

func scanAll(ctx context.Context, s metastore.Store, prefix string, limit int) (map[string]string, error) {
	found := map[string]string{}
	for cursor := ""; ; {
		page, err := s.Scan(ctx, prefix, cursor, limit)
		if err != nil {
			return nil, err
		}
		if err := addPage(found, page, prefix, limit); err != nil {
			return nil, err
		}
		if page.Next == "" {
			return found, nil
		}
		cursor = page.Next
	}
}

func addPage(found map[string]string, page metastore.Page, prefix string, limit int) error {
	if len(page.Records) > limit {
		return fmt.Errorf("page of %d records, limit %d", len(page.Records), limit)
	}
	if !slices.IsSortedFunc(page.Records, func(a, b metastore.Record) int { return strings.Compare(a.Key, b.Key) }) {
		return fmt.Errorf("page is not in byte order of keys: %v", page.Records)
	}
	for _, rec := range page.Records {
		if _, twice := found[rec.Key]; twice || !strings.HasPrefix(rec.Key, prefix) {
			return fmt.Errorf("key %q returned twice or outside of prefix %q", rec.Key, prefix)
		}
		found[rec.Key] = string(rec.Value)
	}
	return nil
}

func keysOf(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
