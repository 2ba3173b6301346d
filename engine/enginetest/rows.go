// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

// Schema is the schema of the suite's tables: a key, nullable columns, lists,
// vectors and structs, with metadata on the schema and on a field.
func Schema() *arrow.Schema {
	md := arrow.NewMetadata([]string{"owner"}, []string{"arm-7"})
	unit := arrow.NewMetadata([]string{"unit"}, []string{"N·m"})
	pose := arrow.StructOf(
		arrow.Field{Name: "frame", Type: arrow.BinaryTypes.String, Nullable: true},
		arrow.Field{Name: "seq", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	)
	return arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "torque", Type: arrow.PrimitiveTypes.Float64, Nullable: true, Metadata: unit},
		{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "ok", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
		{Name: "vec", Type: arrow.FixedSizeListOfField(4, arrow.Field{Name: "element", Type: arrow.PrimitiveTypes.Float32, Nullable: true})},
		{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
		{Name: "pose", Type: pose, Nullable: true},
	}, &md)
}

// Batch returns the rows with ids from..from+n-1; every other value of a row
// follows from its id. The caller releases it.
func Batch(mem memory.Allocator, from, n int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, Schema())
	defer b.Release()
	for id := from; id < from+n; id++ {
		if err := b.UnmarshalJSON([]byte(rowJSON(id))); err != nil {
			panic(fmt.Sprintf("enginetest: row %d: %v", id, err))
		}
	}
	return b.NewRecordBatch()
}

func rowJSON(id int64) string {
	row := map[string]any{
		"id":  id,
		"at":  1_700_000_000_000_000 + id,
		"vec": []float64{float64(id), 0.5, -1, float64(id % 7)},
	}
	if id%5 != 0 {
		row["torque"] = float64(id) * 0.25
		row["ok"] = id%3 == 0
	}
	if id%4 != 1 {
		row["note"] = strings.Repeat(fmt.Sprintf("row %d ", id), int(id%3))
	}
	if id%6 != 2 {
		row["tags"] = slices.Repeat([]any{fmt.Sprintf("t%d", id), nil}, int(id%3))
	}
	if id%7 != 3 {
		row["pose"] = map[string]any{"frame": "base", "seq": id}
	}
	text, err := json.Marshal(row)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// reader returns the rows from..from+n-1 as batches of at most step rows.
func reader(t *testing.T, mem memory.Allocator, from, n, step int64) array.RecordReader {
	t.Helper()
	var batches []arrow.RecordBatch
	for at := from; at < from+n; at += step {
		batches = append(batches, Batch(mem, at, min(step, from+n-at)))
	}
	return readerOf(t, Schema(), batches...)
}

// readerOf takes over the caller's references to the batches.
func readerOf(t *testing.T, schema *arrow.Schema, batches ...arrow.RecordBatch) array.RecordReader {
	t.Helper()
	r, err := array.NewRecordReader(schema, batches)
	require.NoError(t, err)
	for _, b := range batches {
		b.Release()
	}
	return r
}

// rowTexts renders every row of a batch as JSON.
func rowTexts(t *testing.T, batch arrow.RecordBatch) []string {
	t.Helper()
	text, err := batch.MarshalJSON()
	require.NoError(t, err)
	var rows []json.RawMessage
	require.NoError(t, json.Unmarshal(text, &rows))
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = string(r)
	}
	return out
}

// wantRows renders the rows with the given first ids and counts, in order.
func wantRows(t *testing.T, ranges ...[2]int64) []string {
	t.Helper()
	var out []string
	for _, r := range ranges {
		if r[1] == 0 {
			continue
		}
		batch := Batch(memory.NewGoAllocator(), r[0], r[1])
		out = append(out, rowTexts(t, batch)...)
		batch.Release()
	}
	return out
}
