// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/tree"
)

// What statements are answered directly is tested with the parser of the engine,
// by TestWhichStatementsAreAnsweredDirectly in services/query. Here is what no
// parser writes.
func TestAnUnknownTreeIsNotAnswered(t *testing.T) {
	require.Nil(t, Read(nil))
	good := func() tree.Object {
		return tree.Object{
			"type": "SELECT_NODE", "aggregate_handling": "STANDARD_HANDLING", "select_list": []any{tree.Object{"class": "STAR"}},
			"from_table": tree.Object{"type": "BASE_TABLE", "schema_name": "ns", "table_name": "t"},
		}
	}
	require.NotNil(t, Read(good()))
	for key, v := range map[string]any{
		"new_clause": tree.Object{"of": "anything"}, "aggregate_handling": "FORCE_AGGREGATES", "modifiers": "one", "select_list": []any{},
		"from_table": tree.Object{"type": "BASE_TABLE", "schema_name": "ns", "at_clause": tree.Object{"unit": "version"}},
	} {
		bad := good()
		bad[key] = v
		require.Nil(t, Read(bad), key)
	}
	for _, item := range []tree.Object{{"class": "STAR", "except": []any{"id"}}, {"class": "NEW"}, {"class": "COLUMN_REF"}, {"class": "COLUMN_REF", "column_names": []any{"a", "b"}}} {
		bad := good()
		bad["select_list"] = []any{item}
		require.Nil(t, Read(bad), item)
	}
}

func TestResolve(t *testing.T) {
	field := func(name string, dt arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: dt} }
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	table := arrow.NewSchema([]arrow.Field{
		field("id", arrow.PrimitiveTypes.Int64), field("Name", arrow.BinaryTypes.String), field("a", arrow.PrimitiveTypes.Int8), field("A", arrow.PrimitiveTypes.Int8),
		field("word", words),
		{Name: "maybe", Type: arrow.PrimitiveTypes.Int8, Nullable: true},
	}, nil)
	for _, c := range []struct {
		columns []string
		planned []arrow.Field
		want    []int
	}{
		{[]string{"NAME", "id"}, []arrow.Field{field("x", arrow.BinaryTypes.String), field("y", arrow.PrimitiveTypes.Int64)}, []int{1, 0}},
		{[]string{"maybe"}, []arrow.Field{{Name: "m", Type: arrow.PrimitiveTypes.Int8, Nullable: true}}, []int{5}},
		{[]string{"id"}, []arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, []int{0}},
		{[]string{"maybe"}, []arrow.Field{field("m", arrow.PrimitiveTypes.Int8)}, nil},
		{[]string{"id"}, []arrow.Field{field("id", arrow.PrimitiveTypes.Int32)}, nil},
		{[]string{"id", "id"}, []arrow.Field{field("id", arrow.PrimitiveTypes.Int64), field("id", arrow.PrimitiveTypes.Int64)}, nil},
		{[]string{"a"}, []arrow.Field{field("a", arrow.PrimitiveTypes.Int8)}, nil},
		{[]string{"word"}, []arrow.Field{field("word", arrow.BinaryTypes.String)}, nil},
		{[]string{"word"}, []arrow.Field{field("word", words)}, nil},
		{[]string{"none"}, []arrow.Field{field("none", arrow.PrimitiveTypes.Int8)}, nil},
		{[]string{"id"}, nil, nil},
		{nil, []arrow.Field{field("id", arrow.PrimitiveTypes.Int64)}, nil},
	} {
		s := &Statement{}
		for _, name := range c.columns {
			s.Columns = append(s.Columns, Column{Name: name})
		}
		got, ok := s.Resolve(table, arrow.NewSchema(c.planned, nil), nil)
		require.Equal(t, c.want != nil, ok, "%v", c)
		if ok {
			require.Equal(t, c.want, got.columns, "%v", c)
		}
	}
}

// memTable is a table of batches.
type memTable struct {
	batches []arrow.RecordBatch
	fail    error // after the batches
	opts    engine.ScanOptions
	open    int
}

func (m *memTable) Schema() *arrow.Schema { return m.batches[0].Schema() }
func (m *memTable) Rows() uint64          { return 0 }
func (m *memTable) Scan(_ context.Context, opts engine.ScanOptions) (engine.Scan, error) {
	m.opts = opts
	m.open++
	return &memScan{table: m}, nil
}

type memScan struct {
	table *memTable
	next  int
}

func (s *memScan) Next(context.Context) (arrow.RecordBatch, error) {
	if s.next == len(s.table.batches) {
		if s.table.fail != nil {
			return nil, s.table.fail
		}
		return nil, io.EOF
	}
	rec := s.table.batches[s.next]
	s.next++
	rec.Retain()
	return rec, nil
}

func (s *memScan) Close() error { s.table.open--; return nil }

var numbers = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)

// reading is a statement over a table of the result's columns.
func reading(s Statement, schema *arrow.Schema) *Reading {
	r, ok := s.Resolve(schema, schema, nil)
	if !ok {
		panic("not answered directly")
	}
	return r
}

func count(t require.TestingT, sizes ...int) *memTable {
	m, n := &memTable{}, int64(0)
	for _, size := range sizes {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for range size {
			b.Append(n)
			n++
		}
		m.batches = append(m.batches, array.NewRecordBatch(numbers, []arrow.Array{b.NewArray()}, int64(size)))
	}
	require.NotEmpty(t, m.batches)
	return m
}

// TestScanIsAWindow over batches of any size.
func TestScanIsAWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := count(t, rapid.SliceOfN(rapid.IntRange(0, 20), 1, 8).Draw(t, "batches")...)
		total := int64(0)
		for _, b := range m.batches {
			total += b.NumRows()
		}
		most := rapid.OneOf(rapid.Int64Range(0, 100), rapid.Just(int64(math.MaxInt64)))
		s := Statement{Offset: most.Draw(t, "offset"), Limit: most.Draw(t, "limit")}
		var got []int64
		require.NoError(t, reading(s, numbers).Scan(t.Context(), m, func(rec arrow.RecordBatch) error {
			require.Positive(t, rec.NumRows())
			got = append(got, rec.Column(0).(*array.Int64).Int64Values()...)
			return nil
		}))
		from := min(s.Offset, total)
		to := from + min(s.Limit, total-from)
		require.Len(t, got, int(to-from))
		for i, n := range got {
			require.Equal(t, from+int64(i), n)
		}
		require.Zero(t, m.open, "the scan was closed")
		require.True(t, m.opts.Ordered)
	})
}

func TestScanStopsAtAnError(t *testing.T) {
	s, mine := reading(Statement{Limit: math.MaxInt64}, numbers), errors.New("mine")
	m := count(t, 3, 3)
	calls := 0
	require.ErrorIs(t, s.Scan(t.Context(), m, func(arrow.RecordBatch) error { calls++; return mine }), mine)
	require.Equal(t, 1, calls)
	m.fail = mine
	require.ErrorIs(t, s.Scan(t.Context(), m, func(arrow.RecordBatch) error { return nil }), mine)
	require.Zero(t, m.open)
	few := reading(Statement{Limit: 3}, numbers)
	require.NoError(t, few.Scan(t.Context(), m, func(arrow.RecordBatch) error { return nil }), "what comes after the limit is not read")
	require.Zero(t, m.opts.Parallel)
	require.Equal(t, 3, m.opts.BatchRows)
}

func TestTextOtherThanUTF8IsCorrupt(t *testing.T) {
	long := strings.Repeat("x", 100)
	for name, c := range map[string]struct {
		values []string
		null   int
		want   bool
	}{
		"ascii":                {[]string{"a", "", long}, -1, true},
		"letters":              {[]string{"grüße", long + "é"}, -1, true},
		"broken":               {[]string{"a", "\xc3("}, -1, false},
		"broken after 32":      {[]string{long + "\xff"}, -1, false},
		"half a character":     {[]string{"\xc3", "\xa9"}, -1, false},
		"a surrogate":          {[]string{"\xed\xa0\x80"}, -1, false},
		"broken below a null":  {[]string{"é", "\xff"}, 1, true},
		"broken beside a null": {[]string{"\xff", "é"}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := array.NewStringBuilder(memory.DefaultAllocator)
			large := array.NewLargeStringBuilder(memory.DefaultAllocator)
			for _, v := range c.values {
				b.Append(v)
				large.Append(v)
			}
			valid := memory.NewBufferBytes([]byte{0xff &^ (1 << max(c.null, 0))})
			nulls := 1
			if c.null < 0 {
				valid, nulls = nil, 0
			}
			for _, a := range []arrow.Array{b.NewArray(), large.NewArray()} {
				buffers := a.Data().Buffers()
				col := array.MakeFromData(array.NewData(a.DataType(), a.Len(), []*memory.Buffer{valid, buffers[1], buffers[2]}, nil, nulls, 0))
				for depth, col := range []arrow.Array{col, listOf(col), structOf(col), structOf(listOf(structOf(col)))} {
					require.Equal(t, c.want, check(col) == nil, "%d: %v", depth, col)
				}
				schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: col.DataType(), Nullable: true}}, nil)
				m := &memTable{batches: []arrow.RecordBatch{array.NewRecordBatch(schema, []arrow.Array{col}, int64(col.Len()))}}
				err := reading(Statement{Limit: math.MaxInt64}, schema).Scan(t.Context(), m, func(arrow.RecordBatch) error { return nil })
				if c.want {
					require.NoError(t, err)
				} else {
					require.Equal(t, lake.Corrupt, lake.KindOf(err))
					require.ErrorContains(t, err, "column v")
				}
			}
		})
	}
	// Rows that are not asked for do no harm.
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues([]string{"\xff", "a", "b", "\xff"}, nil)
	require.NoError(t, check(array.NewSlice(b.NewArray(), 1, 3)))
}

func TestOffsetsThatFallAreCorrupt(t *testing.T) {
	content := memory.NewBufferBytes([]byte("abcdef"))
	numbers := array.NewInt32Builder(memory.DefaultAllocator)
	numbers.AppendValues([]int32{1, 2, 3, 4, 5, 6}, nil)
	values := numbers.NewArray()
	for name, c := range map[string]struct {
		offsets []int32
		want    bool
	}{
		"rising": {[]int32{0, 2, 2, 6}, true}, "a part": {[]int32{1, 2, 3, 4}, true}, "falling": {[]int32{0, 4, 2, 6}, false}, "negative": {[]int32{-1, 2, 3, 6}, false},
	} {
		t.Run(name, func(t *testing.T) {
			narrow := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(c.offsets))
			long := make([]int64, len(c.offsets))
			for i, at := range c.offsets {
				long[i] = int64(at)
			}
			wide := memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(long))
			for _, data := range []arrow.ArrayData{
				array.NewData(arrow.BinaryTypes.String, 3, []*memory.Buffer{nil, narrow, content}, nil, 0, 0),
				array.NewData(arrow.BinaryTypes.Binary, 3, []*memory.Buffer{nil, narrow, content}, nil, 0, 0),
				array.NewData(arrow.BinaryTypes.LargeString, 3, []*memory.Buffer{nil, wide, content}, nil, 0, 0),
				array.NewData(arrow.BinaryTypes.LargeBinary, 3, []*memory.Buffer{nil, wide, content}, nil, 0, 0),
				array.NewData(arrow.ListOf(arrow.PrimitiveTypes.Int32), 3, []*memory.Buffer{nil, narrow}, []arrow.ArrayData{values.Data()}, 0, 0),
				array.NewData(arrow.LargeListOf(arrow.PrimitiveTypes.Int32), 3, []*memory.Buffer{nil, wide}, []arrow.ArrayData{values.Data()}, 0, 0),
			} {
				err := check(array.MakeFromData(data))
				require.Equal(t, c.want, err == nil, "%s: %v", data.DataType(), err)
				if !c.want {
					require.Equal(t, lake.Corrupt, lake.KindOf(err))
				}
			}
		})
	}
	short := array.NewData(arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Int32), 3, []*memory.Buffer{nil}, []arrow.ArrayData{values.Data()}, 0, 0)
	require.ErrorContains(t, check(array.MakeFromData(short)), "need 9 values, there are 6")
}

// listOf puts all values into one list.
func listOf(values arrow.Array) arrow.Array {
	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, int32(values.Len())}))
	return array.MakeFromData(array.NewData(arrow.ListOf(values.DataType()), 1, []*memory.Buffer{nil, offsets}, []arrow.ArrayData{values.Data()}, 0, 0))
}

func structOf(values arrow.Array) arrow.Array {
	dt := arrow.StructOf(arrow.Field{Name: "f", Type: values.DataType(), Nullable: true})
	return array.MakeFromData(array.NewData(dt, values.Len(), []*memory.Buffer{nil}, []arrow.ArrayData{values.Data()}, 0, 0))
}

func BenchmarkCheck(b *testing.B) {
	s := array.NewStringBuilder(memory.DefaultAllocator)
	for range 100_000 {
		s.Append("arm-7/left gripper")
	}
	a := s.NewArray()
	b.SetBytes(100_000 * 18)
	for b.Loop() {
		if err := check(a); err != nil {
			b.Fatal(err)
		}
	}
}
