// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package stats_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/stats"
)

// BenchmarkCollect: a batch of a number, a number with nulls, a float and a
// text of about 18 bytes.
func BenchmarkCollect(b *testing.B) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64},
		{Name: "s", Type: arrow.BinaryTypes.String},
	}, nil)
	rb := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer rb.Release()
	const rows = 64 << 10
	for i := range rows {
		rb.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%20 == 0 {
			rb.Field(1).AppendNull()
		} else {
			rb.Field(1).(*array.Int64Builder).Append(int64(i * 7919 % rows))
		}
		rb.Field(2).(*array.Float64Builder).Append(float64(i*7919%rows) / 3)
		rb.Field(3).(*array.StringBuilder).Append(fmt.Sprintf("some text %08d", i*7919%rows))
	}
	batch := rb.NewRecordBatch()
	defer batch.Release()
	for c := range schema.NumFields() {
		b.Run(schema.Field(c).Name, func(b *testing.B) {
			one := arrow.NewSchema([]arrow.Field{schema.Field(c)}, nil)
			part := array.NewRecordBatch(one, []arrow.Array{batch.Column(c)}, rows)
			defer part.Release()
			col := stats.NewCollector(one, []int32{0})
			b.ReportAllocs()
			for b.Loop() {
				col.Add(part)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
