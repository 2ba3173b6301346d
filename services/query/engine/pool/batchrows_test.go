// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pool

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	storage "github.com/lakeplane/lake/engine"
)

// sized is a table of which only the size is asked for.
type sized struct {
	storage.Dataset
	schema *arrow.Schema
	rows   uint64
}

func (s sized) Schema() *arrow.Schema { return s.schema }
func (s sized) Rows() uint64          { return s.rows }

// What a scan by two threads has under way fits the part of a segment that is
// kept, unless a row is very wide.
func TestBatchRows(t *testing.T) {
	fields := []arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String}, {Name: "b", Type: arrow.FixedWidthTypes.Boolean}}
	for range 10 {
		fields = append(fields, arrow.Field{Name: string(rune('d' + len(fields))), Type: arrow.PrimitiveTypes.Float64})
	}
	fields = append(fields, arrow.Field{Name: "vec", Type: arrow.FixedSizeListOf(1024, arrow.PrimitiveTypes.Float32)})
	schema := arrow.NewSchema(fields, nil)
	for _, c := range []struct {
		rows    uint64
		columns []int
		want    int
	}{
		{100, []int{0}, 65_536},
		{5_000_000, []int{0}, 262_144},
		{5_000_000, []int{2}, 262_144},
		{5_000_000, []int{0, 1}, 65_536},
		{5_000_000, []int{0, 3, 4}, 65_536},
		{5_000_000, []int{0, 1, 2, 3, 4, 5, 6}, 32_768},
		{5_000_000, nil, 16_384},
	} {
		require.Equal(t, c.want, batchRows(sized{schema: schema, rows: c.rows}, c.columns), "%d rows, columns %v", c.rows, c.columns)
	}
}
