// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slotwire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/untrusted"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
)

func field(name string, dt arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: dt, Nullable: true}
}

// everything has a column of each layout, nested in each other.
var everything = arrow.NewSchema([]arrow.Field{
	field("i", arrow.PrimitiveTypes.Int64), field("b", arrow.FixedWidthTypes.Boolean), field("s", arrow.BinaryTypes.String),
	field("ls", arrow.BinaryTypes.LargeString), field("n", arrow.Null), field("fb", &arrow.FixedSizeBinaryType{ByteWidth: 3}),
	field("l", arrow.ListOf(arrow.BinaryTypes.String)), field("ll", arrow.LargeListOf(arrow.PrimitiveTypes.Int16)),
	field("v", arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32)),
	field("st", arrow.StructOf(field("x", arrow.PrimitiveTypes.Int32), field("y", arrow.ListOf(arrow.FixedWidthTypes.Boolean)))),
	field("m", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8)),
	field("d", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}),
	field("dec", &arrow.Decimal128Type{Precision: 20, Scale: 2}),
}, nil)

const everyRow = `{"i":%,"b":true,"s":"one","ls":"large","n":null,"fb":"YWJj","l":["a",null,"bcd"],"ll":[1,2],"v":[1,2,3],"st":{"x":1,"y":[true,false]},"m":[{"key":"k","value":1}],"d":"red","dec":"1.25"},
{"i":null,"b":null,"s":null,"ls":null,"n":null,"fb":null,"l":null,"ll":null,"v":null,"st":null,"m":null,"d":null,"dec":null},
{"i":3,"b":false,"s":"","ls":"x","n":null,"fb":"eHl6","l":[],"ll":[],"v":[4,5,6],"st":{"x":null,"y":[]},"m":[],"d":"blue","dec":"-2.00"}`

func batchOf(t testing.TB, times int) arrow.RecordBatch {
	t.Helper()
	rows := make([]string, times)
	for i := range rows {
		rows[i] = strings.ReplaceAll(everyRow, "%", "12")
	}
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, everything, strings.NewReader("["+strings.Join(rows, ",")+"]"))
	require.NoError(t, err)
	return b
}

// through packs a batch and unpacks it again.
func through(t testing.TB, batch arrow.RecordBatch, check bool) arrow.RecordBatch {
	t.Helper()
	arena := NewArena(make([]byte, 1<<20))
	g, err := Pack(batch, func(n int) (int, []byte, error) { return arena.Alloc(t.Context(), n) })
	require.NoError(t, err)
	sent, err := ReadRegion(g.Append(), len(arena.mem))
	require.NoError(t, err)
	got, err := Unpack(batch.Schema(), sent, arena.mem[sent.Pos:sent.Pos+sent.Size], memory.NewBufferBytes, check)
	require.NoError(t, err)
	return got
}

// Every layout survives, whole and as any slice, whose buffers begin elsewhere.
func TestPackAndUnpack(t *testing.T) {
	whole := batchOf(t, 9)
	defer whole.Release()
	for from := int64(0); from <= whole.NumRows(); from++ {
		for _, to := range []int64{from, from + 1, from + 9, whole.NumRows()} {
			if to < from || to > whole.NumRows() {
				continue
			}
			part := whole.NewSlice(from, to)
			got := through(t, part, false)
			require.True(t, array.RecordEqual(part, got), "rows %d..%d:\n%s\n%s", from, to, part, got)
			for i, c := range got.Columns() {
				require.NoError(t, untrusted.Check(c), "column %s of rows %d..%d", got.ColumnName(i), from, to)
				require.Equal(t, part.Column(i).NullN(), c.NullN(), got.ColumnName(i))
			}
			part.Release()
		}
	}
}

func withoutDictionary(t testing.TB, times int) arrow.RecordBatch {
	whole := batchOf(t, times)
	keep := slices.DeleteFunc(slices.Clone(everything.Fields()), func(f arrow.Field) bool { return f.Name == "d" })
	columns := slices.DeleteFunc(slices.Clone(whole.Columns()), func(a arrow.Array) bool { return a.DataType().ID() == arrow.DICTIONARY })
	return array.NewRecordBatch(arrow.NewSchema(keep, nil), columns, whole.NumRows())
}

// A result is taken apart byte by byte: whatever a slot says, the answer is an
// error or a batch that can be read to the end.
func TestNoShapeOrBytesHarmTheReader(t *testing.T) {
	batch := withoutDictionary(t, 3)
	arena := NewArena(make([]byte, 1<<20))
	g, err := Pack(batch, func(n int) (int, []byte, error) { return arena.Alloc(t.Context(), n) })
	require.NoError(t, err)
	whole := arena.mem[g.Pos : g.Pos+g.Size]
	refused, read := 0, 0
	try := func(g Region, mem []byte) {
		got, err := Unpack(batch.Schema(), g, mem, memory.NewBufferBytes, true)
		if err != nil {
			require.Equal(t, lake.Corrupt, lake.KindOf(err), "%v", err)
			refused++
			return
		}
		read++
		for _, c := range got.Columns() {
			err := untrusted.Check(c)
			if err != nil {
				require.ErrorContains(t, err, "UTF-8") // left to the sender
			}
		}
		got.Release()
	}
	for i := range g.Shape {
		for _, v := range []byte{0, 1, 2, 7, 8, 127, 128, 255, g.Shape[i] + 1, g.Shape[i] - 1} {
			shape := slices.Clone(g.Shape)
			shape[i] = v
			try(Region{Size: g.Size, Rows: g.Rows, Shape: shape}, whole)
		}
		try(Region{Size: g.Size, Rows: g.Rows, Shape: g.Shape[:i]}, whole)
	}
	for i := range whole {
		mem := slices.Clone(whole)
		mem[i] ^= 0x85
		try(Region{Size: g.Size, Rows: g.Rows, Shape: g.Shape}, mem)
	}
	for n := range whole {
		try(Region{Size: n, Rows: g.Rows, Shape: g.Shape}, whole[:n])
	}
	require.Greater(t, refused, 500)
	require.Greater(t, read, 500)
}

func TestUnsupportedTypesAreRefused(t *testing.T) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{field("v", arrow.BinaryTypes.StringView)}, nil))
	b.Field(0).AppendNull()
	_, err := Pack(b.NewRecordBatch(), func(int) (int, []byte, error) { return 0, nil, nil })
	require.ErrorContains(t, err, "column v: SQL has no type for Arrow")
}

func TestArena(t *testing.T) {
	a := NewArena(make([]byte, 1024))
	take := func(n int) int {
		pos, mem, err := a.Alloc(t.Context(), n)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(mem), n)
		return pos
	}
	p0, p1, p2 := take(1), take(100), take(512)
	require.Equal(t, []int{0, 64, 192}, []int{p0, p1, p2})
	require.NoError(t, a.Free(p1))
	require.Equal(t, p1, take(128), "the lowest place again")
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, _, err := a.Alloc(short, 512)
	require.Equal(t, lake.Exhausted, lake.KindOf(err))
	_, _, err = a.Alloc(t.Context(), 1025)
	require.ErrorContains(t, err, "1088 bytes does not fit")
	require.Equal(t, lake.Corrupt, lake.KindOf(a.Free(7)))
	got := make(chan int)
	go func() {
		pos, _, _ := a.Alloc(context.Background(), 832)
		got <- pos
	}()
	require.NoError(t, a.Free(p2))
	require.NoError(t, a.Free(p1))
	require.Equal(t, 64, <-got, "joined with its neighbours")
	require.Equal(t, 896, a.Reset())
	require.Zero(t, a.InUse())
}

func TestMessages(t *testing.T) {
	var schemas Schemas
	params := batchOf(t, 1).NewSlice(0, 1)
	q := Request{
		SQL: "SELECT 1", Tables: []Table{{everything, 12}, {arrow.NewSchema([]arrow.Field{field("x", arrow.Null)}, nil), 0}},
		Names:  map[engine.Name]int{{Namespace: "a", Table: "b"}: 1, {Catalog: "lake", Namespace: "a", Table: "B"}: 1, {Table: "c"}: 0},
		Params: params, Steady: true, Planned: everything,
	}
	body, err := q.Append(&schemas)
	require.NoError(t, err)
	got, err := ReadRequest(body, &schemas)
	require.NoError(t, err)
	require.Equal(t, q.SQL, got.SQL)
	require.True(t, got.Steady)
	require.True(t, got.Planned.Equal(everything))
	require.Equal(t, q.Names, got.Names)
	require.True(t, got.Tables[0].Schema.Equal(everything))
	require.EqualValues(t, 12, got.Tables[0].Rows)
	require.True(t, array.RecordEqual(params, got.Params))

	open := ScanOpen{Scan: 7, Table: 1, Columns: []int{2, 0}, Ordered: true, Readers: 3, Ahead: 2}
	gotOpen, err := ReadScanOpen(open.Append())
	require.NoError(t, err)
	require.Equal(t, open, gotOpen)
	taken := Taken{Scan: 7, Batches: 1, Freed: []int{64, 1 << 29}}
	gotTaken, err := ReadTaken(taken.Append())
	require.NoError(t, err)
	require.Equal(t, taken, gotTaken)
	end := End{Fault: &Fault{Kind: lake.Exhausted, Text: "too much"}, Broken: true, Text: []byte("{}")}
	gotEnd, err := ReadEnd(end.Append())
	require.NoError(t, err)
	require.Equal(t, end.Fault, gotEnd.Fault)
	require.True(t, gotEnd.Broken)
	require.Equal(t, lake.Exhausted, lake.KindOf(gotEnd.Fault.Err()))

	for name, read := range map[string]func([]byte) error{
		"request": func(b []byte) error { _, err := ReadRequest(b, &schemas); return err },
		"scan":    func(b []byte) error { _, err := ReadScanOpen(b); return err },
		"taken":   func(b []byte) error { _, err := ReadTaken(b); return err },
		"end":     func(b []byte) error { _, err := ReadEnd(b); return err },
		"batch":   func(b []byte) error { _, err := ReadScanBatch(b, 1<<20); return err },
		"number":  func(b []byte) error { _, err := ReadNumber(b); return err },
	} {
		for _, b := range [][]byte{{}, {255}, bytes.Repeat([]byte{255}, 30), append(taken.Append(), 0)} {
			require.Equal(t, lake.Corrupt, lake.KindOf(read(b)), "%s of %v", name, b)
		}
	}
}

// A scan's own error comes back as what it was, whatever was wrapped around it.
func TestAScansFaultIsKnownAgain(t *testing.T) {
	f := &Fault{Kind: lake.Unavailable, Text: "object store is down", Scan: true}
	again := NewFault(lake.Wrap("table a.b", f))
	require.True(t, again.Scan)
	require.Nil(t, NewFault(nil))
	long := NewFault(errors.New(strings.Repeat("x", 1<<20)))
	require.Len(t, long.Text, maxFaultText)
}

func TestFrames(t *testing.T) {
	var buf bytes.Buffer
	c := NewConn(&buf)
	big := bytes.Repeat([]byte("tree"), 100_000)
	require.NoError(t, c.Send(KindPing, 0, nil))
	require.NoError(t, c.Send(KindEnd, 1<<31, big))
	f, err := c.Receive()
	require.NoError(t, err)
	require.Equal(t, Frame{Kind: KindPing, Body: []byte{}}, f)
	f, err = c.Receive()
	require.NoError(t, err)
	require.Equal(t, Frame{Kind: KindEnd, Statement: 1 << 31, Body: big}, f)
	_, err = c.Receive()
	require.ErrorIs(t, err, io.EOF)
	require.Error(t, c.Send(KindTaken, 1, make([]byte, maxSmallFrame+1)))
	buf.Write([]byte{255, 255, 255, 255, byte(KindEnd), 0, 0, 0, 0})
	_, err = c.Receive()
	require.ErrorContains(t, err, "a frame of kind 15 with 4294967295 bytes: at most 134217728")
}

func FuzzUnpack(f *testing.F) {
	batch := withoutDictionary(f, 2)
	arena := NewArena(make([]byte, 1<<20))
	g, err := Pack(batch, func(n int) (int, []byte, error) { return arena.Alloc(f.Context(), n) })
	require.NoError(f, err)
	f.Add(g.Append(), arena.mem[g.Pos:g.Pos+g.Size])
	f.Fuzz(func(t *testing.T, frame, mem []byte) {
		g, err := ReadRegion(frame, len(mem))
		if err != nil {
			return
		}
		got, err := Unpack(batch.Schema(), g, mem[g.Pos:g.Pos+g.Size], memory.NewBufferBytes, true)
		if err != nil || g.Rows > 1<<16 {
			return
		}
		_, err = got.MarshalJSON()
		_ = err // text that is not UTF-8
		got.Release()
	})
}

func BenchmarkPack(b *testing.B) {
	schema := arrow.NewSchema([]arrow.Field{field("a", arrow.PrimitiveTypes.Int64), field("b", arrow.PrimitiveTypes.Float64), field("s", arrow.BinaryTypes.String)}, nil)
	rb := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range 65536 {
		rb.Field(0).(*array.Int64Builder).Append(int64(i))
		rb.Field(1).(*array.Float64Builder).Append(1)
		rb.Field(2).(*array.StringBuilder).Append("episode-a")
	}
	batch := rb.NewRecordBatch()
	arena := NewArena(make([]byte, 64<<20))
	for b.Loop() {
		g, err := Pack(batch, func(n int) (int, []byte, error) { return arena.Alloc(b.Context(), n) })
		require.NoError(b, err)
		b.SetBytes(int64(g.Size))
		mem := slices.Clone(arena.mem[g.Pos : g.Pos+g.Size])
		got, err := Unpack(schema, g, mem, memory.NewBufferBytes, true)
		require.NoError(b, err)
		got.Release()
		require.NoError(b, arena.Free(g.Pos))
	}
}
