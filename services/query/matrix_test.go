// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
)

// TestMatricesThroughSQL: a pose is a matrix, stored as such and selected whole
// or by element.
func TestMatricesThroughSQL(t *testing.T) {
	s := newStack(t)
	c := s.client(t)
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "pose", Type: arrow.FixedSizeListOf(2, arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32)), Nullable: true},
	}, nil)
	name := create(t, s.catalog(t), "lab.poses", schema)
	rec := rows(t, schema, `[{"id":1,"pose":[[1,2,3],[4,5,6]]},{"id":2,"pose":null},{"id":3,"pose":[[7,8,null],[10,11,12]]}]`)
	_, err := appendRows(t, c, name, rec, false)
	require.NoError(t, err)
	got := mustRun(t, c, "SELECT * FROM lab.poses ORDER BY id")
	require.True(t, schema.Equal(got.schema), "%v", got.schema)
	require.Equal(t, `{"id":1,"pose":[[1,2,3],[4,5,6]]}`+"\n"+`{"id":2,"pose":null}`+"\n"+`{"id":3,"pose":[[7,8,null],[10,11,12]]}`+"\n", got.json(t))
	require.Equal(t, `{"x":6}`+"\n"+`{"x":12}`+"\n", mustRun(t, c, "SELECT pose[2][3] AS x FROM lab.poses WHERE pose IS NOT NULL ORDER BY id").json(t))
}
