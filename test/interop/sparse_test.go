// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/file"
	"github.com/lakeplane/lake/lance/file/filetest"
)

// TestStockReadsSparseLists reads the columns whose first form stock LanceDB
// 0.31.0 could not read: its full-zip decoder takes a null list for a value
// where a struct that may be null lies around the list. Lake keeps such pages in
// mini-blocks.
func TestStockReadsSparseLists(t *testing.T) {
	stock := startStock(t)
	for _, c := range filetest.SparseColumns {
		for _, compact := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", c.Name, compact), func(t *testing.T) {
				dir := t.TempDir()
				s := arrow.NewSchema([]arrow.Field{c.Field}, nil)
				col := c.Array(memory.DefaultAllocator)
				rec := array.NewRecordBatch(s, []arrow.Array{col}, int64(col.Len()))
				writeOwn(t, filepath.Join(dir, "t.lance"), s, file.WriterOptions{Compact: compact}, rec)
				readsBack(t, stock, dir, s, []arrow.Array{col})
			})
		}
	}
}

// TestStockDoesNotReadTheUnreadable holds the one failure known, so that a
// version of stock LanceDB that reads the column is noticed. Lake reads it.
func TestStockDoesNotReadTheUnreadable(t *testing.T) {
	stock := startStock(t)
	dir := t.TempDir()
	c := filetest.UnreadableColumn
	s := arrow.NewSchema([]arrow.Field{c.Field}, nil)
	col := c.Array(memory.DefaultAllocator)
	writeOwn(t, filepath.Join(dir, "t.lance"), s, file.WriterOptions{}, array.NewRecordBatch(s, []arrow.Array{col}, int64(col.Len())))
	gotSchema, got := readOwn(t, filepath.Join(dir, "t.lance"))
	compare(t, gotSchema, got, s, []arrow.Array{col})
	_, err := stock.Do(Command{Op: "read", Dir: dir, Table: "t", IPC: filepath.Join(dir, "out.arrow")})
	if err == nil {
		t.Fatal("stock LanceDB reads the column: change docs/formats/lance.md")
	}
	// It takes values for null lists that have none, beyond the end of the page.
	if !strings.Contains(err.Error(), "sliced Buffer cannot exceed") {
		t.Errorf("another failure than the one known: %v", err)
	}
}

// readsBack compares what stock LanceDB reads of a table, whole and in part.
func readsBack(t *testing.T, stock *Stock, dir string, s *arrow.Schema, want []arrow.Array) {
	t.Helper()
	out := filepath.Join(dir, "out.arrow")
	if _, err := stock.Do(Command{Op: "read", Dir: dir, Table: "t", IPC: out}); err != nil {
		t.Fatalf("%v\nschema %v", err, s)
	}
	gotSchema, got := readIPC(t, out)
	compare(t, gotSchema, got, s, want)
	rows := uint64(want[0].Len())
	if rows == 0 {
		return
	}
	offsets := slices.Compact([]uint64{0, rows / 3, rows / 2, rows - 1}) // stock gives a row once
	if _, err := stock.Do(Command{Op: "take", Dir: dir, Table: "t", IPC: out, Offsets: offsets}); err != nil {
		t.Fatalf("take %v: %v\nschema %v", offsets, err, s)
	}
	gotSchema, got = readIPC(t, out)
	compareRows(t, gotSchema, got, s, want, offsets)
}

// compareRows compares columns with the given rows of others.
func compareRows(t *testing.T, gotSchema *arrow.Schema, got []arrow.Array, wantSchema *arrow.Schema, want []arrow.Array, rows []uint64) {
	t.Helper()
	for k, row := range rows {
		gotRow, wantRow := make([]arrow.Array, len(got)), make([]arrow.Array, len(want))
		for i, c := range got {
			if c.Len() != len(rows) {
				t.Fatalf("%d rows, want %d", c.Len(), len(rows))
			}
			gotRow[i] = array.NewSlice(c, int64(k), int64(k+1))
		}
		for i, c := range want {
			wantRow[i] = array.NewSlice(c, int64(row), int64(row+1))
		}
		compare(t, gotSchema, gotRow, wantSchema, wantRow)
	}
}

// TestStockReadsWideListsWithNullsInOnePage holds that a full-zip page of lists
// has levels for nulls it does not have: stock LanceDB 0.31.0 takes the number
// of rows of such a page for that of its values when another page has nulls.
func TestStockReadsWideListsWithNullsInOnePage(t *testing.T) {
	stock := startStock(t)
	typ := arrow.ListOf(arrow.FixedSizeListOf(100, arrow.PrimitiveTypes.Float64))
	s := arrow.NewSchema([]arrow.Field{{Name: "c", Type: typ, Nullable: true}}, nil)
	b := array.NewListBuilder(memory.DefaultAllocator, typ.Elem())
	for i := range 600 {
		b.Append(true)
		vectors := b.ValueBuilder().(*array.FixedSizeListBuilder)
		for k := range 3 {
			if vectors.Append(i < 300 || k > 0); i >= 300 && k == 0 {
				vectors.ValueBuilder().(*array.Float64Builder).AppendNulls(100)
				continue
			}
			for range 100 {
				vectors.ValueBuilder().(*array.Float64Builder).Append(float64(i))
			}
		}
	}
	col := b.NewArray()
	dir := t.TempDir()
	rec := array.NewRecordBatch(s, []arrow.Array{col}, int64(col.Len()))
	writeOwn(t, filepath.Join(dir, "t.lance"), s, file.WriterOptions{PageBytes: 64 << 10}, rec)
	readsBack(t, stock, dir, s, []arrow.Array{col})
}
