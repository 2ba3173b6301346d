// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rowfilter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake/predicate"
)

var schema = arrow.NewSchema([]arrow.Field{
	{Name: "i32", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "i64", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "u8", Type: arrow.PrimitiveTypes.Uint8},
	{Name: "u64", Type: arrow.PrimitiveTypes.Uint64},
	{Name: "f64", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "day", Type: arrow.FixedWidthTypes.Date32},
	{Name: "money", Type: &arrow.Decimal128Type{Precision: 30, Scale: 2}, Nullable: true},
	{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "flag", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Int16), Nullable: true},
	{Name: "hash", Type: &arrow.FixedSizeBinaryType{ByteWidth: 3}},
	{Name: "vector", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)},
	{Name: "bytes", Type: arrow.BinaryTypes.LargeBinary},
	{Name: "f32", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
	{Name: "at", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
	{Name: "u32", Type: arrow.PrimitiveTypes.Uint32, Nullable: true},
	{Name: "long", Type: arrow.BinaryTypes.LargeString, Nullable: true},
}, nil)

var huge, _ = new(big.Int).SetString("-123456789012345678901234567", 10)

// random makes a batch, perhaps a slice of a larger one, of few different
// values, so that every comparison has something to say.
func random(rng *rand.Rand, rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	skip := rng.IntN(3)
	for range rows + skip {
		for c, f := range schema.Fields() {
			if f.Nullable && rng.IntN(5) == 0 {
				b.Field(c).AppendNull()
				continue
			}
			n := rng.IntN(8)
			switch v := b.Field(c).(type) {
			case *array.Int32Builder:
				v.Append([]int32{math.MinInt32, -2, -1, 0, 1, 2, 3, math.MaxInt32}[n])
			case *array.Int64Builder:
				v.Append([]int64{math.MinInt64, -2, -1, 0, 1, 2, 3, math.MaxInt64}[n])
			case *array.Uint8Builder:
				v.Append(uint8(n))
			case *array.Uint64Builder:
				v.Append([]uint64{0, 1, 2, 3, 4, 5, 1 << 63, math.MaxUint64}[n])
			case *array.Float64Builder:
				v.Append([]float64{math.Inf(-1), -1.5, math.Copysign(0, -1), 0, 1, 2.5, math.Inf(1), math.NaN()}[n])
			case *array.Float32Builder:
				v.Append([]float32{float32(math.Inf(-1)), -0.1, float32(math.Copysign(0, -1)), 0, math.SmallestNonzeroFloat32, 0.1, math.MaxFloat32, float32(math.NaN())}[n])
			case *array.TimestampBuilder:
				v.Append([]arrow.Timestamp{math.MinInt64, -1, 0, 1, 2, 3, math.MaxInt64 - 1, math.MaxInt64}[n])
			case *array.Uint32Builder:
				v.Append([]uint32{0, 1, 2, 3, 4, 5, math.MaxInt32 + 1, math.MaxUint32}[n])
			case *array.LargeStringBuilder:
				v.Append([]string{"", "\x00", "a", "a\x00", "a\x00\x00", "b", "a", "\xff\xff"}[n])
			case *array.Date32Builder:
				v.Append(arrow.Date32(n - 3))
			case *array.Decimal128Builder:
				switch n {
				case 6:
					v.Append(decimal128.FromBigInt(new(big.Int).Neg(huge)))
				case 7:
					v.Append(decimal128.FromBigInt(huge))
				default:
					v.Append(decimal128.FromI64([]int64{math.MinInt64, -2, -1, 0, 1, math.MaxInt64}[n]))
				}
			case *array.StringBuilder:
				v.Append([]string{"", "a", "aa", "b", "ba", "c", "\xff", "ä"}[n])
			case *array.BooleanBuilder:
				v.Append(n%2 == 0)
			case *array.ListBuilder:
				v.Append(true)
				for i := range n % 3 {
					v.ValueBuilder().(*array.Int16Builder).Append(int16(i))
				}
			case *array.FixedSizeBinaryBuilder:
				v.Append([]byte{byte(n), 1, 2})
			case *array.FixedSizeListBuilder:
				v.Append(true)
				v.ValueBuilder().(*array.Float32Builder).AppendValues([]float32{float32(n), 1}, nil)
			case *array.BinaryBuilder:
				v.Append([]byte{byte(n), byte(n)}[:n%3])
			default:
				panic(fmt.Sprintf("%T", v))
			}
		}
	}
	all := b.NewRecordBatch()
	defer all.Release()
	return all.NewSlice(int64(skip), int64(rows+skip))
}

// value is a row's value as predicates know it.
func value(c arrow.Array, row int) any {
	if c.IsNull(row) {
		return nil
	}
	switch c := c.(type) {
	case *array.Int32:
		return int64(c.Value(row))
	case *array.Int64:
		return c.Value(row)
	case *array.Uint8:
		return int64(c.Value(row))
	case *array.Uint64:
		return c.Value(row)
	case *array.Float64:
		return c.Value(row)
	case *array.Float32:
		return float64(c.Value(row))
	case *array.Timestamp:
		return int64(c.Value(row))
	case *array.Uint32:
		return int64(c.Value(row))
	case *array.LargeString:
		return c.Value(row)
	case *array.Date32:
		return int64(c.Value(row))
	case *array.Decimal128:
		return c.Value(row).BigInt()
	case *array.String:
		return c.Value(row)
	case *array.LargeBinary:
		return string(c.Value(row))
	case *array.Boolean:
		return bit(c.Value(row))
	}
	return struct{}{} // of a type that nothing compares with
}

// randomPredicate takes its constants from a batch.
func randomPredicate(rng *rand.Rand, from arrow.RecordBatch, depth int) predicate.Predicate {
	column := rng.IntN(schema.NumFields())
	constant := func() any {
		if from.NumRows() == 0 {
			return int64(1)
		}
		return value(from.Column(column), rng.IntN(int(from.NumRows())))
	}
	switch kind := rng.IntN(10); {
	case kind < 2 && depth > 0:
		p := predicate.And{}
		for range rng.IntN(4) {
			p = append(p, randomPredicate(rng, from, depth-1))
		}
		return p
	case kind < 4 && depth > 0:
		p := predicate.Or{}
		for range 1 + rng.IntN(3) {
			p = append(p, randomPredicate(rng, from, depth-1))
		}
		return p
	case kind == 4:
		return predicate.Null{Column: column}
	case kind == 5:
		return predicate.NotNull{Column: column}
	case kind == 6:
		p := predicate.In{Column: column}
		for range 1 + rng.IntN(3) {
			p.Values = append(p.Values, constant())
		}
		return p
	}
	return predicate.Compare{Column: column, Op: predicate.Op(1 + rng.IntN(6)), Value: constant()}
}

// source delivers batches it was given, but for those of which a look says
// that they are not wanted.
type source struct {
	Source
	batches []arrow.RecordBatch
	glance  *storage.Glance
	skipped int
}

func (s *source) Schema() *arrow.Schema { return schema }
func (s *source) Scan(_ context.Context, opts storage.ScanOptions) (storage.Scan, error) {
	s.glance = opts.Glance
	return s, nil
}
func (s *source) Close() error { return nil }
func (s *source) Next(context.Context) (arrow.RecordBatch, error) {
	for {
		if len(s.batches) == 0 {
			return nil, io.EOF
		}
		b := s.batches[0]
		s.batches = s.batches[1:]
		if s.wanted(b) {
			return b, nil
		}
		b.Release()
		s.skipped++
	}
}

func (s *source) wanted(b arrow.RecordBatch) bool {
	if s.glance == nil {
		return true
	}
	var columns []arrow.Array
	for _, c := range s.glance.Columns {
		columns = append(columns, b.Column(c))
	}
	look := array.NewRecordBatch(storage.Project(b.Schema(), s.glance.Columns), columns, b.NumRows())
	defer look.Release()
	return s.glance.Wanted(look)
}

// TestNoWantedRowIsLeftOut compares random predicates over random rows with
// what they mean row by row: the rows that come are in their order, unchanged,
// and all of those for which the predicate is true are among them.
func TestNoWantedRowIsLeftOut(t *testing.T) {
	left, total, skipped := 0, 0, 0
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var given []arrow.RecordBatch
		for range 1 + rng.IntN(3) {
			given = append(given, random(rng, rng.IntN(60)))
		}
		where := randomPredicate(rng, given[0], 2)
		s := &source{}
		for _, b := range given {
			b.Retain()
			s.batches = append(s.batches, b)
		}
		rows, err := New(s, where).Scan(t.Context(), storage.ScanOptions{})
		require.NoError(t, err)
		var came []string
		for {
			b, err := rows.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			came = append(came, texts(b)...)
			b.Release()
		}
		at := 0
		for _, b := range given {
			all := texts(b)
			total += len(all)
			for i, text := range all {
				if at < len(came) && came[at] == text {
					at++
					continue
				}
				wanted := predicate.Holds(where, func(c int) any { return value(b.Column(c), i) })
				require.False(t, wanted, "seed %d: %+v leaves out %s", seed, where, text)
				left++
			}
			b.Release()
		}
		skipped += s.skipped
		require.Equal(t, len(came), at, "seed %d: rows that were not given, or in another order", seed)
	}
	t.Logf("%d of %d rows were left out", left, total)
	require.Greater(t, left, total/4, "it is of use")
	require.Positive(t, skipped, "and so is a look at some columns")
}

func texts(b arrow.RecordBatch) (out []string) {
	for i := range int(b.NumRows()) {
		text := ""
		for _, c := range b.Columns() {
			text += c.ValueStr(i) + "|"
		}
		out = append(out, text)
	}
	return out
}

// TestWhatIsOfNoUseIsGivenUp: a scan whose conditions keep nearly all rows stops
// to look at them, and its batches are the ones that were given.
func TestWhatIsOfNoUseIsGivenUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	b := random(rng, 50)
	defer b.Release()
	s := &source{}
	for range 2 * patience {
		b.Retain()
		s.batches = append(s.batches, b)
	}
	rows, err := New(s, predicate.Compare{Column: 2, Op: predicate.GreaterOrEqual, Value: int64(0)}).Scan(t.Context(), storage.ScanOptions{})
	require.NoError(t, err)
	for range 2 * patience {
		got, err := rows.Next(t.Context())
		require.NoError(t, err)
		require.Same(t, b, got)
		got.Release()
	}
	require.EqualValues(t, patience, rows.(*scan).useless.Load())
}

// TestColumnsThatAreNotRead leave their conditions out.
func TestColumnsThatAreNotRead(t *testing.T) {
	where := predicate.And{
		predicate.Compare{Column: 0, Op: predicate.Equal, Value: int64(1)},
		predicate.Compare{Column: 1, Op: predicate.Equal, Value: int64(1)},
	}
	require.Nil(t, compile(where, schema, []int{5}))
	require.Equal(t, bounds{}.at, compile(where, schema, []int{1, 5}).(bounds).at)
	require.Nil(t, compile(predicate.Or{where, predicate.Null{Column: 4}}, schema, []int{0, 1}))
	require.Nil(t, compile(nil, schema, []int{0}))
}

func BenchmarkSelectiveConditions(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	batch := random(rng, 65_536)
	defer batch.Release()
	where := predicate.And{
		predicate.Compare{Column: 5, Op: predicate.GreaterOrEqual, Value: int64(2)},
		predicate.Compare{Column: 6, Op: predicate.Less, Value: big.NewInt(0)},
	}
	f := compile(where, schema, everyColumn())
	b.SetBytes(65_536)
	for b.Loop() {
		numbers := everyRow(65_536)
		f.narrow(batch, *numbers)
		spare.Put(numbers)
	}
}
