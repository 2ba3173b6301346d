// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/file/filetest"
	"github.com/lakeplane/lake/lance/schema"
)

// writeFile writes batches to memory.
func writeFile(t testing.TB, s *arrow.Schema, o WriterOptions, batches ...arrow.RecordBatch) ([]byte, Written) {
	t.Helper()
	fields, err := schema.FromArrow(s)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, s, fields, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	written, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), written
}

// unmapped hides that a source is in memory.
type unmapped struct{ r *bytes.Reader }

func (u unmapped) ReadAt(p []byte, off int64) (int, error) { return u.r.ReadAt(p, off) }
func (u unmapped) Size() int64                             { return u.r.Size() }

func sourceOf(b []byte, mapped bool) Source {
	if mapped {
		return Bytes(b)
	}
	return unmapped{bytes.NewReader(b)}
}

func openBytes(t testing.TB, b []byte, mapped bool, mem memory.Allocator) *Reader {
	t.Helper()
	r, err := Open(context.Background(), sourceOf(b, mapped), Options{Allocator: mem})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// scanTable reads rows to one table-like batch per column.
func scanTable(t testing.TB, r *Reader, o ScanOptions, mem memory.Allocator) []arrow.Array {
	t.Helper()
	s, err := r.Schema(o.Fields)
	if err != nil {
		t.Fatal(err)
	}
	var batches []arrow.RecordBatch
	for b, err := range r.Scan(context.Background(), o) {
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, b)
	}
	return concat(t, s, batches, mem)
}

// concat joins batches by column and releases them.
func concat(t testing.TB, s *arrow.Schema, batches []arrow.RecordBatch, mem memory.Allocator) []arrow.Array {
	t.Helper()
	out := make([]arrow.Array, s.NumFields())
	for i, f := range s.Fields() {
		var parts []arrow.Array
		for _, b := range batches {
			parts = append(parts, b.Column(i))
		}
		if len(parts) == 0 {
			b := array.NewBuilder(mem, f.Type)
			out[i] = b.NewArray()
			b.Release()
			continue
		}
		var err error
		if out[i], err = array.Concatenate(parts, mem); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range batches {
		b.Release()
	}
	return out
}

func releaseAll(as []arrow.Array) {
	for _, a := range as {
		a.Release()
	}
}

// same compares columns and says where they differ.
func same(t testing.TB, s *arrow.Schema, got, want []arrow.Array) {
	t.Helper()
	for i, f := range s.Fields() {
		if d := filetest.Difference(got[i], want[i]); d != "" {
			t.Fatalf("column %s %s: %s", f.Name, f.Type, d)
		}
	}
}

// checked returns an allocator that fails the test on a leak.
func checked(t testing.TB) memory.Allocator {
	c := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { c.AssertSize(t, 0) })
	return c
}

func TestRoundTripOfRandomTables(t *testing.T) {
	seeds := 40
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { roundTrip(t, uint64(seed), WriterOptions{}) })
		t.Run(fmt.Sprint("compact/", seed), func(t *testing.T) { roundTrip(t, uint64(seed), WriterOptions{Compact: true}) })
	}
}

func roundTrip(t *testing.T, seed uint64, o WriterOptions) {
	mem := checked(t)
	r := rand.New(rand.NewPCG(seed, 1))
	g := &filetest.Generator{R: r, Mem: mem, MaxDepth: int(seed % 4), LongValues: seed%3 == 0}
	s := g.Schema(5)
	var batches []arrow.RecordBatch
	for range 1 + r.IntN(4) {
		batches = append(batches, g.Batch(s, r.IntN(3000)))
	}
	// Slices have offsets, which every layer of an array must honour.
	if n := batches[0].NumRows(); n > 10 {
		cut := batches[0].NewSlice(3, n-2)
		batches[0].Release()
		batches[0] = cut
	}
	o.PageBytes = minPageBytes
	if seed%2 == 0 {
		o.PageBytes = 1 << 20
	}
	b, written := writeFile(t, s, o, batches...)
	want := concat(t, s, batches, mem)
	defer releaseAll(want)
	rows := uint64(want[0].Len())
	if written.Rows != rows || written.Size != uint64(len(b)) || len(written.Fields) != len(written.ColumnIndices) {
		t.Fatalf("written %+v, %d rows and %d bytes", written, rows, len(b))
	}
	reader := openBytes(t, b, seed%2 == 0, mem)
	if reader.Rows() != rows {
		t.Fatalf("%d rows, want %d", reader.Rows(), rows)
	}
	got := scanTable(t, reader, ScanOptions{BatchRows: 1 + r.IntN(2000), Parallel: 1 + int(seed%2)}, mem)
	same(t, s, got, want)
	releaseAll(got)
	checkRanges(t, r, reader, s, want, mem)
	checkTake(t, r, reader, s, want, mem)
}

// checkRanges scans some ranges of one column.
func checkRanges(t *testing.T, r *rand.Rand, reader *Reader, s *arrow.Schema, want []arrow.Array, mem memory.Allocator) {
	rows := reader.Rows()
	for range 5 {
		if rows == 0 {
			return
		}
		from := r.Uint64N(rows)
		to := from + 1 + r.Uint64N(rows-from)
		col := r.IntN(s.NumFields())
		var id int32
		seen := -1
		for _, f := range reader.Fields() {
			if f.GetParentId() < 0 {
				if seen++; seen == col {
					id = f.GetId()
				}
			}
		}
		got := scanTable(t, reader, ScanOptions{Fields: []int32{id}, Start: from, End: to}, mem)
		part := array.NewSlice(want[col], int64(from), int64(to))
		same(t, arrow.NewSchema([]arrow.Field{s.Field(col)}, nil), got, []arrow.Array{part})
		part.Release()
		releaseAll(got)
	}
}

// checkTake takes rows in random order, with repetitions.
func checkTake(t *testing.T, r *rand.Rand, reader *Reader, s *arrow.Schema, want []arrow.Array, mem memory.Allocator) {
	if reader.Rows() == 0 {
		return
	}
	numbers := make([]uint64, r.IntN(50))
	for i := range numbers {
		numbers[i] = r.Uint64N(reader.Rows())
	}
	got, err := reader.Take(context.Background(), numbers, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if int(got.NumRows()) != len(numbers) {
		t.Fatalf("%d rows, want %d", got.NumRows(), len(numbers))
	}
	for i := range s.NumFields() {
		for k, n := range numbers {
			if !array.SliceEqual(got.Column(i), int64(k), int64(k+1), want[i], int64(n), int64(n+1)) {
				t.Fatalf("column %s: row %d differs", s.Field(i).Name, n)
			}
		}
	}
}

var _ io.ReaderAt = unmapped{}
