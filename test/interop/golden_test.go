// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package interop

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

var update = flag.Bool("update", false, "write the sample files of package file anew")

// TestWriteSamples makes the samples that package file reads without node:
// small files of stock LanceDB and the rows in them as Arrow IPC.
func TestWriteSamples(t *testing.T) {
	if !*update {
		t.Skip("skipped: samples are written with -update only")
	}
	stock := startStock(t)
	dir := filepath.Join(here(), "..", "..", "lance", "file", "testdata", "stock")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"2.0", "2.1", "2.2"} {
		writeUnwritten(t, stock, dir, version)
		s, rec := sampleColumns(300, "vec128", "vec128_nulls", "prose", "huge", "long")
		writeSample(t, stock, dir, "flat-"+version, version, s, rec)
		seeds := []uint64{11, 34} // lists and structs, and small
		if version == "2.0" {
			seeds = []uint64{11, 58}
		}
		for _, seed := range seeds {
			_, s, batches := generate(seed, version)
			writeSample(t, stock, dir, fmt.Sprintf("nested%d-%s", seed, version), version, s, batches[0].NewSlice(0, min(60, batches[0].NumRows())))
		}
	}
	s, rec := constantTexts()
	writeSample(t, stock, dir, "constant-2.2", "2.2", s, rec)
	s, rec = sampleColumns(600, "runs", "small", "negative", "constant", "constant_nulls", "constant_text", "category", "category_nulls",
		"decimals", "prose_bytes", "wide_text", "lz4", "zstd", "zstd_numbers", "split", "vec16", "vec128", "vec128_nulls", "long", "huge")
	writeSample(t, stock, dir, "fsst-2.1", "2.1", s, rec)
}

// sampleColumns are the first rows of the special columns but some.
func sampleColumns(rows int64, without ...string) (*arrow.Schema, arrow.RecordBatch) {
	skip := map[string]bool{}
	for _, name := range without {
		skip[name] = true
	}
	var fields []arrow.Field
	var cols []arrow.Array
	for _, c := range specials {
		if !skip[c.name] {
			f, col := c.column()
			fields, cols = append(fields, f), append(cols, array.NewSlice(col, 0, rows))
		}
	}
	s := arrow.NewSchema(fields, nil)
	return s, array.NewRecordBatch(s, cols, rows)
}

// constantTexts are lists, some null, of the same text: in 2.2 its page holds the
// value before the levels.
func constantTexts() (*arrow.Schema, arrow.RecordBatch) {
	s := arrow.NewSchema([]arrow.Field{{Name: "texts", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	list := b.Field(0).(*array.ListBuilder)
	for i := range 100 {
		if i%7 == 3 {
			list.AppendNull()
			continue
		}
		list.Append(true)
		for range 1 + i%4 {
			list.ValueBuilder().(*array.StringBuilder).Append("always the same text")
		}
	}
	return s, b.NewRecordBatch()
}

func writeSample(t *testing.T, stock *Stock, to, name, version string, s *arrow.Schema, rec arrow.RecordBatch) {
	t.Helper()
	dir := t.TempDir()
	if _, err := os.Stat(filepath.Join(to, name+".lance")); err == nil {
		return // remove a sample to have it written anew
	}
	ipcFile := filepath.Join(to, name+".arrow")
	writeIPC(t, ipcFile, s, rec)
	if _, err := stock.Do(Command{Op: "write", Dir: dir, Table: "t", IPC: ipcFile, Version: version}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "t.lance", "data", "*.lance"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d data files, %v", len(files), err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, name+".lance"), b, 0o644); err != nil {
		t.Fatal(err)
	}
}
