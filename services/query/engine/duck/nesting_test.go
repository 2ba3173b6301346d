// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/services/query/engine"
)

var leaves = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float32,
	arrow.BinaryTypes.String, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeString, arrow.FixedWidthTypes.Date32,
	&arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}, &arrow.Decimal128Type{Precision: 12, Scale: 3},
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String},
}

// drawType makes any type of lists, arrays, structs and maps over the leaves.
func drawType(t *rapid.T, depth int) arrow.DataType {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 || kind == 0 {
		return rapid.SampledFrom(leaves).Draw(t, "leaf")
	}
	child := func() arrow.Field {
		return arrow.Field{Name: "item", Type: drawType(t, depth-1), Nullable: rapid.Bool().Draw(t, "nullable")}
	}
	switch kind {
	case 1:
		return arrow.ListOfField(child())
	case 2:
		return arrow.LargeListOfField(child())
	case 3:
		return arrow.FixedSizeListOfField(rapid.Int32Range(1, 5).Draw(t, "size"), child())
	case 4:
		return arrow.MapOf(arrow.BinaryTypes.String, drawType(t, depth-1))
	}
	fields := make([]arrow.Field, rapid.IntRange(1, 3).Draw(t, "fields"))
	for i := range fields {
		fields[i] = child()
		fields[i].Name = fmt.Sprintf("f%d", i)
	}
	return arrow.StructOf(fields...)
}

// TestRandomNesting sends tables of random nested types through several
// threads and compares every value, in the order of a key.
func TestRandomNesting(t *testing.T) {
	e := newEngine(t, Options{Threads: 3})
	rapid.Check(t, func(rt *rapid.T) {
		schema := arrow.NewSchema([]arrow.Field{
			nonNull("i", arrow.PrimitiveTypes.Int64),
			{Name: "v", Type: drawType(rt, 3), Nullable: rapid.Bool().Draw(rt, "nullable")},
		}, nil)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		tab := randomTable(r, schema, 1+r.IntN(300), 1+r.IntN(2500), 1+r.IntN(10))
		want := sortedBy(columnInts(tab.batches, 0), columnText(tab.batches, 1))
		got, _ := ask(t, e, "SELECT v FROM ns.t ORDER BY i", "t", tab)
		requireSameValues(t, want, columnText(got, 0))
		loose, _ := ask(t, e, "SELECT i, v FROM ns.t", "t", tab)
		requireSameValues(t, want, sortedBy(columnInts(loose, 0), columnText(loose, 1)))
	})
}

// A gigabyte streams through a small engine in little memory.
func TestStreamingMemory(t *testing.T) {
	e := newEngine(t, Options{Threads: 2, Memory: 128 << 20})
	_, _ = ask(t, e, "SELECT repeat('x', 1000), range FROM range(20000)")
	before := residentBytes(t)
	var bytes uint64
	var most int64
	batches := 0
	err := e.Execute(context.Background(), engine.Request{SQL: "SELECT repeat('x', 1000) AS s, range FROM range(1000000)"}, func(b arrow.RecordBatch) error {
		bytes += sizeOf(b)
		if batches++; batches%50 == 0 {
			most = max(most, residentBytes(t)-before)
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, bytes, uint64(1_000_000_000))
	require.Less(t, most, int64(150<<20))
}
