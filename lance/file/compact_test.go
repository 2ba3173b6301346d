// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// compactCases are columns and the encoding compact writing must choose for
// them, with what it may take of the plain size, in 100ths.
var compactCases = []struct {
	name string
	typ  arrow.DataType
	fill func(r *rand.Rand, b array.Builder, i int)
	want string
	most int
}{
	{"small integers", arrow.PrimitiveTypes.Int64, func(r *rand.Rand, b array.Builder, _ int) { b.(*array.Int64Builder).Append(int64(r.IntN(1 << 20))) }, "inline_bitpacking", 36},
	{"bytes", arrow.PrimitiveTypes.Uint8, func(r *rand.Rand, b array.Builder, _ int) { b.(*array.Uint8Builder).Append(uint8(r.IntN(8))) }, "inline_bitpacking", 43},
	{"shorts", arrow.PrimitiveTypes.Uint16, func(r *rand.Rand, b array.Builder, _ int) { b.(*array.Uint16Builder).Append(uint16(r.IntN(64))) }, "inline_bitpacking", 41},
	{"runs", arrow.PrimitiveTypes.Int32, func(_ *rand.Rand, b array.Builder, i int) { b.(*array.Int32Builder).Append(int32(i/100) * 1000003) }, "rle|general", 6},
	{"one value", arrow.PrimitiveTypes.Int64, func(_ *rand.Rand, b array.Builder, _ int) { b.(*array.Int64Builder).Append(-1) }, "dictionary", 4},
	{"few floats", arrow.PrimitiveTypes.Float64, func(r *rand.Rand, b array.Builder, _ int) { b.(*array.Float64Builder).Append(float64(r.IntN(50)) / 7) }, "dictionary", 11},
	{"few decimals", &arrow.Decimal128Type{Precision: 15, Scale: 2}, func(r *rand.Rand, b array.Builder, _ int) {
		b.(*array.Decimal128Builder).Append(decimal128.FromI64(int64(r.IntN(11)) << 50))
	}, "dictionary", 5},
	{"many decimals", &arrow.Decimal128Type{Precision: 15, Scale: 2}, func(r *rand.Rand, b array.Builder, _ int) {
		b.(*array.Decimal128Builder).Append(decimal128.FromI64(int64(r.IntN(10000000))))
	}, "general", 40},
	{"smooth floats", arrow.PrimitiveTypes.Float64, func(_ *rand.Rand, b array.Builder, i int) { b.(*array.Float64Builder).Append(1e6 + float64(i)/4) }, "byte_stream_split", 30},
	{"few strings", arrow.BinaryTypes.String, func(r *rand.Rand, b array.Builder, _ int) {
		b.(*array.StringBuilder).Append(fmt.Sprintf("kind %d", r.IntN(9)))
	}, "dictionary", 8},
	{"few wide strings", arrow.BinaryTypes.LargeString, func(r *rand.Rand, b array.Builder, _ int) {
		b.(*array.LargeStringBuilder).Append(fmt.Sprintf("kind %d", r.IntN(400)))
	}, "dictionary", 20},
	{"texts", arrow.BinaryTypes.String, func(r *rand.Rand, b array.Builder, i int) {
		b.(*array.StringBuilder).Append(fmt.Sprintf("customer %d asked %s", i, strings.Repeat("please ", r.IntN(6))))
	}, "general", 50},
	{"noise", arrow.PrimitiveTypes.Uint64, func(r *rand.Rand, b array.Builder, _ int) { b.(*array.Uint64Builder).Append(r.Uint64()) }, "full_zip_layout", 101},
	{"vectors", arrow.FixedSizeListOf(4, arrow.PrimitiveTypes.Float32), func(r *rand.Rand, b array.Builder, _ int) {
		l := b.(*array.FixedSizeListBuilder)
		l.Append(true)
		for range 4 {
			l.ValueBuilder().(*array.Float32Builder).Append(r.Float32())
		}
	}, "full_zip_layout", 101},
}

func TestCompactWritingChoosesWhatPays(t *testing.T) {
	const rows = 20000
	for _, c := range compactCases {
		for _, nullable := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", c.name, nullable), func(t *testing.T) {
				mem := checked(t)
				r := rand.New(rand.NewPCG(4, 4))
				b := array.NewBuilder(mem, c.typ)
				for i := range rows {
					if nullable && r.IntN(50) == 0 {
						b.AppendNull()
						continue
					}
					c.fill(r, b, i)
				}
				s := arrow.NewSchema([]arrow.Field{{Name: "c", Type: c.typ, Nullable: nullable}}, nil)
				col := b.NewArray()
				b.Release()
				defer col.Release()
				checkCompact(t, mem, s, col, c.want, c.most, nullable)
			})
		}
	}
}

func checkCompact(t *testing.T, mem memory.Allocator, s *arrow.Schema, col arrow.Array, want string, most int, nullable bool) {
	t.Helper()
	rec := array.NewRecordBatch(s, []arrow.Array{col}, int64(col.Len()))
	defer rec.Release()
	plain, _ := writeFile(t, s, WriterOptions{}, rec)
	b, _ := writeFile(t, s, WriterOptions{Compact: true}, rec)
	if nullable {
		most += 5 // levels
	}
	if got := len(b) * 100 / len(plain); got > most {
		t.Errorf("%d bytes, %d plain: %d%%, at most %d%%", len(b), len(plain), got, most)
	}
	r := openBytes(t, b, false, mem)
	names, err := r.Encodings()
	if err != nil {
		t.Fatal(err)
	}
	used := func(name string) bool { return names[name] > 0 }
	if !slices.ContainsFunc(strings.Split(want, "|"), used) && !(nullable && want == "full_zip_layout") {
		t.Errorf("%s not used, but %v", want, names)
	}
	got := scanTable(t, r, ScanOptions{BatchRows: 7001}, mem)
	defer releaseAll(got)
	same(t, s, got, []arrow.Array{col})
	rnd := rand.New(rand.NewPCG(1, 9))
	checkTake(t, rnd, r, s, []arrow.Array{col}, mem)
	checkRanges(t, rnd, r, s, []arrow.Array{col}, mem)
}
