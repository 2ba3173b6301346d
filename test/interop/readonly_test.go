// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance"
)

// TestDatasetsThatAreOnlyRead reads a dataset of two appends and a delete by
// stock LanceDB, with columns that Lake does not write. What would write such a
// column is refused, and leaves no file.
func TestDatasetsThatAreOnlyRead(t *testing.T) {
	stock := startStock(t)
	for _, version := range []string{"2.0", "2.1", "2.2"} {
		t.Run(version, func(t *testing.T) {
			s, rec := tableOf(t, unwritten(version), 900)
			dir := writeStock(t, stock, version, s, rec)
			in := filepath.Join(t.TempDir(), "in.arrow")
			writeIPC(t, in, s, rec)
			where := Command{Dir: filepath.Dir(dir), Table: "t"}
			for _, c := range []Command{{Op: "add", IPC: in}, {Op: "delete", Where: "n < 100"}} {
				c.Dir, c.Table = where.Dir, where.Table
				do(t, stock, c)
			}
			m, err := lance.ReadManifest(t.Context(), Folder(dir), 3)
			require.NoError(t, err)
			d, err := lance.Open(t.Context(), Folder(dir), m, lance.Options{})
			require.NoError(t, err)
			defer func() { require.NoError(t, d.Close()) }()
			gotSchema, got := scanAll(t, d)
			var want []arrow.Array
			for i := range rec.Columns() {
				kept := array.NewSlice(rec.Column(i), 100, 900)
				want = append(want, twice(t, kept))
			}
			compare(t, gotSchema, got, s, want)

			before, _, err := Folder(dir).List(t.Context(), "data/", "", 100)
			require.NoError(t, err)
			_, err = d.Compact(t.Context(), Folder(dir), [][]int{{0, 1}}, lance.Commit{})
			kind, why := lake.Invalid, `column packed: metadata "lance-encoding:packed" asks for a layout that is read but not written`
			if version != "2.1" {
				kind, why = lake.Unsupported, "only files of version 2.1 can be added"
			}
			require.Equal(t, kind, lake.KindOf(err), "%v", err)
			require.ErrorContains(t, err, why)
			after, _, err := Folder(dir).List(t.Context(), "data/", "", 100)
			require.NoError(t, err)
			require.Equal(t, before, after)
		})
	}
}

// tableOf makes a table of a number of the row, n, and random columns.
func tableOf(t *testing.T, fields []arrow.Field, rows int) (*arrow.Schema, arrow.RecordBatch) {
	t.Helper()
	numbers := make([]int64, rows)
	for i := range numbers {
		numbers[i] = int64(i)
	}
	columns := []arrow.Array{batchOf(numbers...).Column(0)}
	for _, f := range fields {
		_, rec := unwrittenRows(f, rows)
		columns = append(columns, rec.Column(0))
	}
	s := arrow.NewSchema(append([]arrow.Field{numbersSchema.Field(0)}, fields...), nil)
	return s, array.NewRecordBatch(s, columns, int64(rows))
}

func twice(t *testing.T, a arrow.Array) arrow.Array {
	t.Helper()
	out, err := array.Concatenate([]arrow.Array{a, a}, memory.DefaultAllocator)
	require.NoError(t, err)
	return out
}

func scanAll(t *testing.T, d *lance.Dataset) (*arrow.Schema, []arrow.Array) {
	t.Helper()
	scan, err := d.Scan(t.Context(), lance.ScanOptions{Ordered: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, scan.Close()) }()
	var batches []arrow.RecordBatch
	for {
		b, err := scan.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		batches = append(batches, b)
	}
	return d.Schema(), columns(t, d.Schema(), batches)
}

// TestTypesOfTablesThatStockMakes: a stock client makes tables through the
// namespace, with fixed size lists of times and binary values, which Lake appends
// to and compacts, and with types that it would not write, which are refused.
func TestTypesOfTablesThatStockMakes(t *testing.T) {
	d, stock := deploy(t, localPlace), startStock(t)
	for _, f := range unwritten("2.1") {
		if f.Name == "numbers_nested" {
			continue // it is written, without null lists
		}
		s, rec := tableOf(t, []arrow.Field{f}, 20)
		c := d.command("create", f.Name)
		c.IPC = filepath.Join(t.TempDir(), "in.arrow")
		writeIPC(t, c.IPC, s, rec)
		_, err := stock.Do(c)
		require.Error(t, err, "%s %s", f.Name, f.Type) // why is in the server's log
		dir := Folder(writeStock(t, stock, "2.1", s, rec))
		m, err := lance.ReadManifest(t.Context(), dir, 1)
		require.NoError(t, err)
		_, err = lance.CheckFirst(t.Context(), dir, m)
		require.True(t, lake.Is(err, lake.Invalid), "%v", err)
		require.ErrorContains(t, err, "column "+f.Name)
	}
	lists := []arrow.Field{
		nullable("times", arrow.FixedSizeListOf(2, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"})),
		nullable("binary", arrow.FixedSizeListOf(3, &arrow.FixedSizeBinaryType{ByteWidth: 4})),
	}
	s, rec := tableOf(t, lists, 50)
	c := d.command("create", "made")
	c.IPC = filepath.Join(t.TempDir(), "in.arrow")
	writeIPC(t, c.IPC, s, rec)
	do(t, stock, c)
	c.Op = "add"
	do(t, stock, c)
	snap := d.now(t, "made").Snapshot
	compaction, err := d.engine.Compact(t.Context(), snap)
	require.NoError(t, err)
	require.NotNil(t, compaction)
	dataset, err := d.engine.Open(t.Context(), snap)
	require.NoError(t, err)
	defer func() { require.NoError(t, dataset.Close()) }()
	scan, err := dataset.Scan(t.Context(), engine.ScanOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, scan.Close()) }()
	rows := int64(0)
	for {
		b, err := scan.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		rows += b.NumRows()
		b.Release()
	}
	require.EqualValues(t, 100, rows)
}
