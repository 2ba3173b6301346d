// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

// randomArray fills an array of any supported type, nulls included where the
// type allows them.
func randomArray(r *rand.Rand, dt arrow.DataType, n int, nulls bool) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	defer b.Release()
	for range n {
		appendRandom(r, b, nulls)
	}
	return b.NewArray()
}

func appendRandom(r *rand.Rand, b array.Builder, nulls bool) {
	if nulls && r.IntN(5) == 0 {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(r.IntN(2) == 0)
	case *array.Int8Builder:
		b.Append(int8(r.Int32()))
	case *array.Int16Builder:
		b.Append(int16(r.Int32()))
	case *array.Int32Builder:
		b.Append(int32(r.Uint32()))
	case *array.Int64Builder:
		b.Append(int64(r.Uint64()))
	case *array.Uint8Builder:
		b.Append(uint8(r.Uint32()))
	case *array.Uint16Builder:
		b.Append(uint16(r.Uint32()))
	case *array.Uint32Builder:
		b.Append(r.Uint32())
	case *array.Uint64Builder:
		b.Append(r.Uint64())
	case *array.Float32Builder:
		b.Append(float32(r.NormFloat64()))
	case *array.Float64Builder:
		b.Append(r.NormFloat64())
	default:
		appendRandomWide(r, b)
	}
}

func appendRandomWide(r *rand.Rand, b array.Builder) {
	switch b := b.(type) {
	case *array.StringBuilder:
		b.Append(randomText(r))
	case *array.LargeStringBuilder:
		b.Append(randomText(r))
	case *array.BinaryBuilder:
		b.Append(randomBytes(r, r.IntN(30)))
	case *array.FixedSizeBinaryBuilder:
		b.Append(randomBytes(r, b.Type().(*arrow.FixedSizeBinaryType).ByteWidth))
	case *array.Date32Builder:
		b.Append(arrow.Date32(r.Int32N(40000) - 10000))
	case *array.Date64Builder:
		b.Append(arrow.Date64(int64(r.Int32N(40000)-10000) * 86_400_000))
	case *array.Time32Builder:
		b.Append(arrow.Time32(r.Int32N(86_400)))
	case *array.Time64Builder:
		b.Append(arrow.Time64(r.Int64N(86_400_000_000)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(r.Int64N(4_000_000_000) - 1_000_000_000))
	case *array.Decimal128Builder:
		b.Append(randomDecimal(r, b.Type().(*arrow.Decimal128Type).Precision))
	default:
		appendRandomNested(r, b)
	}
}

func appendRandomNested(r *rand.Rand, b array.Builder) {
	switch b := b.(type) {
	case *array.MapBuilder:
		b.Append(true)
		for i := range r.IntN(3) {
			b.KeyBuilder().(*array.StringBuilder).Append(fmt.Sprint("k", i))
			appendRandom(r, b.ItemBuilder(), true)
		}
	case *array.FixedSizeListBuilder:
		b.Append(true)
		for range b.Type().(*arrow.FixedSizeListType).Len() {
			appendRandom(r, b.ValueBuilder(), b.Type().(*arrow.FixedSizeListType).ElemField().Nullable)
		}
	case array.ListLikeBuilder:
		appendEmptyList(b)
		for range r.IntN(4) {
			appendRandom(r, b.ValueBuilder(), b.Type().(arrow.ListLikeType).ElemField().Nullable)
		}
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			appendRandom(r, b.FieldBuilder(i), b.Type().(*arrow.StructType).Field(i).Nullable)
		}
	case array.DictionaryBuilder:
		if err := b.AppendValueFromString(fmt.Sprintf("dictionary value %d", r.IntN(20))); err != nil {
			panic(err)
		}
	case *array.NullBuilder:
		b.AppendNull()
	case *extensions.UUIDBuilder:
		b.AppendBytes([16]byte(randomBytes(r, 16)))
	default:
		panic(fmt.Sprintf("no random values for %s", b.Type()))
	}
}

func appendEmptyList(b array.Builder) {
	switch b := b.(type) {
	case *array.ListBuilder:
		b.Append(true)
	case *array.LargeListBuilder:
		b.Append(true)
	}
}

var alphabet = []string{"a", "b", "Z", "0", " ", "é", "水", "🙂", "\n", `"`}

func randomText(r *rand.Rand) string {
	var s strings.Builder
	for range r.IntN(20) {
		s.WriteString(alphabet[r.IntN(len(alphabet))])
	}
	return s.String()
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func randomDecimal(r *rand.Rand, precision int32) decimal128.Num {
	digits := make([]byte, 1+r.IntN(int(precision)))
	for i := range digits {
		digits[i] = '0' + byte(r.IntN(10))
	}
	text := string(digits)
	if r.IntN(2) == 0 {
		text = "-" + text
	}
	n, err := decimal128.FromString(text, precision, 0)
	if err != nil {
		panic(err)
	}
	return n
}

// randomTable cuts random rows into batches of the given sizes. Each is a
// slice of a larger batch, so that offsets are not 0.
func randomTable(r *rand.Rand, schema *arrow.Schema, sizes ...int) *memTable {
	var batches []arrow.RecordBatch
	for _, n := range sizes {
		cols := make([]arrow.Array, schema.NumFields())
		for i, f := range schema.Fields() {
			cols[i] = randomArray(r, f.Type, n+7, f.Nullable)
		}
		batches = append(batches, array.NewRecordBatch(schema, cols, int64(n+7)).NewSlice(3, int64(n+3)))
	}
	return newTable(schema, batches...)
}

// requireSameValues compares one column of two results row by row, as text,
// which does not depend on batches, offsets or dictionaries.
func requireSameValues(t testing.TB, want, got []string) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		if want[i] != got[i] {
			t.Fatalf("row %d: want %q, got %q", i, want[i], got[i])
		}
	}
}

func columnText(batches []arrow.RecordBatch, c int) []string {
	var out []string
	for _, b := range batches {
		col := b.Column(c)
		for i := range col.Len() {
			out = append(out, col.ValueStr(i))
		}
	}
	return out
}

// collector gathers every value of a result as text, row by row.
type collector struct{ values []string }

func (c *collector) add(b arrow.RecordBatch) error {
	for i := range int(b.NumRows()) {
		for _, col := range b.Columns() {
			c.values = append(c.values, col.ValueStr(i))
		}
	}
	return nil
}
