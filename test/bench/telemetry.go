// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// telemetry is what a fleet of robots sends: numbers, a clustered key, a few
// names, and text of which no two are alike.
var telemetry = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "robot", Type: arrow.BinaryTypes.String},
	{Name: "ts", Type: arrow.FixedWidthTypes.Timestamp_us},
	{Name: "skill", Type: arrow.PrimitiveTypes.Int32},
	{Name: "x", Type: arrow.PrimitiveTypes.Float64},
	{Name: "y", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "ok", Type: arrow.FixedWidthTypes.Boolean},
	{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// telemetryRows calls emit with batches of at most batchRows rows; the same
// number of rows is the same data.
func telemetryRows(rows, batchRows int, emit func(arrow.RecordBatch) error) error {
	random := rand.New(rand.NewPCG(1, 2))
	b := array.NewRecordBuilder(memory.DefaultAllocator, telemetry)
	defer b.Release()
	for from := 0; from < rows; from += batchRows {
		for id := from; id < min(rows, from+batchRows); id++ {
			telemetryRow(b, random, id)
		}
		batch := b.NewRecordBatch()
		err := emit(batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

func telemetryRow(b *array.RecordBuilder, random *rand.Rand, id int) {
	b.Field(0).(*array.Int64Builder).Append(int64(id))
	b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("arm-%02d", random.IntN(64)))
	b.Field(2).(*array.TimestampBuilder).Append(arrow.Timestamp(1_790_000_000_000_000 + int64(id)*20_000 + random.Int64N(10_000)))
	b.Field(3).(*array.Int32Builder).Append(random.Int32N(100))
	b.Field(4).(*array.Float64Builder).Append(random.NormFloat64())
	if random.IntN(20) == 0 {
		b.Field(5).AppendNull()
	} else {
		b.Field(5).(*array.Float64Builder).Append(random.Float64() * 100)
	}
	b.Field(6).(*array.BooleanBuilder).Append(random.IntN(4) > 0)
	b.Field(7).(*array.StringBuilder).Append(fmt.Sprintf("grip %d %08x", id%10, random.Uint32()))
}

// telemetryParquet writes the rows in row groups of the size that DuckDB's own
// writer makes.
func telemetryParquet(path string, rows int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithMaxRowGroupLength(122_880))
	w, err := pqarrow.NewFileWriter(telemetry, f, props, pqarrow.DefaultWriterProps())
	if err != nil {
		_ = f.Close()
		return err
	}
	if err := telemetryRows(rows, 122_880, w.Write); err != nil {
		_ = w.Close()
		return err
	}
	return w.Close() // it closes the file
}
