// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/test/tpch"
)

// TestSeveralThreadsReadATable asks the real program for a table that is large
// enough for several of an engine slot's threads.
func TestSeveralThreadsReadATable(t *testing.T) {
	d := startDev(t, t.TempDir(), "--no-temporal")
	const rows = 300_000
	file := filepath.Join(t.TempDir(), "lineitem.parquet")
	require.NoError(t, tpch.WriteParquet(file, rows, 7))
	d.must(t, "ingest", "demo.lineitem", file)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := d.client(t).Query(ctx, "SELECT count(l_orderkey) FROM demo.lineitem")
	require.NoError(t, err)
	defer r.Release()
	require.True(t, r.Next(), "%v", r.Err())
	require.EqualValues(t, rows, r.RecordBatch().Column(0).(*array.Int64).Value(0))
}
