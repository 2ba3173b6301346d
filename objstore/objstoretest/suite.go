// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package objstoretest is the conformance suite of object store backends. A
// backend calls [Run], [RunModel] and [Bench] from its own tests:
//
//	func TestStore(t *testing.T) { objstoretest.Run(t, open) }
package objstoretest

import (
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/objstore"
)

// Factory opens a store without objects. It registers with tb what must be
// cleaned up, the store included.
type Factory func(tb testing.TB) objstore.Store

// Run runs every conformance case, each on a store of its own, some at a time.
func Run(t *testing.T, open Factory) {
	run(t, open, putCases, writerCases, readCases, listCases, pagesCases, deleteCases, batchCases, moveCases, stageCases, keyCases, raceCases, contextCases)
}

// RunListings runs the conformance cases of listings, for a backend that lists
// in several ways.
func RunListings(t *testing.T, open Factory) { run(t, open, listCases, pagesCases) }

// RunBatches runs the conformance cases of the optional abilities, for a
// backend that has them in several ways.
func RunBatches(t *testing.T, open Factory) { run(t, open, pagesCases, batchCases) }

func run(t *testing.T, open Factory, groups ...[]namedCase) {
	for _, group := range groups {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel() // most of the time is spent waiting for a disk or a server
				c.run(t, &fixture{Store: open(t), t: t})
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
	objstore.Store
	t *testing.T
}

// put stores objects with their key as content.
func (f *fixture) put(keys ...string) {
	f.t.Helper()
	for _, key := range keys {
		require.NoError(f.t, f.Put(f.t.Context(), key, []byte(key)), key)
	}
}

// holds asserts an object's exact content.
func (f *fixture) holds(key string, want []byte) {
	f.t.Helper()
	got, err := objstore.ReadAll(f.t.Context(), f, key, int64(len(want))+1)
	require.NoError(f.t, err, key)
	require.Equal(f.t, want, got, key)
}

func (f *fixture) absent(key string) {
	f.t.Helper()
	_, err := f.Open(f.t.Context(), key)
	require.ErrorIs(f.t, err, objstore.ErrNotFound, key)
}

// open opens an object that is closed when the test ends.
func (f *fixture) open(key string) objstore.Object {
	f.t.Helper()
	obj, err := f.Open(f.t.Context(), key)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = obj.Close() })
	return obj
}

// list reads a whole listing in pages and checks the rules of every page.
func (f *fixture) list(prefix string, limit int) []string {
	f.t.Helper()
	keys := []string{}
	for after := ""; ; {
		infos, more, err := f.List(f.t.Context(), prefix, after, limit)
		require.NoError(f.t, err)
		require.LessOrEqual(f.t, len(infos), limit)
		for _, info := range infos {
			require.Greater(f.t, info.Key, after, "order")
			require.False(f.t, info.Modified.IsZero(), "modification time of %q", info.Key)
			after = info.Key
			keys = append(keys, info.Key)
		}
		if !more {
			return keys
		}
		require.Len(f.t, infos, limit, "a short page ends the listing")
	}
}

// readAt is io.ReaderAt with the result as one value.
func readAt(r io.ReaderAt, off int64, n int) (string, error) {
	p := make([]byte, n)
	got, err := r.ReadAt(p, off)
	return string(p[:got]), err
}

func sorted(keys ...string) []string {
	slices.Sort(keys)
	return keys
}
