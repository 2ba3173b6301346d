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
	// No syncs: the order of calls matters here, not what a crash leaves.
	objstoretest.RunModel(t, func(tb testing.TB) objstore.Store {
		s, err := open(tb.TempDir(), func(int) error { return nil })
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, s.Close()) })
		return s
	})
}

func TestConformance(t *testing.T) { objstoretest.Run(t, openTemp) }

func BenchmarkStore(b *testing.B) { objstoretest.Bench(b, openTemp) }
