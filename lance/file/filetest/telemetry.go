// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package filetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TelemetrySchema is a table of robot telemetry: keys, numbers, times, flags, a
// category, text and a small vector.
var TelemetrySchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "a", Type: arrow.PrimitiveTypes.Int64},
	{Name: "x", Type: arrow.PrimitiveTypes.Float64},
	{Name: "y", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
	{Name: "ok", Type: arrow.FixedWidthTypes.Boolean},
	{Name: "cat", Type: arrow.BinaryTypes.String},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "vec", Type: arrow.FixedSizeListOf(16, arrow.PrimitiveTypes.Float32)},
}, nil)

// Telemetry makes rows of [TelemetrySchema] in batches of 65,536, always the
// same.
func Telemetry(rows int) []arrow.RecordBatch {
	r := rand.New(rand.NewPCG(1, 2))
	var out []arrow.RecordBatch
	for at := 0; at < rows; {
		n := min(65536, rows-at)
		b := array.NewRecordBuilder(memory.DefaultAllocator, TelemetrySchema)
		b.Reserve(n)
		for i := range n {
			appendTelemetry(b, r, at+i)
		}
		out = append(out, b.NewRecordBatch())
		at += n
	}
	return out
}

func appendTelemetry(b *array.RecordBuilder, r *rand.Rand, i int) {
	b.Field(0).(*array.Int64Builder).Append(int64(i))
	b.Field(1).(*array.Int64Builder).Append(int64(r.IntN(1_000_000)))
	b.Field(2).(*array.Float64Builder).Append(r.Float64())
	if y := b.Field(3).(*array.Float64Builder); r.IntN(20) == 0 {
		y.AppendNull()
	} else {
		y.Append(r.NormFloat64())
	}
	b.Field(4).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + i*1000))
	b.Field(5).(*array.BooleanBuilder).Append(r.IntN(2) == 0)
	b.Field(6).(*array.StringBuilder).Append(fmt.Sprintf("category-%02d", r.IntN(16)))
	if s := b.Field(7).(*array.StringBuilder); r.IntN(50) == 0 {
		s.AppendNull()
	} else {
		s.Append(fmt.Sprintf("robot-%012d", r.Int64N(1e12)))
	}
	vec := b.Field(8).(*array.FixedSizeListBuilder)
	vec.Append(true)
	for range 16 {
		vec.ValueBuilder().(*array.Float32Builder).Append(r.Float32())
	}
}
