// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A table may hold types that SQL lacks: float16, duration, decimal256.
func TestTypesThatSQLLacksComeBackAsStored(t *testing.T) {
	s := newStack(t)
	c, tables := s.client(t), s.catalog(t)
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "half", Type: arrow.FixedWidthTypes.Float16, Nullable: true},
		{Name: "took", Type: arrow.FixedWidthTypes.Duration_ns},
		{Name: "big", Type: &arrow.Decimal256Type{Precision: 50, Scale: 4}, Nullable: true},
		{Name: "vec", Type: arrow.FixedSizeListOf(2, arrow.FixedWidthTypes.Float16)},
	}, nil)
	name := create(t, tables, "lab.carried", schema)
	rec := rows(t, schema, `[{"id":1,"half":0.5,"took":7,"big":"1.2500","vec":[1,2]},{"id":2,"half":null,"took":9,"big":null,"vec":[3,4]}]`)
	_, err := appendRows(t, c, name, rec, false)
	require.NoError(t, err)
	got := mustRun(t, c, "SELECT * FROM lab.carried WHERE half IS NULL OR half < 1 ORDER BY id")
	require.True(t, got.schema.Equal(schema), "%s", got.schema)
	require.True(t, array.RecordEqual(rec, got.batches[0]), "sent %v\ngot  %v", rec, got.batches[0])
	require.Equal(t, "{\"b\":1.25,\"d\":16,\"h\":0.5}\n", mustRun(t, c, "SELECT sum(took)::BIGINT AS d, max(half)::DOUBLE AS h, sum(big)::DOUBLE AS b FROM lab.carried").json(t))
	require.Equal(t, []string{"BIGINT", "FLOAT", "BIGINT", "DECIMAL(38,4)", "FLOAT[2]"}, column(mustRun(t, c, "DESCRIBE lab.carried"), 1))

	over := rows(t, schema, `[{"id":3,"half":0.5,"took":7,"big":"1234567890123456789012345678901234567890.5000","vec":[1,2]}]`)
	_, err = appendRows(t, c, name, over, false)
	require.NoError(t, err)
	_, err = run(t, c, "SELECT big FROM lab.carried WHERE id + 0 > 0")
	require.Equal(t, codes.Unimplemented, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "column carried.big: the value 1234567890123456789012345678901234567890.5000 has more digits")
	require.True(t, array.Equal(over.Column(3), mustRun(t, c, "SELECT big FROM lab.carried OFFSET 2").batches[0].Column(0)), "who only reads gets every value")
	require.Equal(t, []string{"1", "2", "3"}, column(mustRun(t, c, "SELECT id FROM lab.carried ORDER BY id"), 0))
}
