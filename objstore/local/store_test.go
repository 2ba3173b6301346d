// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/objstoretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openTemp(tb testing.TB) objstore.Store {
	s, err := Open(tb.TempDir())
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

func TestModel(t *testing.T) {
	objstoretest.RunModel(t, func(tb testing.TB) objstore.Store {
		s := openUnsynced(tb)
		s.window = 2 // so that folders are read in parts
		return s
	})
}

// openUnsynced is for tests of the order of calls, not of what a crash leaves.
func openUnsynced(tb testing.TB) *Store {
	s, err := open(tb.TempDir(), func(int) error { return nil })
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

func TestConformance(t *testing.T) { objstoretest.Run(t, openTemp) }

// TestConformanceStepByStep is for systems that cannot open a path by one call.
func TestConformanceStepByStep(t *testing.T) {
	objstoretest.Run(t, func(tb testing.TB) objstore.Store {
		s := openUnsynced(tb)
		s.folders.stepwise.Store(true)
		return s
	})
}

// TestConformanceWithScratchFiles is for systems without files that have no name.
func TestConformanceWithScratchFiles(t *testing.T) {
	objstoretest.Run(t, func(tb testing.TB) objstore.Store {
		s := openUnsynced(tb)
		s.scratch.unnamed = false
		return s
	})
}

// TestConformanceWithoutAbilities holds what package objstore does for a store
// that has only the plain contract.
func TestConformanceWithoutAbilities(t *testing.T) {
	objstoretest.RunBatches(t, func(tb testing.TB) objstore.Store { return struct{ objstore.Store }{openUnsynced(tb)} })
}

// TestFoldersAreReadInParts runs the cases whose folders fit in the window of a
// listing with one where they do not.
func TestFoldersAreReadInParts(t *testing.T) {
	objstoretest.RunListings(t, func(tb testing.TB) objstore.Store {
		s := openUnsynced(tb)
		s.window = 10
		return s
	})
}

func BenchmarkStore(b *testing.B) { objstoretest.Bench(b, openTemp) }
