// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
)

func buffer[T any](v ...T) *memory.Buffer { return memory.NewBufferBytes(bytesOf(v)) }

// forged is an array whose parts nobody checked.
type forged struct {
	arrow.Array
	data arrow.ArrayData
}

func (f forged) Data() arrow.ArrayData    { return f.data }
func (f forged) DataType() arrow.DataType { return f.data.DataType() }
func (f forged) Len() int                 { return f.data.Len() }

// forgedBatch is a batch of one such column.
type forgedBatch struct {
	arrow.RecordBatch
	column arrow.Array
}

func (b forgedBatch) Column(int) arrow.Array { return b.column }
func (b forgedBatch) NumCols() int64         { return 1 }
func (b forgedBatch) NumRows() int64         { return int64(b.column.Len()) }
func (b forgedBatch) Release()               {}

// TestCorruptArrays feeds arrays that contradict themselves, as a damaged file
// could make them. Each must be an error, never a crash or a wrong value.
func TestCorruptArrays(t *testing.T) {
	e := newEngine(t, Options{Threads: 1})
	text, bin := arrow.BinaryTypes.String, arrow.BinaryTypes.LargeBinary
	list := arrow.ListOf(arrow.PrimitiveTypes.Int32)
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: text}
	ints := func(n int) arrow.ArrayData {
		return array.NewData(arrow.PrimitiveTypes.Int32, n, []*memory.Buffer{nil, buffer(make([]int32, n)...)}, nil, 0, 0)
	}
	words := array.NewData(text, 1, []*memory.Buffer{nil, buffer[int32](0, 1), buffer([]byte("a")...)}, nil, 0, 0)
	for name, c := range map[string]struct {
		data arrow.ArrayData
		want string
	}{
		"short values":     {array.NewData(arrow.PrimitiveTypes.Int64, 3, []*memory.Buffer{nil, buffer[int64](1, 2)}, nil, 0, 0), "16 bytes where 24 are needed"},
		"short at offset":  {array.NewData(arrow.PrimitiveTypes.Int64, 1, []*memory.Buffer{nil, buffer[int64](1, 2)}, nil, 0, 5), "are needed"},
		"no values":        {array.NewData(arrow.PrimitiveTypes.Int64, 3, []*memory.Buffer{nil, nil}, nil, 0, 0), "0 bytes where 24 are needed"},
		"short validity":   {array.NewData(arrow.PrimitiveTypes.Int8, 9, []*memory.Buffer{buffer[byte](1), buffer(make([]int8, 9)...)}, nil, 1, 0), "1 bytes where 2"},
		"short offsets":    {array.NewData(text, 2, []*memory.Buffer{nil, buffer[int32](0, 1), buffer[byte]('a', 'b')}, nil, 0, 0), "8 bytes where 12"},
		"end past data":    {array.NewData(text, 1, []*memory.Buffer{nil, buffer[int32](0, 100), buffer[byte]('a')}, nil, 0, 0), "offsets 0..100 outside"},
		"offsets go back":  {array.NewData(text, 2, []*memory.Buffer{nil, buffer[int32](0, 2, 1), buffer[byte]('a', 'b', 'c')}, nil, 0, 0), "offsets 0..2 outside"},
		"negative offset":  {array.NewData(bin, 1, []*memory.Buffer{nil, buffer[int64](-5, 1), buffer[byte]('a')}, nil, 0, 0), "offsets -5..1 outside"},
		"not UTF-8":        {array.NewData(text, 1, []*memory.Buffer{nil, buffer[int32](0, 2), buffer[byte](0xC3, 0x28)}, nil, 0, 0), "not UTF-8"},
		"half a character": {array.NewData(text, 2, []*memory.Buffer{nil, buffer[int32](0, 1, 2), buffer([]byte("é")...)}, nil, 0, 0), "not UTF-8"},
		"surrogate":        {array.NewData(text, 1, []*memory.Buffer{nil, buffer[int32](0, 3), buffer[byte](0xED, 0xA0, 0x80)}, nil, 0, 0), "not UTF-8"},
		"list past child":  {array.NewData(list, 1, []*memory.Buffer{nil, buffer[int32](0, 7)}, []arrow.ArrayData{ints(3)}, 0, 0), "offsets 0..7 outside"},
		"list no child":    {array.NewData(list, 1, []*memory.Buffer{nil, buffer[int32](0, 7)}, nil, 0, 0), "0 children"},
		"array past child": {array.NewData(arrow.FixedSizeListOf(4, arrow.PrimitiveTypes.Int32), 2, []*memory.Buffer{nil}, []arrow.ArrayData{ints(7)}, 0, 0), "0..8 outside"},
		"struct of other length": {
			array.NewData(arrow.StructOf(field("x", arrow.PrimitiveTypes.Int32)), 5, []*memory.Buffer{nil}, []arrow.ArrayData{ints(3)}, 0, 0),
			"0..5 outside",
		},
		"dictionary index": {array.NewDataWithDictionary(dict, 1, []*memory.Buffer{nil, buffer[int8](9)}, 0, 0, words), "9..10 outside"},
		"negative index":   {array.NewDataWithDictionary(dict, 1, []*memory.Buffer{nil, buffer[int8](-1)}, 0, 0, words), "-1..0 outside"},
		"wide decimal": {
			array.NewData(&arrow.Decimal128Type{Precision: 4}, 1, []*memory.Buffer{nil, buffer(int64(1<<40), 0)}, nil, 0, 0),
			"more digits",
		},
		"zoned overflow": {
			array.NewData(&arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}, 1, []*memory.Buffer{nil, buffer(int64(1 << 60))}, nil, 0, 0),
			"outside the range",
		},
	} {
		t.Run(name, func(t *testing.T) {
			schema := arrow.NewSchema([]arrow.Field{field("v", c.data.DataType())}, nil)
			tab := newTable(schema)
			tab.rows = uint64(c.data.Len())
			tab.forged = forgedBatch{column: forged{data: c.data}}
			err := e.Execute(context.Background(), engine.Request{SQL: "SELECT v FROM ns.t", Tables: tables("t", tab)}, discard)
			require.ErrorContains(t, err, c.want)
			require.Contains(t, []lake.Kind{lake.Corrupt, lake.Invalid}, lake.KindOf(err))
		})
	}
}

// A batch that is not of the registered schema is refused before it is read.
func TestWrongBatches(t *testing.T) {
	e := newEngine(t, Options{Threads: 1})
	schema := arrow.NewSchema([]arrow.Field{field("v", arrow.BinaryTypes.String)}, nil)
	tab := newTable(schema)
	tab.rows, tab.forged = 1, forgedBatch{column: one(1)}
	err := e.Execute(context.Background(), engine.Request{SQL: "SELECT v FROM ns.t", Tables: tables("t", tab)}, discard)
	require.True(t, lake.Is(err, lake.Corrupt))
	require.ErrorContains(t, err, "column v: a batch has type int64 where utf8 is registered")
}

func TestNullWhereNoneIsAllowed(t *testing.T) {
	e := newEngine(t, Options{Threads: 1})
	loose := arrow.NewSchema([]arrow.Field{field("v", arrow.PrimitiveTypes.Int64)}, nil)
	tab := newTable(arrow.NewSchema([]arrow.Field{nonNull("v", arrow.PrimitiveTypes.Int64)}, nil), jsonBatch(t, loose, `[{"v":1},{"v":null}]`))
	err := e.Execute(context.Background(), engine.Request{SQL: "SELECT v FROM ns.t", Tables: tables("t", tab)}, discard)
	require.True(t, lake.Is(err, lake.Corrupt), "%v", err)
}

// An internal error of DuckDB costs the slot; the next query gets a new one.
func TestBrokenSlotIsReplaced(t *testing.T) {
	e := newEngine(t, Options{Slots: 1})
	var first uint64
	fail := func(s *slot, q *query, _ func(arrow.RecordBatch) error) error {
		first = s.id
		return s.run(q, func() error {
			return sqlError("INTERNAL Error: Attempted to access index 3 within vector of size 3\nstack")
		})
	}
	err := e.run(context.Background(), engine.Request{}, false, discard, fail)
	require.True(t, lake.Is(err, lake.Unknown))
	require.ErrorIs(t, err, errBroken)
	require.NotContains(t, err.Error(), "stack")
	look := func(s *slot, q *query, _ func(arrow.RecordBatch) error) error {
		if s.id == first {
			return errors.New("the broken slot was given out again")
		}
		return nil
	}
	require.NoError(t, e.run(context.Background(), engine.Request{}, false, discard, look))
}
