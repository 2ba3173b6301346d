// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/fold"
)

func TestWhatIsKnown(t *testing.T) {
	for _, dt := range []arrow.DataType{
		arrow.FixedWidthTypes.Float16, arrow.BinaryTypes.Binary, arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Duration_us,
		&arrow.Decimal256Type{Precision: 30}, arrow.ListOf(arrow.PrimitiveTypes.Int8), arrow.StructOf(), arrow.Null, arrow.BinaryTypes.StringView,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
	} {
		require.False(t, fold.Groups(dt), dt)
		for _, f := range functions[2:] {
			_, ok := f.Type(dt)
			require.False(t, ok, "%s of %s", names[f], dt)
		}
	}
	for _, dt := range []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, &arrow.Decimal128Type{Precision: 10}} {
		require.False(t, fold.Groups(dt), dt)
	}
	for _, f := range functions[1:] {
		_, ok := f.Type(nil)
		require.False(t, ok)
	}
	_, ok := fold.Sum.Type(&arrow.Decimal128Type{Precision: 5, Scale: -2})
	require.False(t, ok)
	_, ok = fold.Max.Type(arrow.BinaryTypes.LargeString)
	require.False(t, ok, "a computed text is utf8")
	_, ok = fold.Func(0).Type(arrow.PrimitiveTypes.Int8)
	require.False(t, ok)
}

func TestNewRefuses(t *testing.T) {
	in := one(t, arrow.PrimitiveTypes.Float64)
	for name, c := range map[string]struct {
		spec fold.Spec
		kind lake.Kind
	}{
		"a key that is no key":       {fold.Spec{Keys: []int{0}}, lake.Unsupported},
		"a function of another type": {fold.Spec{Aggregates: []fold.Aggregate{{Func: fold.Sum, Column: 1, Filter: -1}}}, lake.Unsupported},
		"a key that is not there":    {fold.Spec{Keys: []int{2}}, lake.Invalid},
		"a column that is not there": {fold.Spec{Aggregates: []fold.Aggregate{{Func: fold.Sum, Column: -1, Filter: -1}}}, lake.Invalid},
		"a filter that is none":      {fold.Spec{Aggregates: []fold.Aggregate{{Func: fold.CountRows, Filter: 0}}}, lake.Invalid},
	} {
		_, err := fold.New(in.schema, c.spec)
		require.Equal(t, c.kind, lake.KindOf(err), name)
	}
}

// TestCountOfWhatIsNotComputedWith needs nothing but nulls.
func TestCountOfWhatIsNotComputedWith(t *testing.T) {
	b := array.NewListBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Int8)
	b.AppendNull()
	b.Append(true)
	b.AppendNull()
	b.Append(true)
	list := array.NewSlice(b.NewArray(), 1, 4)
	schema := arrow.NewSchema([]arrow.Field{{Name: "l", Type: list.DataType(), Nullable: true}}, nil)
	in := input{schema, []arrow.RecordBatch{array.NewRecordBatch(schema, []arrow.Array{list}, 3)}}
	got, err := in.fold(t, fold.Spec{Aggregates: []fold.Aggregate{{Func: fold.Count, Filter: -1}, {Func: fold.CountRows, Filter: -1}}}, 1)
	require.NoError(t, err)
	require.Equal(t, map[string][]any{"[]interface {}{}": {int64(2), int64(3)}}, rows(t, 0, got))
}

func TestNoRows(t *testing.T) {
	in := one(t, arrow.PrimitiveTypes.Int64)
	got, err := in.fold(t, in.everything(0), 2)
	require.NoError(t, err)
	require.EqualValues(t, 1, got.NumRows())
	got, err = in.fold(t, in.everything(0, 0), 2)
	require.NoError(t, err)
	require.Zero(t, got.NumRows())
}

// many is a column of as many values, all of them different, in batches.
func many(t require.TestingT, dt arrow.DataType, n int, value func(i int) any) input {
	r := rand.New(rand.NewPCG(1, 1))
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: dt, Nullable: true}}, nil)
	in := input{schema: schema}
	for from := 0; from < n; from += 10_000 {
		values := make([]any, min(10_000, n-from))
		for i := range values {
			values[i] = value(from + i)
		}
		in.batches = append(in.batches, array.NewRecordBatch(schema, []arrow.Array{column(t, r, dt, values)}, int64(len(values))))
	}
	return in
}

// TestBounds: what is within them is answered, all else is the engine's.
func TestBounds(t *testing.T) {
	wide := func(i int) any { return int64(i) * 1_000_003 }
	near := func(i int) any { return int64(i) }
	text := func(i int) any { return fmt.Sprint("robot ", i) }
	long := func(i int) any { return fmt.Sprint("the robot with the number ", i) }
	count := []fold.Aggregate{{Func: fold.CountRows, Filter: -1}}
	for name, c := range map[string]struct {
		dt    arrow.DataType
		value func(i int) any
		n     int
		ok    bool
	}{
		"near":                {arrow.PrimitiveTypes.Int64, near, 64 << 10, true},
		"too many near":       {arrow.PrimitiveTypes.Int64, near, 64<<10 + 1, false},
		"wide":                {arrow.PrimitiveTypes.Int64, wide, 64 << 10, true},
		"too many wide":       {arrow.PrimitiveTypes.Int64, wide, 64<<10 + 1, false},
		"texts":               {arrow.BinaryTypes.String, text, 64 << 10, true},
		"too many texts":      {arrow.BinaryTypes.String, text, 64<<10 + 1, false},
		"long texts":          {arrow.BinaryTypes.LargeString, long, 64 << 10, true},
		"too many long texts": {arrow.BinaryTypes.LargeString, long, 64<<10 + 1, false},
		"too much text":       {arrow.BinaryTypes.String, func(i int) any { return strings.Repeat(fmt.Sprint(i), 3000) }, 3000, false},
		"few in many rows":    {arrow.PrimitiveTypes.Int64, func(i int) any { return wide(i % 60_000) }, 500_000, true},
		"ever more":           {arrow.PrimitiveTypes.Int64, func(i int) any { return wide(max(0, i-200_000) / 6) }, 400_000, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := many(t, c.dt, c.n, c.value)
			got, err := in.fold(t, fold.Spec{Keys: []int{0}, Aggregates: count}, 1)
			if !c.ok {
				require.ErrorIs(t, err, fold.ErrEngine)
				return
			}
			require.NoError(t, err)
			requireSame(t, reference(in, fold.Spec{Keys: []int{0}, Aggregates: count}), rows(t, 1, got))
		})
	}
	t.Run("too many together", func(t *testing.T) {
		_, err := many(t, arrow.PrimitiveTypes.Int64, 80_000, near).fold(t, fold.Spec{Keys: []int{0}, Aggregates: count}, 2)
		require.ErrorIs(t, err, fold.ErrEngine)
	})
	t.Run("a long text", func(t *testing.T) {
		in := many(t, arrow.BinaryTypes.String, 2, func(int) any { return strings.Repeat("x", 20<<20) })
		_, err := in.fold(t, fold.Spec{Aggregates: []fold.Aggregate{{Func: fold.Max, Filter: -1}}}, 1)
		require.ErrorIs(t, err, fold.ErrEngine)
	})
}

// TestSumsBeyond64Bits of very many rows, which spill in between.
func TestSumsBeyond64Bits(t *testing.T) {
	for _, v := range []int64{math.MaxInt64, math.MinInt64, 1 << 49, -1 << 49, 1<<50 - 1} {
		in := many(t, arrow.PrimitiveTypes.Int64, 100_000, func(int) any { return v })
		spec := fold.Spec{Keys: []int{0}, Aggregates: []fold.Aggregate{{Func: fold.Sum, Filter: -1}}}
		for _, keys := range [][]int{nil, {0}} {
			spec.Keys = keys
			got, err := in.fold(t, spec, 2)
			require.NoError(t, err)
			requireSame(t, reference(in, spec), rows(t, len(keys), got))
		}
	}
}

func TestDecimalsOfTooManyDigits(t *testing.T) {
	dt := &arrow.Decimal128Type{Precision: 4}
	spec := fold.Spec{Aggregates: []fold.Aggregate{{Func: fold.Sum, Filter: -1}}}
	for v, ok := range map[int64]bool{9999: true, -9999: true, 10000: false, -10000: false} {
		_, err := one(t, dt, whole(v)).fold(t, spec, 1)
		if ok {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, fold.ErrEngine, "no value of the type is %d", v)
		}
	}
	wide := &arrow.Decimal128Type{Precision: 38}
	most := decimal128.GetMaxValue(38).BigInt()
	_, err := many(t, wide, 200, func(int) any { return most }).fold(t, spec, 1)
	require.ErrorIs(t, err, fold.ErrEngine, "the sum has more than 38 digits")
}

// TestDamagedTexts are found before anything is read that is not there.
func TestDamagedTexts(t *testing.T) {
	content := memory.NewBufferBytes([]byte("abcdefghijklmnopqrstuvwxyz"))
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.BinaryTypes.String}}, nil)
	of := func(offsets ...int32) input {
		buffers := []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets)), content}
		a := array.MakeFromData(array.NewData(arrow.BinaryTypes.String, len(offsets)-1, buffers, nil, 0, 0))
		return input{schema, []arrow.RecordBatch{array.NewRecordBatch(schema, []arrow.Array{a}, int64(a.Len()))}}
	}
	for _, offsets := range [][]int32{
		{0, 5, 3}, {-1, 3}, {-20, 3, 6}, {0, 20, 3, 26}, {30, 30, 26}, {0, 28, 26}, {0, math.MaxInt32, 5}, {math.MinInt32, 0}, {5, -1, 8}, {0, 10, 1, 12},
	} {
		for name, spec := range map[string]fold.Spec{
			"key": {Keys: []int{0}},
			"max": {Aggregates: []fold.Aggregate{{Func: fold.Max, Filter: -1}}},
			"min": {Aggregates: []fold.Aggregate{{Func: fold.Min, Filter: -1}}},
		} {
			_, err := of(offsets...).fold(t, spec, 1)
			require.Equal(t, lake.Corrupt, lake.KindOf(err), "%s of %v: %v", name, offsets, err)
			require.ErrorContains(t, err, "column v")
		}
	}
}

func TestTextOtherThanUTF8IsCorrupt(t *testing.T) {
	for _, c := range []struct {
		values []any
		key    bool
		max    bool
	}{
		{[]any{"a", "b"}, true, true},
		{[]any{"a", "\xff"}, false, false},
		{[]any{"b", "\x80", "\U0010ffff"}, false, true},
		{[]any{nil, "é"}, true, true},
	} {
		in := one(t, arrow.BinaryTypes.String, c.values...)
		_, err := in.fold(t, fold.Spec{Keys: []int{0}}, 1)
		require.Equal(t, c.key, err == nil, "%q: %v", c.values, err)
		if err != nil {
			require.Equal(t, lake.Corrupt, lake.KindOf(err))
		}
		_, err = in.fold(t, fold.Spec{Aggregates: []fold.Aggregate{{Func: fold.Max, Filter: -1}}}, 1)
		require.Equal(t, c.max, err == nil, "%q: %v", c.values, err)
	}
}

// TestNothingIsKept: batches are views of what may be gone afterwards, and are
// not written to.
func TestNothingIsKept(t *testing.T) {
	spec := fold.Spec{Keys: []int{0}, Aggregates: []fold.Aggregate{{Func: fold.Max, Filter: -1}, {Func: fold.CountRows, Filter: 1}}}
	values := []any{"a", "a text of more than sixteen bytes", nil, "a"}
	in := one(t, arrow.BinaryTypes.String, values...)
	want := reference(in, spec)
	f, err := fold.New(in.schema, spec)
	require.NoError(t, err)
	text := in.batches[0].Column(0).Data().Buffers()[2].Bytes()
	before := strings.Clone(string(text))
	require.NoError(t, f.Add(in.batches[0]))
	require.Equal(t, before, string(text))
	for i := range text {
		text[i] = '!'
	}
	got, err := f.Batch(in.result(spec))
	require.NoError(t, err)
	requireSame(t, want, rows(t, 1, got))
}

func TestAddAllocatesNothingARow(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	dts := []arrow.DataType{arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float64}
	in := randomInput(t, r, dts, []int{20_000}, false, 0.1)
	spec := fold.Spec{Keys: []int{0, 1}}
	for _, f := range functions {
		spec.Aggregates = append(spec.Aggregates, fold.Aggregate{Func: f, Column: 2, Filter: -1}, fold.Aggregate{Func: fold.Max, Column: 0, Filter: 3})
	}
	f, err := fold.New(in.schema, spec)
	require.NoError(t, err)
	require.NoError(t, f.Add(in.batches[0]))
	require.Less(t, testing.AllocsPerRun(5, func() { require.NoError(t, f.Add(in.batches[0])) }), 100.0)
}
