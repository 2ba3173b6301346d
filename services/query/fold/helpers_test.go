// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/services/query/fold"
)

// types are all that some function or grouping is known for.
var types = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean,
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
	arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString,
	arrow.FixedWidthTypes.Date32, &arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Millisecond},
	&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
	&arrow.Decimal128Type{Precision: 10, Scale: 2}, &arrow.Decimal128Type{Precision: 38, Scale: 4},
}

var functions = []fold.Func{
	fold.CountRows, fold.Count, fold.Sum, fold.Min, fold.Max, fold.Avg, fold.StddevSamp, fold.StddevPop, fold.VarSamp, fold.VarPop,
}

// column is an array of values, nil for null, as arrays come: a part of a larger
// one, and with anything in the place of what is null.
func column(t require.TestingT, r *rand.Rand, dt arrow.DataType, values []any) arrow.Array {
	before, after := r.IntN(70), r.IntN(3)
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	valid, nulls := make([]byte, bitutil.BytesForBits(int64(before+len(values)+after))), 0
	for i := range before + len(values) + after {
		v := valueOf(r, dt, false)
		if i >= before && i < before+len(values) {
			if given := values[i-before]; given != nil {
				v = given
				bitutil.SetBit(valid, i)
			} else {
				nulls++
			}
		} else if r.IntN(2) == 0 {
			bitutil.SetBit(valid, i)
		}
		appendValue(t, b, v)
	}
	data := b.NewArray().Data()
	buffers := append([]*memory.Buffer{}, data.Buffers()...)
	buffers[0] = memory.NewBufferBytes(valid)
	if nulls == 0 && r.IntN(2) == 0 {
		buffers[0] = nil
	}
	known := array.UnknownNullCount
	if buffers[0] == nil {
		known = 0
	}
	all := array.MakeFromData(array.NewData(dt, data.Len(), buffers, nil, known, 0))
	return array.NewSlice(all, int64(before), int64(before+len(values)))
}

func appendValue(t require.TestingT, b array.Builder, v any) {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v.(bool))
	case *array.Int8Builder:
		b.Append(int8(v.(int64)))
	case *array.Int16Builder:
		b.Append(int16(v.(int64)))
	case *array.Int32Builder:
		b.Append(int32(v.(int64)))
	case *array.Int64Builder:
		b.Append(v.(int64))
	case *array.Date32Builder:
		b.Append(arrow.Date32(v.(int64)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v.(int64)))
	case *array.Uint8Builder:
		b.Append(uint8(v.(uint64)))
	case *array.Uint16Builder:
		b.Append(uint16(v.(uint64)))
	case *array.Uint32Builder:
		b.Append(uint32(v.(uint64)))
	case *array.Uint64Builder:
		b.Append(v.(uint64))
	case *array.Float32Builder:
		b.Append(float32(v.(float64)))
	case *array.Float64Builder:
		b.Append(v.(float64))
	case array.StringLikeBuilder:
		b.Append(v.(string))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromBigInt(v.(*big.Int)))
	default:
		require.Fail(t, "no builder", "%T", b)
	}
}

// at is the value of a row: nil, bool, int64, uint64, float64, string or, of
// decimals, *big.Int.
func at(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Date32:
		return int64(a.Value(i))
	case *array.Timestamp:
		return int64(a.Value(i))
	case *array.Uint8:
		return uint64(a.Value(i))
	case *array.Uint16:
		return uint64(a.Value(i))
	case *array.Uint32:
		return uint64(a.Value(i))
	case *array.Uint64:
		return a.Value(i)
	case *array.Float32:
		return float64(a.Value(i))
	case *array.Float64:
		return a.Value(i)
	case *array.String:
		return strings.Clone(a.Value(i))
	case *array.LargeString:
		return strings.Clone(a.Value(i))
	case *array.Decimal128:
		return a.Value(i).BigInt()
	}
	panic(fmt.Sprintf("no value of %T", a))
}

// valueOf is a random value of a type: one of few, or, if it is wild, of all.
func valueOf(r *rand.Rand, dt arrow.DataType, wild bool) any {
	if wild && r.IntN(4) == 0 {
		edges := edgesOf(dt)
		return edges[r.IntN(len(edges))]
	}
	few := int64(r.IntN(7))
	switch dt := dt.(type) {
	case *arrow.BooleanType:
		return few%2 == 0
	case *arrow.Float32Type, *arrow.Float64Type:
		if wild {
			return float64(float32(r.NormFloat64()*100 + 1e4))
		}
		return float64(few) / 4
	case *arrow.Decimal128Type:
		if wild {
			return new(big.Int).Mul(big.NewInt(few-3), big.NewInt(r.Int64N(1e9)))
		}
		return big.NewInt(few - 3)
	case *arrow.StringType, *arrow.LargeStringType:
		if wild {
			return letters(r, r.IntN(40))
		}
		return letters(rand.New(rand.NewPCG(uint64(few), 0)), int(few)*5)
	default:
		if arrow.IsUnsignedInteger(dt.ID()) {
			if wild {
				return r.Uint64() >> (64 - dt.(arrow.FixedWidthDataType).BitWidth())
			}
			return uint64(few)
		}
		if wild {
			return int64(r.Uint64()) >> (64 - dt.(arrow.FixedWidthDataType).BitWidth())
		}
		return few - 3
	}
}

func letters(r *rand.Rand, n int) string {
	out := make([]rune, n)
	for i := range out {
		out[i] = []rune("\x00aäb€z𝄞")[r.IntN(7)]
	}
	return string(out)
}

// edgesOf are the values of a type where mistakes are made.
func edgesOf(dt arrow.DataType) []any {
	switch dt := dt.(type) {
	case *arrow.BooleanType:
		return []any{true, false}
	case *arrow.Float32Type:
		return []any{0.0, math.Copysign(0, -1), -1.5, 16777216.0, 1e-3}
	case *arrow.Float64Type:
		return []any{0.0, math.Copysign(0, -1), -1.5, 1e15, 1.0 / 3}
	case *arrow.Decimal128Type:
		most := decimal128.GetMaxValue(min(dt.Precision, 33)).BigInt() // many of them have a sum
		return []any{big.NewInt(0), most, new(big.Int).Neg(most), big.NewInt(-1)}
	case *arrow.StringType, *arrow.LargeStringType:
		return []any{
			"", "\x00", "\x00\x00", "a", "a\x00", "a\x00\x00", "12345678", "12345678\x00", "123456789", "abcdefghijklmnop", "abcdefghijklmno",
			"abcdefghijklmnopq", "abcdefghijklmnop\x00", "é", "\U0010ffff", "abcdefghijklmnopqrstuvwxyz",
		}
	case *arrow.TimestampType:
		return []any{int64(0), int64(-1), int64(1) << 40, -int64(1) << 40}
	case *arrow.Date32Type:
		return []any{int64(0), int64(-1), int64(100000), int64(-100000)}
	}
	bits := dt.(arrow.FixedWidthDataType).BitWidth()
	if arrow.IsUnsignedInteger(dt.ID()) {
		return []any{uint64(0), uint64(1), uint64(math.MaxUint64) >> (64 - bits), uint64(1) << (bits - 1)}
	}
	return []any{int64(0), int64(-1), int64(math.MaxInt64) >> (64 - bits), int64(math.MinInt64) >> (64 - bits)}
}

// input is a schema with a batch for each of its parts: keys, values and a
// filter.
type input struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
}

// randomInput has a column for each type, and a filter behind them. Half of the
// columns have the same value many times in a row.
func randomInput(t require.TestingT, r *rand.Rand, dts []arrow.DataType, rows []int, wild bool, nulls float64) input {
	var in input
	var fields []arrow.Field
	for i, dt := range append(dts[:len(dts):len(dts)], arrow.FixedWidthTypes.Boolean) {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("c%d", i), Type: dt, Nullable: true})
	}
	in.schema = arrow.NewSchema(fields, nil)
	for _, n := range rows {
		columns := make([]arrow.Array, len(fields))
		for i, f := range fields {
			values, stay := make([]any, n), 1+r.IntN(2)*r.IntN(400)
			for j := range values {
				if j > 0 && r.IntN(stay) > 0 {
					values[j] = values[j-1]
				} else if r.Float64() >= nulls {
					values[j] = valueOf(r, f.Type, wild)
				}
			}
			columns[i] = column(t, r, f.Type, values)
		}
		in.batches = append(in.batches, array.NewRecordBatch(in.schema, columns, int64(n)))
	}
	return in
}

// result is the schema of what a spec computes.
func (in input) result(spec fold.Spec) *arrow.Schema {
	var fields []arrow.Field
	for i, k := range spec.Keys {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("k%d", i), Type: in.schema.Field(k).Type, Nullable: true})
	}
	for i, a := range spec.Aggregates {
		var dt arrow.DataType
		if a.Func != fold.CountRows {
			dt = in.schema.Field(a.Column).Type
		}
		dt, _ = a.Func.Type(dt)
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("a%d", i), Type: dt, Nullable: true})
	}
	return arrow.NewSchema(fields, nil)
}

// fold folds the batches in turn into some folds, and merges those.
func (in input) fold(t require.TestingT, spec fold.Spec, folds int) (arrow.RecordBatch, error) {
	all := make([]*fold.Fold, folds)
	for i := range all {
		var err error
		all[i], err = fold.New(in.schema, spec)
		require.NoError(t, err)
	}
	for i, b := range in.batches {
		if err := all[i%folds].Add(b); err != nil {
			return nil, err
		}
	}
	for _, f := range all[1:] {
		if err := all[0].Merge(f); err != nil {
			return nil, err
		}
	}
	return all[0].Batch(in.result(spec))
}

// rows has the values of each row of a batch, by the values of its first keys.
func rows(t require.TestingT, keys int, batches ...arrow.RecordBatch) map[string][]any {
	out := map[string][]any{}
	for _, b := range batches {
		for i := range int(b.NumRows()) {
			row := make([]any, b.NumCols())
			for c := range row {
				row[c] = at(b.Column(c), i)
			}
			key := fmt.Sprintf("%#v", row[:keys])
			_, twice := out[key]
			require.False(t, twice, "two rows for the group %s", key)
			out[key] = row
		}
	}
	return out
}

// requireSame holds the rows against those that are wanted. Floats may differ by
// what the order of additions changes.
func requireSame(t require.TestingT, want, got map[string][]any, about ...any) {
	require.Len(t, got, len(want), about...)
	for key, w := range want {
		g, ok := got[key]
		require.True(t, ok, "no group %s; %v", key, about)
		for i := range w {
			if !same(w[i], g[i]) {
				require.Fail(t, "another value", "%s, column %d: want %v, got %v; %v", key, i, w[i], g[i], about)
			}
		}
	}
}

func same(want, got any) bool {
	switch w := want.(type) {
	case *big.Int:
		g, ok := got.(*big.Int)
		return ok && w.Cmp(g) == 0
	case float64:
		g, ok := got.(float64)
		return ok && (w == g || math.IsNaN(w) && math.IsNaN(g) || math.Abs(w-g) <= 1e-9*max(math.Abs(w), math.Abs(g), 1e-6))
	}
	return want == got
}
