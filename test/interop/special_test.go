// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/file"
)

// special is a column made to provoke one encoding.
type special struct {
	name  string
	typ   arrow.DataType
	meta  map[string]string
	value func(r *rand.Rand, b array.Builder, i int)
	nulls bool
}

func words(r *rand.Rand, n int) string {
	list := strings.Fields("robot arm gripper camera episode lift place drawer open close pick left right cup table joint torque")
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(list[r.IntN(len(list))])
		b.WriteByte(' ')
	}
	return b.String()
}

func text(f func(r *rand.Rand, i int) string) func(*rand.Rand, array.Builder, int) {
	return func(r *rand.Rand, b array.Builder, i int) {
		s := f(r, i)
		switch b := b.(type) {
		case *array.StringBuilder:
			b.Append(s)
		case *array.LargeStringBuilder:
			b.Append(s)
		case *array.BinaryBuilder:
			b.Append([]byte(s))
		}
	}
}

func number(f func(r *rand.Rand, i int) float64) func(*rand.Rand, array.Builder, int) {
	return func(r *rand.Rand, b array.Builder, i int) {
		v := f(r, i)
		switch b := b.(type) {
		case *array.Int16Builder:
			b.Append(int16(v))
		case *array.Int32Builder:
			b.Append(int32(v))
		case *array.Int64Builder:
			b.Append(int64(v))
		case *array.Uint8Builder:
			b.Append(uint8(v))
		case *array.Float32Builder:
			b.Append(float32(v))
		case *array.Float64Builder:
			b.Append(v)
		case *array.Decimal128Builder:
			b.Append(decimal128.FromI64(int64(v)))
		}
	}
}

func vectors(dim int) func(*rand.Rand, array.Builder, int) {
	return func(r *rand.Rand, b array.Builder, _ int) {
		l := b.(*array.FixedSizeListBuilder)
		l.Append(true)
		for range dim {
			l.ValueBuilder().(*array.Float32Builder).Append(r.Float32())
		}
	}
}

// matrices appends lists of rows numbers in cols columns. Some of the numbers are
// null, and with lists some of the rows.
func matrices(rows, cols int, lists bool) func(*rand.Rand, array.Builder, int) {
	return func(r *rand.Rand, b array.Builder, i int) {
		m := b.(*array.FixedSizeListBuilder)
		m.Append(true)
		row := m.ValueBuilder().(*array.FixedSizeListBuilder)
		for range rows {
			valid := !lists || r.IntN(5) > 0
			row.Append(valid)
			for range cols {
				if v := row.ValueBuilder().(*array.Float32Builder); valid && (i < 1000 || r.IntN(7) > 0) {
					v.Append(r.Float32())
				} else {
					v.AppendNull()
				}
			}
		}
	}
}

// cubes appends lists of two matrices of 3 by 3.
func cubes(r *rand.Rand, b array.Builder, i int) {
	c := b.(*array.FixedSizeListBuilder)
	c.Append(true)
	for range 2 {
		matrices(3, 3, false)(r, c.ValueBuilder(), i)
	}
}

func decimalVectors(r *rand.Rand, b array.Builder, _ int) {
	l := b.(*array.FixedSizeListBuilder)
	l.Append(true)
	for range 3 {
		l.ValueBuilder().(*array.Decimal128Builder).Append(decimal128.FromI64(r.Int64N(1 << 40)))
	}
}

func fixedBinary(r *rand.Rand, b array.Builder, _ int) {
	v := make([]byte, b.Type().(*arrow.FixedSizeBinaryType).ByteWidth)
	for i := range v {
		v[i] = byte(r.IntN(256))
	}
	b.(*array.FixedSizeBinaryBuilder).Append(v)
}

// lists appends up to three lists of up to three texts, some of them null.
func lists(r *rand.Rand, b array.Builder, _ int) {
	outer := b.(*array.ListBuilder)
	outer.Append(true)
	for range r.IntN(4) {
		inner := outer.ValueBuilder().(*array.ListBuilder)
		inner.Append(r.IntN(5) > 0)
		for range r.IntN(4) {
			inner.ValueBuilder().(*array.StringBuilder).Append(words(r, 8))
		}
	}
}

func structs(r *rand.Rand, b array.Builder, i int) {
	s := b.(*array.StructBuilder)
	s.Append(true)
	number(func(r *rand.Rand, _ int) float64 { return float64(r.IntN(1 << 30)) })(r, s.FieldBuilder(0), i)
	lists(r, s.FieldBuilder(1), i)
}

func matrixOf(rows, cols int32) arrow.DataType {
	return arrow.FixedSizeListOf(rows, arrow.FixedSizeListOf(cols, arrow.PrimitiveTypes.Float32))
}

func compression(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m["lance-encoding:"+pairs[i]] = pairs[i+1]
	}
	return m
}

var (
	i64, f64, str = arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String
	specials      = []special{
		{name: "runs", typ: i64, value: number(func(_ *rand.Rand, i int) float64 { return float64(i / 300) })},
		{name: "small", typ: arrow.PrimitiveTypes.Int32, value: number(func(r *rand.Rand, _ int) float64 { return float64(r.IntN(900)) })},
		{name: "negative", typ: arrow.PrimitiveTypes.Int16, value: number(func(r *rand.Rand, _ int) float64 { return float64(r.IntN(60) - 30) }), nulls: true},
		{name: "constant", typ: i64, value: number(func(*rand.Rand, int) float64 { return 42 })},
		{name: "constant_nulls", typ: i64, value: number(func(*rand.Rand, int) float64 { return 42 }), nulls: true},
		{name: "constant_text", typ: str, value: text(func(*rand.Rand, int) string { return "always the same text" })},
		{name: "category", typ: str, value: text(func(r *rand.Rand, _ int) string { return fmt.Sprintf("category number %02d", r.IntN(12)) })},
		{name: "category_nulls", typ: str, value: text(func(r *rand.Rand, _ int) string { return fmt.Sprintf("category number %02d", r.IntN(12)) }), nulls: true},
		{name: "decimals", typ: &arrow.Decimal128Type{Precision: 20, Scale: 2}, value: number(func(r *rand.Rand, _ int) float64 { return float64(r.IntN(7)) })},
		{name: "prose", typ: str, value: text(func(r *rand.Rand, _ int) string { return words(r, 40+r.IntN(60)) })},
		{name: "prose_bytes", typ: arrow.BinaryTypes.Binary, value: text(func(r *rand.Rand, _ int) string { return words(r, 40) }), nulls: true},
		{name: "wide_text", typ: arrow.BinaryTypes.LargeString, value: text(func(r *rand.Rand, _ int) string { return words(r, r.IntN(60)) }), nulls: true},
		{name: "lz4", typ: str, meta: compression("compression", "lz4"), value: text(func(r *rand.Rand, i int) string { return fmt.Sprint(i, words(r, 20)) })},
		{name: "zstd", typ: str, meta: compression("compression", "zstd", "compression-level", "3"), value: text(func(r *rand.Rand, i int) string { return fmt.Sprint(i, words(r, 20)) }), nulls: true},
		{name: "zstd_numbers", typ: i64, meta: compression("compression", "zstd"), value: number(func(r *rand.Rand, _ int) float64 { return float64(r.IntN(1 << 30)) })},
		{name: "split", typ: f64, meta: compression("compression", "lz4", "bss", "on"), value: number(func(_ *rand.Rand, i int) float64 { return float64(i) / 7 })},
		{name: "long", typ: str, value: text(func(r *rand.Rand, i int) string { return words(r, 300+i%900) })},
		{name: "huge", typ: str, value: text(func(r *rand.Rand, i int) string {
			if i%500 == 0 {
				return words(r, 40<<10)
			}
			return "tiny"
		}), nulls: true},
		{name: "vec16", typ: arrow.FixedSizeListOf(16, arrow.PrimitiveTypes.Float32), value: vectors(16), nulls: true},
		{name: "vec128", typ: arrow.FixedSizeListOf(128, arrow.PrimitiveTypes.Float32), value: vectors(128)},
		{name: "mat3x5", typ: matrixOf(3, 5), value: matrices(3, 5, false)},
		{name: "mat3x5_nulls", typ: matrixOf(3, 5), value: matrices(3, 5, false), nulls: true},
		{name: "mat16x16", typ: matrixOf(16, 16), value: matrices(16, 16, false), nulls: true},
		{name: "cube", typ: arrow.FixedSizeListOf(2, matrixOf(3, 3)), value: cubes, nulls: true},
		{name: "decimal_vec", typ: arrow.FixedSizeListOf(3, &arrow.Decimal128Type{Precision: 20, Scale: 2}), value: decimalVectors},
		{name: "bools", typ: arrow.FixedWidthTypes.Boolean, value: func(r *rand.Rand, b array.Builder, _ int) { b.(*array.BooleanBuilder).Append(r.IntN(2) == 0) }, nulls: true},
		{name: "binary16", typ: &arrow.FixedSizeBinaryType{ByteWidth: 16}, value: fixedBinary, nulls: true},
		{name: "binary600", typ: &arrow.FixedSizeBinaryType{ByteWidth: 600}, value: fixedBinary, nulls: true},
		{name: "nulls", typ: i64, value: func(_ *rand.Rand, b array.Builder, _ int) { b.AppendNull() }, nulls: true},
		{name: "null_texts", typ: str, value: func(_ *rand.Rand, b array.Builder, _ int) { b.AppendNull() }, nulls: true},
		{name: "empty_texts", typ: str, value: text(func(*rand.Rand, int) string { return "" })},
		{name: "empty_lists", typ: arrow.ListOf(i64), value: func(_ *rand.Rand, b array.Builder, _ int) { b.(*array.ListBuilder).Append(true) }, nulls: true},
		{name: "lists_of_lists", typ: arrow.ListOf(arrow.ListOf(str)), value: lists, nulls: true},
		{name: "structs", typ: arrow.StructOf(arrow.Field{Name: "a", Type: i64, Nullable: true}, arrow.Field{Name: "l", Type: arrow.ListOf(arrow.ListOf(str)), Nullable: true}), value: structs},
		{name: "vec128_nulls", typ: arrow.FixedSizeListOf(128, arrow.PrimitiveTypes.Float32), value: vectors(128), nulls: true},
	}
)

const specialRows = 3000

// column makes one special column.
func (c special) column() (arrow.Field, arrow.Array) {
	r := rand.New(rand.NewPCG(11, uint64(len(c.name))))
	b := array.NewBuilder(memory.DefaultAllocator, c.typ)
	for i := range specialRows {
		if c.nulls && r.IntN(9) == 0 {
			b.AppendNull()
			continue
		}
		c.value(r, b, i)
	}
	return arrow.Field{Name: c.name, Type: c.typ, Nullable: c.nulls, Metadata: arrow.MetadataFrom(c.meta)}, b.NewArray()
}

// TestLakeReadsEveryEncodingOfStock provokes encodings one by one, and checks
// that they were in fact used.
func TestLakeReadsEveryEncodingOfStock(t *testing.T) {
	stock := startStock(t)
	want := map[string][]string{
		"2.0": {"binary", "dictionary", "flat", "nullable", "all_nulls", "some_nulls", "fixed_size_list", "list", "struct"},
		"2.1": {"flat", "variable", "dictionary", "fsst", "rle", "inline_bitpacking", "out_of_line_bitpacking", "general", "byte_stream_split", "full_zip_layout", "mini_block_layout", "constant_layout", "fixed_size_list", "has_validity"},
		"2.2": {"flat", "variable", "dictionary", "fsst", "rle", "inline_bitpacking", "general", "byte_stream_split", "full_zip_layout", "has_large_chunk", "constant_layout", "inline_value", "fixed_size_list", "has_validity"},
	}
	for version, names := range want {
		clear(seen)
		for _, c := range specials {
			t.Run(version+"/"+c.name, func(t *testing.T) {
				dir := t.TempDir()
				f, col := c.column()
				s := arrow.NewSchema([]arrow.Field{f}, nil)
				in := filepath.Join(dir, "in.arrow")
				writeIPC(t, in, s, array.NewRecordBatch(s, []arrow.Array{col}, specialRows))
				if _, err := stock.Do(Command{Op: "write", Dir: dir, Table: "t", IPC: in, Version: version}); err != nil {
					t.Fatal(err)
				}
				gotSchema, got := readOwn(t, filepath.Join(dir, "t.lance"))
				compare(t, gotSchema, got, s, []arrow.Array{col})
			})
		}
		t.Logf("encodings of version %s: %v", version, seen[version])
		for _, name := range names {
			if seen[version][name] == 0 {
				t.Errorf("stock LanceDB did not use %s in version %s; used: %v", name, version, seen[version])
			}
		}
	}
}

// TestStockReadsEveryColumnOfLake is the other way round.
func TestStockReadsEveryColumnOfLake(t *testing.T) {
	stock := startStock(t)
	dir := t.TempDir()
	var fields []arrow.Field
	var cols []arrow.Array
	for _, c := range specials {
		f, col := c.column()
		fields, cols = append(fields, f), append(cols, col)
	}
	s := arrow.NewSchema(fields, nil)
	rec := array.NewRecordBatch(s, cols, specialRows)
	writeOwn(t, filepath.Join(dir, "t.lance"), s, file.WriterOptions{PageBytes: 256 << 10}, rec)
	out := filepath.Join(dir, "out.arrow")
	if _, err := stock.Do(Command{Op: "read", Dir: dir, Table: "t", IPC: out}); err != nil {
		t.Fatal(err)
	}
	gotSchema, got := readIPC(t, out)
	compare(t, gotSchema, got, s, cols)
	offsets := []uint64{0, 1, 17, 1023, 1024, 2047, 2999}
	if _, err := stock.Do(Command{Op: "take", Dir: dir, Table: "t", IPC: out, Offsets: offsets}); err != nil {
		t.Fatal(err)
	}
	gotSchema, got = readIPC(t, out)
	for i := range cols {
		var parts []arrow.Array
		for _, o := range offsets {
			parts = append(parts, array.NewSlice(cols[i], int64(o), int64(o+1)))
		}
		want, err := array.Concatenate(parts, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, gotSchema, got, arrow.NewSchema(fields[i:i+1], nil), []arrow.Array{want})
	}
}

// TestNullListsInsideFixedSizeLists: Lake reads them as stock writes them, and
// refuses to write them.
func TestNullListsInsideFixedSizeLists(t *testing.T) {
	stock := startStock(t)
	for _, c := range []special{
		{name: "small", typ: matrixOf(3, 5), value: matrices(3, 5, true), nulls: true},
		{name: "wide", typ: matrixOf(16, 16), value: matrices(16, 16, true), nulls: true},
	} {
		f, col := c.column()
		s := arrow.NewSchema([]arrow.Field{f}, nil)
		rec := array.NewRecordBatch(s, []arrow.Array{col}, specialRows)
		for _, version := range []string{"2.0", "2.1", "2.2"} {
			t.Run(version+"/"+c.name, func(t *testing.T) {
				dir := t.TempDir()
				in := filepath.Join(dir, "in.arrow")
				writeIPC(t, in, s, rec)
				if _, err := stock.Do(Command{Op: "write", Dir: dir, Table: "t", IPC: in, Version: version}); err != nil {
					t.Fatal(err)
				}
				gotSchema, got := readOwn(t, filepath.Join(dir, "t.lance"))
				compare(t, gotSchema, got, s, []arrow.Array{col})
			})
		}
		_, err := tryWriteOwn(filepath.Join(t.TempDir(), "t.lance"), rec)
		if err == nil || !strings.Contains(err.Error(), "column "+c.name+": a fixed size list holds a null list") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
