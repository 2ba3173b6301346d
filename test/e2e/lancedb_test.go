// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/test/interop"
)

// TestStockLanceDBOpensEveryVersion: the dataset that Lake wrote is one that
// stock LanceDB opens at the same version, with equal rows.
func TestStockLanceDBOpensEveryVersion(t *testing.T) {
	stock, err := interop.Start()
	if errors.Is(err, interop.ErrUnavailable) {
		t.Skipf("SKIP: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stock.Close()) })

	d := startDev(t, t.TempDir(), "--no-temporal")
	c := d.client(t)
	name := lake.TableName{Namespace: "stock", Name: "t"}
	_, err = c.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	_, err = c.Append(t.Context(), name, batchOf(1, 2, 3))
	require.NoError(t, err)
	last, err := c.Append(t.Context(), name, batchOf(4))
	require.NoError(t, err)
	require.EqualValues(t, 3, last.Version)

	table, err := c.Table(t.Context(), name)
	require.NoError(t, err)
	// A copy, because connecting alone makes LanceDB write beside the dataset.
	root := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(root, "t.lance"), os.DirFS(filepath.Join(d.dir, "objects", string(table.Snapshot.Location)))))
	for version, want := range map[lake.Version][]int64{1: nil, 2: {1, 2, 3}, 3: {1, 2, 3, 4}} {
		out := filepath.Join(root, "rows.arrow")
		_, err := stock.Do(interop.Command{Op: "read", Dir: root, Table: "t", IPC: out, At: uint64(version)})
		require.NoError(t, err)
		require.Equal(t, want, readNumbers(t, out), "version %d", version)
	}
	require.Equal(t, []int64{1, 2, 3, 4}, numbersOf(query(t, c, "SELECT n FROM stock.t ORDER BY n")))
}

func readNumbers(t *testing.T, path string) []int64 {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r, err := ipc.NewFileReader(f)
	require.NoError(t, err)
	defer r.Close()
	var out []int64
	for i := range r.NumRecords() {
		b, err := r.RecordBatch(i)
		require.NoError(t, err)
		out = append(out, b.Column(0).(*array.Int64).Int64Values()...)
	}
	return out
}

func numbersOf(table arrow.Table) []int64 {
	var out []int64
	reader := array.NewTableReader(table, 0)
	defer reader.Release()
	for reader.Next() {
		out = append(out, reader.RecordBatch().Column(0).(*array.Int64).Int64Values()...)
	}
	return out
}
