// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/faultstore"
	"github.com/lakeplane/lake/metastore/metastoretest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func openTemp(tb testing.TB) metastore.Store {
	s, err := Open(tb.TempDir(), Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func TestConformance(t *testing.T) { metastoretest.Run(t, openTemp) }

func TestHistories(t *testing.T) {
	metastoretest.RunHistories(t, openTemp, metastoretest.Histories{})
}

func TestModel(t *testing.T) { metastoretest.RunModel(t, openTemp) }

// TestHistoriesUnderFaults puts a caller with a bad connection before a store
// that is good, so that attempts overlap, come late and come twice.
func TestHistoriesUnderFaults(t *testing.T) {
	metastoretest.RunHistories(t, func(tb testing.TB) metastore.Store {
		return faultstore.New(openTemp(tb), faultstore.NewRandom(11, 0.3, 3*time.Millisecond))
	}, metastoretest.Histories{Seeds: 100})
}
