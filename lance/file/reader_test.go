// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/file/filetest"
	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEveryLeafTypeSurvives covers the types random tables leave out.
func TestEveryLeafTypeSurvives(t *testing.T) {
	types := append([]arrow.DataType{
		arrow.Null, arrow.FixedWidthTypes.Float16, arrow.BinaryTypes.LargeString,
		arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Time32ms, arrow.FixedWidthTypes.Time64ns, arrow.FixedWidthTypes.Duration_us,
		&arrow.FixedSizeBinaryType{ByteWidth: 5}, &arrow.FixedSizeBinaryType{ByteWidth: 700},
		arrow.FixedSizeListOf(9, arrow.PrimitiveTypes.Int8),
		arrow.FixedSizeListOf(3, &arrow.Decimal128Type{Precision: 20, Scale: 2}),
		arrow.FixedSizeListOf(3, arrow.FixedSizeListOf(5, arrow.PrimitiveTypes.Int16)),
		arrow.FixedSizeListOf(16, arrow.FixedSizeListOf(16, arrow.PrimitiveTypes.Float32)),
	}, filetest.Leaves...)
	for _, dt := range types {
		for _, nested := range []arrow.DataType{dt, arrow.ListOf(dt), arrow.LargeListOf(dt), arrow.StructOf(arrow.Field{Name: "f", Type: dt, Nullable: true})} {
			t.Run(nested.String(), func(t *testing.T) {
				mem := checked(t)
				s := arrow.NewSchema([]arrow.Field{{Name: "c", Type: nested, Nullable: true}}, nil)
				rec := fillNulls(mem, s, 200)
				b, _ := writeFile(t, s, WriterOptions{PageBytes: minPageBytes}, rec)
				want := concat(t, s, []arrow.RecordBatch{rec}, mem)
				defer releaseAll(want)
				got := scanTable(t, openBytes(t, b, true, mem), ScanOptions{BatchRows: 100}, mem)
				defer releaseAll(got)
				same(t, s, got, want)
			})
		}
	}
}

// fillNulls makes rows of zero values with nulls in between, which every type
// has a builder for.
func fillNulls(mem memory.Allocator, s *arrow.Schema, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, s)
	defer b.Release()
	r := rand.New(rand.NewPCG(1, 1))
	for range n {
		switch r.IntN(4) {
		case 0:
			b.Field(0).AppendNull()
		default:
			b.Field(0).AppendEmptyValue()
		}
		if l, ok := b.Field(0).(array.ListLikeBuilder); ok && r.IntN(2) == 0 && b.Field(0).Type().ID() != arrow.FIXED_SIZE_LIST {
			l.Append(true)
			l.ValueBuilder().AppendEmptyValue()
			l.ValueBuilder().AppendNull()
		}
	}
	rec := b.NewRecordBatch()
	return rec
}

func TestFilesWithoutRowsOrColumns(t *testing.T) {
	for name, s := range map[string]*arrow.Schema{
		"no columns": arrow.NewSchema(nil, nil),
		"no rows":    arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.ListOf(arrow.BinaryTypes.String)}}, nil),
	} {
		b, w := writeFile(t, s, WriterOptions{})
		r := openBytes(t, b, true, nil)
		if w.Rows != 0 || r.Rows() != 0 {
			t.Errorf("%s: %d and %d rows", name, w.Rows, r.Rows())
		}
		for rec, err := range r.Scan(context.Background(), ScanOptions{}) {
			t.Errorf("%s: got %v, %v", name, rec, err)
		}
		rec, err := r.Take(context.Background(), nil, nil)
		if err != nil || rec.NumRows() != 0 {
			t.Errorf("%s: take %v, %v", name, rec, err)
		}
	}
}

// evolved is a file of a struct and a number, and what a later schema makes of
// it.
func TestSchemaOfTheManifestMayDiffer(t *testing.T) {
	mem := checked(t)
	inner := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32}, arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Int64})
	s := arrow.NewSchema([]arrow.Field{{Name: "pos", Type: inner}, {Name: "old", Type: arrow.BinaryTypes.String}}, nil)
	g := &filetest.Generator{R: rand.New(rand.NewPCG(5, 5)), Mem: mem}
	rec := g.Batch(s, 100)
	defer rec.Release()
	b, w := writeFile(t, s, WriterOptions{}, rec)
	fields, err := schema.FromArrow(s)
	if err != nil {
		t.Fatal(err)
	}
	// Ids: pos 0, x 1, y 2, old 3. Renamed old, dropped x, added 7 and 8.
	renamed := proto.Clone(fields[3]).(*lancepb.Field)
	renamed.Name = "new"
	later := []*lancepb.Field{
		renamed, fields[0], fields[2],
		{Name: "z", Id: 7, ParentId: 0, LogicalType: "double", Nullable: true},
		{Name: "added", Id: 8, ParentId: -1, LogicalType: "int64", Nullable: true},
	}
	r, err := Open(context.Background(), Bytes(b), Options{Allocator: mem, Schema: later, Fields: w.Fields, Columns: w.ColumnIndices})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Has(0) || !r.Has(3) || r.Has(7) || r.Has(8) {
		t.Errorf("has pos %t, new %t, z %t, added %t", r.Has(0), r.Has(3), r.Has(7), r.Has(8))
	}
	got, err := r.Schema([]int32{0, 3, 8})
	if err != nil {
		t.Fatal(err)
	}
	want := arrow.NewSchema([]arrow.Field{
		{Name: "new", Type: arrow.BinaryTypes.String},
		{Name: "pos", Type: arrow.StructOf(arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Int64})},
	}, nil)
	if !got.Equal(want) {
		t.Errorf("schema %v, want %v", got, want)
	}
	taken, err := r.Take(context.Background(), []uint64{99}, []int32{0, 3})
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Release()
	y := taken.Column(1).(*array.Struct).Field(0).(*array.Int64).Value(0)
	if wantY := rec.Column(0).(*array.Struct).Field(1).(*array.Int64).Value(99); y != wantY {
		t.Errorf("y is %d, want %d", y, wantY)
	}
	if _, err := r.Schema([]int32{99}); !lake.Is(err, lake.Invalid) {
		t.Errorf("unknown field: %v", err)
	}
}

func TestRequestsOutsideTheFileAreInvalid(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32}}, nil)
	g := &filetest.Generator{R: rand.New(rand.NewPCG(5, 5)), Mem: memory.DefaultAllocator}
	b, _ := writeFile(t, s, WriterOptions{}, g.Batch(s, 10))
	r := openBytes(t, b, true, nil)
	for name, o := range map[string]ScanOptions{
		"end":      {End: 11},
		"start":    {Start: 8, End: 4},
		"beyond":   {Start: 12},
		"negative": {BatchRows: -1},
		"field":    {Fields: []int32{4}},
	} {
		for _, err := range r.Scan(context.Background(), o) {
			if !lake.Is(err, lake.Invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := r.Take(context.Background(), []uint64{10}, nil); !lake.Is(err, lake.Invalid) {
		t.Errorf("take: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range r.Scan(ctx, ScanOptions{}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled scan: %v", err)
		}
	}
}

func TestWriterRefusesWhatDoesNotFit(t *testing.T) {
	i32 := arrow.PrimitiveTypes.Int32
	s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: i32}, {Name: "s", Type: arrow.StructOf(arrow.Field{Name: "x", Type: i32}), Nullable: true}}, nil)
	fields, err := schema.FromArrow(s)
	if err != nil {
		t.Fatal(err)
	}
	other, err := schema.FromArrow(arrow.NewSchema([]arrow.Field{{Name: "b", Type: i32}, s.Field(1)}, nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewWriter(io.Discard, s, other, WriterOptions{}); !lake.Is(err, lake.Invalid) {
		t.Errorf("other fields: %v", err)
	}
	if _, err := NewWriter(io.Discard, s, fields, WriterOptions{PageBytes: 1}); !lake.Is(err, lake.Invalid) {
		t.Errorf("page size: %v", err)
	}
	w, err := NewWriter(io.Discard, s, fields, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, build := range map[string]func(*array.RecordBuilder){
		"null": func(b *array.RecordBuilder) { b.Field(0).AppendNull(); b.Field(1).AppendEmptyValue() },
		"child null": func(b *array.RecordBuilder) {
			b.Field(0).AppendEmptyValue()
			b.Field(1).(*array.StructBuilder).Append(true)
			b.Field(1).(*array.StructBuilder).FieldBuilder(0).AppendNull()
		},
	} {
		b := array.NewRecordBuilder(memory.DefaultAllocator, s)
		build(b)
		if err := w.Write(b.NewRecordBatch()); !lake.Is(err, lake.Invalid) || !strings.Contains(err.Error(), "not nullable") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Errorf("close after refused batches: %v", err)
	}
	if _, err := w.Close(); err == nil {
		t.Error("closed twice")
	}
}

// failing fails after some bytes.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func TestWriterKeepsTheFirstError(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)
	g := &filetest.Generator{R: rand.New(rand.NewPCG(5, 5)), Mem: memory.DefaultAllocator}
	fields, err := schema.FromArrow(s)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(&failing{left: 5000}, s, fields, WriterOptions{PageBytes: minPageBytes})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(g.Batch(s, 3000)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write: %v", err)
	}
	if _, err := w.Close(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("close: %v", err)
	}
}

// TestMappedValuesAreNotCopied shows that plain pages are served in place.
func TestMappedValuesAreNotCopied(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.FixedSizeListOf(16, arrow.PrimitiveTypes.Float32)}}, nil)
	g := &filetest.Generator{R: rand.New(rand.NewPCG(5, 5)), Mem: memory.DefaultAllocator}
	b, _ := writeFile(t, s, WriterOptions{}, g.Batch(s, 5000))
	r := openBytes(t, b, true, nil)
	for rec, err := range r.Scan(context.Background(), ScanOptions{BatchRows: 1024}) {
		if err != nil {
			t.Fatal(err)
		}
		values := rec.Column(0).Data().Children()[0].Buffers()[1].Bytes()
		if at := bytes.Index(b, values[:64]); at < 0 || &b[at] != &values[0] {
			t.Fatal("values were copied")
		}
		rec.Release()
	}
}

func TestPackAndUnpack(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	packAll[uint8](t, r)
	packAll[uint16](t, r)
	packAll[uint32](t, r)
	packAll[uint64](t, r)
}

func packAll[T word](t *testing.T, r *rand.Rand) {
	for width := range wordBits[T]() + 1 {
		var in, out [packBlock]T
		for i := range in {
			if width > 0 {
				in[i] = T(r.Uint64()) & (^T(0) >> (wordBits[T]() - width))
			}
		}
		packed := make([]T, packBlock*width/wordBits[T]())
		pack(width, &in, packed)
		unpack(width, packed, &out)
		if in != out {
			t.Fatalf("%d of %d bits differ", width, wordBits[T]())
		}
	}
}

// TestLevelsAreThoseOfTheSpecification uses the examples of the format's
// documentation.
func TestLevelsAreThoseOfTheSpecification(t *testing.T) {
	mem := memory.DefaultAllocator
	inner := arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int32))
	b := array.NewListBuilder(mem, inner)
	middle := b.ValueBuilder().(*array.ListBuilder)
	lists := middle.ValueBuilder().(*array.ListBuilder)
	ints := lists.ValueBuilder().(*array.Int32Builder)
	next := int32(0)
	// [{<0,1>, <>, <2>}, {<3>}, {}], [], [{<4>}]
	for _, row := range [][][]int{{{2, 0, 1}, {1}, {}}, {}, {{1}}} {
		b.Append(true)
		for _, m := range row {
			middle.Append(true)
			for _, n := range m {
				lists.Append(true)
				for range n {
					ints.Append(next)
					next++
				}
			}
		}
	}
	arr := b.NewArray()
	fields, err := schema.FromArrow(arrow.NewSchema([]arrow.Field{{Name: "c", Type: arr.DataType()}}, nil))
	if err != nil {
		t.Fatal(err)
	}
	roots, err := schema.Tree(fields)
	if err != nil {
		t.Fatal(err)
	}
	leaves, err := leavesOf(roots[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	s := shredder{scheme: leaves[0].levels}
	descend(&s, arr, nil, 0, 3)
	if want := []uint16{3, 0, 1, 1, 2, 2, 3, 3}; !equalLevels(s.rep, want) {
		t.Errorf("repetition %v, want %v", s.rep, want)
	}
	acc := accum{leaf: leaves[0]}
	acc.add(&s, 3, arr.(*array.List).ListValues().(*array.List).ListValues().(*array.List).ListValues())
	enc := pageEncoder{leaf: leaves[0]}
	lv := enc.levels(&acc, false)
	// Empty inner 1, empty middle 2, empty outer 3.
	if want := []uint16{0, 0, 1, 0, 0, 2, 3, 0}; !equalLevels(lv.def, want) {
		t.Errorf("definition %v, want %v", lv.def, want)
	}
}

func equalLevels(a, b []uint16) bool {
	return string(bytesOf(a)) == string(bytesOf(b))
}

// TestBatchesShrinkToTheirSize scans values that are large, or stored once for
// many rows.
func TestBatchesShrinkToTheirSize(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.BinaryTypes.Binary}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	value := make([]byte, 100<<10)
	for range 200 {
		b.Field(0).(*array.BinaryBuilder).Append(value)
	}
	data, _ := writeFile(t, s, WriterOptions{}, b.NewRecordBatch())
	r := openBytes(t, data, true, nil)
	total := int64(0)
	for rec, err := range r.Scan(context.Background(), ScanOptions{BatchBytes: 1 << 20}) {
		if err != nil {
			t.Fatal(err)
		}
		if n := rec.NumRows(); n > 11 {
			t.Errorf("a batch of %d rows of 100 KiB", n)
		}
		total += rec.NumRows()
	}
	if total != 200 {
		t.Errorf("%d rows", total)
	}
	// The estimate does not see compressed or repeated values; the limit does.
	o := ScanOptions{BatchBytes: 1 << 20, BatchRows: 200}
	if got := o.limit(200); got != 4<<20 {
		t.Errorf("limit %d", got)
	}
	if got := o.limit(1); got != maxBatchBytes {
		t.Errorf("limit of one row %d", got)
	}
}

// TestWriterMemoryIsBounded writes far more than a page per column and looks at
// what the writer keeps.
func TestWriterMemoryIsBounded(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.ListOf(arrow.BinaryTypes.String)}, {Name: "ok", Type: arrow.FixedWidthTypes.Boolean}}, nil)
	fields, err := schema.FromArrow(s)
	if err != nil {
		t.Fatal(err)
	}
	const page = 64 << 10
	w, err := NewWriter(io.Discard, s, fields, WriterOptions{PageBytes: page})
	if err != nil {
		t.Fatal(err)
	}
	g := &filetest.Generator{R: rand.New(rand.NewPCG(5, 5)), Mem: memory.DefaultAllocator}
	for range 20 {
		if err := w.Write(g.Batch(s, 2000)); err != nil {
			t.Fatal(err)
		}
		for _, c := range w.columns {
			a := &c.acc
			kept := cap(a.fixed) + cap(a.data) + 8*cap(a.offsets) + 2*(cap(a.rep)+cap(a.def)) + cap(c.enc.data)
			if kept > 8*page+1<<20 {
				t.Fatalf("column %s keeps %d bytes for pages of %d", c.leaf.path, kept, page)
			}
		}
	}
}

// counting counts the reads of a source.
type counting struct {
	unmapped
	reads *atomic.Int64
}

func (c counting) ReadAt(p []byte, off int64) (int, error) {
	c.reads.Add(1)
	return c.unmapped.ReadAt(p, off)
}

// TestReadsAreJoined bounds the number of reads, each of which is a request to
// an object store.
func TestReadsAreJoined(t *testing.T) {
	batches := filetest.Telemetry(150_000)
	data, _ := writeFile(t, filetest.TelemetrySchema, WriterOptions{}, batches...)
	src := counting{unmapped{bytes.NewReader(data)}, new(atomic.Int64)}
	r, err := Open(context.Background(), src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	step := func(name string, most int64, f func()) {
		before := src.reads.Load()
		f()
		if n := src.reads.Load() - before; n > most {
			t.Errorf("%s took %d reads, at most %d are expected", name, n, most)
		}
	}
	if n := src.reads.Load(); n > 2 {
		t.Errorf("opening took %d reads", n)
	}
	// A data and a meta buffer for each of at most two pages a column.
	step("scan", 36, func() {
		for rec, err := range r.Scan(context.Background(), ScanOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			rec.Release()
		}
	})
	numbers := make([]uint64, 3000)
	for i := range numbers {
		numbers[i] = uint64(i * 50)
	}
	step("take of near rows", 36, func() { takeAll(t, r, numbers) })
	step("take of three rows", 9*3*3, func() { takeAll(t, r, []uint64{10, 70_000, 140_000}) })
}

func takeAll(t *testing.T, r *Reader, numbers []uint64) {
	t.Helper()
	rec, err := r.Take(context.Background(), numbers, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	ids := rec.Column(0).(*array.Int64)
	for i, n := range numbers {
		if ids.Value(i) != int64(n) {
			t.Fatalf("row %d has id %d, want %d", i, ids.Value(i), n)
		}
	}
}
