// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package tpch_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/test/tpch"
)

func TestSameSeedSameRowsInEveryBatching(t *testing.T) {
	one := collect(t, 1000, 1000, 7)
	many := collect(t, 1000, 64, 7)
	require.Len(t, many, 16)
	joined := array.NewTableFromRecords(tpch.LineItem, many)
	defer joined.Release()
	whole := array.NewTableFromRecords(tpch.LineItem, one)
	defer whole.Release()
	require.True(t, array.TableEqual(whole, joined))

	other := array.NewTableFromRecords(tpch.LineItem, collect(t, 1000, 1000, 8))
	defer other.Release()
	require.False(t, array.TableEqual(whole, other))
}

func TestParquetHoldsWhatWasGenerated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lineitem.parquet")
	require.NoError(t, tpch.WriteParquet(path, 5000, 1))
	f, err := file.OpenParquetFile(path, false)
	require.NoError(t, err)
	defer f.Close()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	require.NoError(t, err)
	got, err := r.ReadTable(context.Background())
	require.NoError(t, err)
	defer got.Release()
	require.EqualValues(t, 5000, got.NumRows())
	for i, f := range tpch.LineItem.Fields() {
		require.True(t, arrow.TypeEqual(f.Type, got.Schema().Field(i).Type), f.Name)
	}
}

func collect(t *testing.T, rows, batch int, seed uint64) []arrow.RecordBatch {
	t.Helper()
	var all []arrow.RecordBatch
	require.NoError(t, tpch.LineItems(rows, batch, seed, func(b arrow.RecordBatch) error {
		b.Retain()
		all = append(all, b)
		return nil
	}))
	t.Cleanup(func() {
		for _, b := range all {
			b.Release()
		}
	})
	return all
}
