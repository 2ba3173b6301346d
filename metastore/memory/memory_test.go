// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/faultstore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/metastore/metastoretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(tb testing.TB) metastore.Store {
	s := memory.New()
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func TestConformance(t *testing.T) { metastoretest.Run(t, open) }

func TestTokensAreForgottenAfterTheWindow(t *testing.T) {
	now := time.Unix(0, 0)
	s := memory.NewWithClock(func() time.Time { return now })
	create := metastore.Txn{Token: "t", Ops: []metastore.Op{metastore.Create("a", nil)}}
	require.NoError(t, s.Commit(t.Context(), create))

	now = now.Add(metastore.TokenWindow - time.Nanosecond)
	require.NoError(t, s.Commit(t.Context(), create), "inside the window")
	now = now.Add(time.Nanosecond)
	require.ErrorAs(t, s.Commit(t.Context(), create), new(*metastore.ConflictError), "after it")
}

func TestHistories(t *testing.T) {
	metastoretest.RunHistories(t, open, metastoretest.Histories{})
}

// TestHistoriesUnderFaults puts a caller with a bad connection before the store.
func TestHistoriesUnderFaults(t *testing.T) {
	metastoretest.RunHistories(t, func(tb testing.TB) metastore.Store {
		return faultstore.New(open(tb), faultstore.NewRandom(5, 0.3, time.Millisecond))
	}, metastoretest.Histories{})
}

func TestModel(t *testing.T) { metastoretest.RunModel(t, open) }
