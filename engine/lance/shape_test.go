// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/schema"
)

func TestShapesAreMadeOnceAndBounded(t *testing.T) {
	var c shapes
	schemaOf := func(column, compact string) *arrow.Schema {
		md := arrow.NewMetadata([]string{lake.OptionCompact}, []string{compact})
		return arrow.NewSchema([]arrow.Field{{Name: column, Type: arrow.PrimitiveTypes.Int64}}, &md)
	}
	s := schemaOf("a", "true")
	first, err := c.of(s)
	require.NoError(t, err)
	require.True(t, first.compact)
	require.Equal(t, "a", first.layout.Fields()[0].GetName())
	again, err := c.of(s)
	require.NoError(t, err)
	require.Same(t, first, again)
	for i := range maxShapes + 10 {
		other, err := c.of(schemaOf(fmt.Sprint("c", i), "false"))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("c", i), other.layout.Fields()[0].GetName())
		require.LessOrEqual(t, len(c.known), maxShapes)
	}
	_, err = c.of(arrow.NewSchema([]arrow.Field{{Name: "d", Type: arrow.BinaryTypes.StringView}}, nil))
	require.Error(t, err)
}

// TestDataFitTablesOfStricterFields: a table whose fields below nullable ones were
// stored as required, as they were registered, goes on taking rows.
func TestDataFitTablesOfStricterFields(t *testing.T) {
	of := func(top, below bool) []*lancepb.Field {
		fields, err := schema.FromArrow(arrow.NewSchema([]arrow.Field{
			{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: below}), Nullable: top},
		}, nil))
		require.NoError(t, err)
		return fields
	}
	require.True(t, sameFields(of(true, true), of(true, true)))
	require.True(t, sameFields(of(true, true), of(true, false)))
	require.False(t, sameFields(of(true, false), of(true, true)))
	require.False(t, sameFields(of(true, true), of(false, true)), "a column is what it is")
	require.False(t, sameFields(of(false, true), of(true, true)))
}
