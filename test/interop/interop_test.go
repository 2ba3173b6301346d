// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/file"
	"github.com/lakeplane/lake/lance/file/filetest"
	"github.com/lakeplane/lake/lance/schema"
)

func startStock(t testing.TB) *Stock {
	t.Helper()
	s, err := Start()
	if errors.Is(err, ErrUnavailable) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func writeIPC(t testing.TB, path string, s *arrow.Schema, batches ...arrow.RecordBatch) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(s))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// readIPC reads the columns of an IPC file.
func readIPC(t testing.TB, path string) (*arrow.Schema, []arrow.Array) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := ipc.NewFileReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var batches []arrow.RecordBatch
	for i := range r.NumRecords() {
		b, err := r.RecordBatch(i)
		if err != nil {
			t.Fatal(err)
		}
		b.Retain() // the reader drops a batch when it reads the next
		batches = append(batches, b)
	}
	return r.Schema(), columns(t, r.Schema(), batches)
}

func columns(t testing.TB, s *arrow.Schema, batches []arrow.RecordBatch) []arrow.Array {
	t.Helper()
	out := make([]arrow.Array, s.NumFields())
	for i := range out {
		var parts []arrow.Array
		for _, b := range batches {
			parts = append(parts, b.Column(i))
		}
		if len(parts) == 0 {
			b := array.NewBuilder(memory.DefaultAllocator, s.Field(i).Type)
			out[i] = b.NewArray()
			continue
		}
		if len(parts) == 1 {
			out[i] = parts[0] // JavaScript leaves out buffers that Concatenate reads
			continue
		}
		var err error
		if out[i], err = array.Concatenate(parts, memory.DefaultAllocator); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// compare compares columns by name. Names of list items and nullability may
// have changed on the way through JavaScript, values must not.
func compare(t testing.TB, gotSchema *arrow.Schema, got []arrow.Array, wantSchema *arrow.Schema, want []arrow.Array) {
	t.Helper()
	for _, d := range differences(gotSchema, got, wantSchema, want) {
		t.Error(d)
	}
}

func differences(gotSchema *arrow.Schema, got []arrow.Array, wantSchema *arrow.Schema, want []arrow.Array) []string {
	var out []string
	for i, f := range wantSchema.Fields() {
		k := gotSchema.FieldIndices(f.Name)
		if len(k) != 1 {
			out = append(out, fmt.Sprintf("no column %s in %v", f.Name, gotSchema))
			continue
		}
		if d := filetest.Difference(withType(got[k[0]], want[i].DataType()), want[i]); d != "" {
			out = append(out, fmt.Sprintf("column %s %s: %s", f.Name, f.Type, d))
		}
	}
	return out
}

// withType gives an array the names and nullability of a type of the same
// shape.
func withType(a arrow.Array, dt arrow.DataType) arrow.Array {
	return array.MakeFromData(retype(a.Data(), dt))
}

func retype(d arrow.ArrayData, dt arrow.DataType) arrow.ArrayData {
	var types []arrow.DataType
	switch x := dt.(type) {
	case *arrow.StructType:
		for _, f := range x.Fields() {
			types = append(types, f.Type)
		}
	case arrow.ListLikeType:
		types = append(types, x.Elem())
	}
	if len(types) != len(d.Children()) || d.DataType().ID() != dt.ID() || len(types) == 0 {
		return d
	}
	children := make([]arrow.ArrayData, len(types))
	for i, c := range d.Children() {
		children[i] = retype(c, types[i])
	}
	return array.NewData(dt, d.Len(), d.Buffers(), children, d.NullN(), d.Offset())
}

// writeOwn writes a dataset with Lake, of the fields that its tables have.
func writeOwn(t testing.TB, dir string, s *arrow.Schema, o file.WriterOptions, batches ...arrow.RecordBatch) {
	t.Helper()
	fields, err := schema.Stored(s)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := file.NewWriter(&out, s, fields, o)
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
	if err := WriteDataset(dir, fields, out.Bytes(), written); err != nil {
		t.Fatal(err)
	}
}

// readOwn reads the only data file of a dataset with Lake.
func readOwn(t testing.TB, dir string) (*arrow.Schema, []arrow.Array) {
	t.Helper()
	s, batches, err := scanDataset(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s, columns(t, s, batches)
}

// seen counts the encodings of the files read by version.
var seen = map[string]map[string]int{}

func see(r *file.Reader) error {
	m, err := r.Encodings()
	if err != nil {
		return err
	}
	major, minor := r.Version()
	version := fmt.Sprintf("%d.%d", major, minor)
	if seen[version] == nil {
		seen[version] = map[string]int{}
	}
	for k, n := range m {
		seen[version][k] += n
	}
	return nil
}

func scanDataset(dir string) (*arrow.Schema, []arrow.RecordBatch, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, nil, err
	}
	s, err := schema.ToArrow(m.GetFields(), nil)
	if err != nil {
		return nil, nil, err
	}
	var out []arrow.RecordBatch
	for _, fr := range m.GetFragments() {
		df := fr.GetFiles()[0]
		b, err := os.ReadFile(filepath.Join(dir, "data", df.GetPath()))
		if err != nil {
			return nil, nil, err
		}
		r, err := file.Open(context.Background(), file.Bytes(b), file.Options{Schema: m.GetFields(), Fields: df.GetFields(), Columns: df.GetColumnIndices()})
		if err != nil {
			return nil, nil, err
		}
		if r.Rows() != fr.GetPhysicalRows() {
			return nil, nil, fmt.Errorf("%d rows, the manifest has %d", r.Rows(), fr.GetPhysicalRows())
		}
		if err := see(r); err != nil {
			return nil, nil, err
		}
		for rec, err := range r.Scan(context.Background(), file.ScanOptions{BatchRows: 1000}) {
			if err != nil {
				return nil, nil, err
			}
			out = append(out, rec)
		}
	}
	return s, out, nil
}

// seeds is the number of random tables; LAKE_INTEROP_SEEDS asks for more.
func seeds() int {
	if n, err := strconv.Atoi(os.Getenv("LAKE_INTEROP_SEEDS")); err == nil {
		return n
	}
	if testing.Short() {
		return 8
	}
	return 200
}

// generate makes a random table of what Lake writes. Tables with an array of booleans that is all
// null are passed over: JavaScript's Arrow loses their values buffer.
func generate(seed uint64, version string) (*filetest.Generator, *arrow.Schema, []arrow.RecordBatch) {
	return generateFor(seed, version, "")
}

// generateFor is generate with types that only stock LanceDB writes, in a
// version, unless that is empty.
func generateFor(seed uint64, version, unwritten string) (*filetest.Generator, *arrow.Schema, []arrow.RecordBatch) {
	for ; ; seed += 1000 {
		g, s, batches := generateOne(seed, version, unwritten)
		if !slices.ContainsFunc(batches, func(b arrow.RecordBatch) bool { return slices.ContainsFunc(b.Columns(), nullBooleans) }) {
			return g, s, batches
		}
	}
}

func nullBooleans(a arrow.Array) bool {
	if a.DataType().ID() == arrow.BOOL {
		return a.Len() == a.NullN()
	}
	for _, c := range a.Data().Children() {
		if nullBooleans(array.MakeFromData(c)) {
			return true
		}
	}
	return false
}

func generateOne(seed uint64, version, unwritten string) (*filetest.Generator, *arrow.Schema, []arrow.RecordBatch) {
	g := &filetest.Generator{R: rand.New(rand.NewPCG(seed, 7)), Mem: memory.DefaultAllocator, MaxDepth: int(seed % 4), LongValues: seed%3 == 0, Relaxed: true, ValidStructs: version == "2.0", FixedLists: true, Unwritten: unwritten}
	s := g.Schema(5)
	var batches []arrow.RecordBatch
	// A scan of stock LanceDB has batches of 8192 rows, a page of Lake chunks of
	// up to 4096 values: some tables are large enough to cross both.
	rows := 500
	if seed%5 == 3 {
		rows = 4000
	}
	for range 1 + g.R.IntN(3) {
		batches = append(batches, g.Batch(s, 1+g.R.IntN(rows)))
	}
	return g, s, batches
}

func TestStockReadsWhatLakeWrites(t *testing.T) {
	stock := startStock(t)
	for seed := range seeds() {
		for _, compact := range []bool{false, true} {
			name := fmt.Sprint(seed)
			if compact {
				name = "compact/" + name
			}
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				_, s, batches := generate(uint64(seed), "2.1")
				o := file.WriterOptions{Compact: compact}
				if seed%2 == 0 {
					o.PageBytes = 64 << 10
				}
				writeOwn(t, filepath.Join(dir, "t.lance"), s, o, batches...)
				readsBack(t, stock, dir, s, columns(t, s, batches))
			})
		}
	}
}

// cannotWrite tells the one refusal known of stock LanceDB: more null and empty
// lists in a row than its mini-blocks take, around values that its full-zip
// pages do not take.
func cannotWrite(err error) bool {
	return strings.Contains(err.Error(), "Mini-block cannot encode")
}

// asStockReads compares what Lake read of a table with what stock LanceDB reads
// of it itself: rarely it stores other nulls than it was given.
func asStockReads(t *testing.T, stock *Stock, dir string, s *arrow.Schema, got []arrow.Array, lost []string) {
	t.Helper()
	out := filepath.Join(dir, "out.arrow")
	if _, err := stock.Do(Command{Op: "read", Dir: dir, Table: "t", IPC: out}); err != nil {
		t.Fatalf("%v\n%v", lost, err)
	}
	stockSchema, want := readIPC(t, out)
	if d := differences(s, got, stockSchema, want); len(d) > 0 {
		t.Fatalf("of what stock LanceDB was given: %v\nof what it reads: %v", lost, d)
	}
	t.Logf("stock LanceDB stored other values than it was given: %v", lost)
}

func TestLakeReadsWhatStockWrites(t *testing.T) {
	stock := startStock(t)
	for _, version := range []string{"2.0", "2.1", "2.2"} {
		lost := 0
		for seed := range seeds() {
			t.Run(fmt.Sprintf("%s/%d", version, seed), func(t *testing.T) {
				dir := t.TempDir()
				_, s, batches := generateFor(uint64(seed), version, version)
				in := filepath.Join(dir, "in.arrow")
				writeIPC(t, in, s, batches...)
				if _, err := stock.Do(Command{Op: "write", Dir: dir, Table: "t", IPC: in, Version: version}); err != nil {
					if cannotWrite(err) {
						t.Skipf("skipped: stock LanceDB does not write this table: %v", err)
					}
					t.Fatalf("%v\nschema %v", err, s)
				}
				gotSchema, got := readOwn(t, filepath.Join(dir, "t.lance"))
				if d := differences(gotSchema, got, s, columns(t, s, batches)); len(d) > 0 {
					lost++
					asStockReads(t, stock, dir, gotSchema, got, d)
				}
			})
		}
		if lost > 2+seeds()/50 {
			t.Errorf("version %s: %d tables are not what stock LanceDB was given", version, lost)
		}
	}
	for version, m := range seen {
		t.Logf("encodings seen in %s: %v", version, m)
	}
}
