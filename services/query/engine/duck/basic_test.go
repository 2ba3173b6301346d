// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
)

func TestSelect(t *testing.T) {
	e := newEngine(t, Options{})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true, Metadata: arrow.MetadataFrom(map[string]string{"unit": "m"})},
	}, nil)
	tab := newTable(schema, jsonBatch(t, schema, `[{"id":1,"name":"one"},{"id":2,"name":null},{"id":3,"name":"a rather long name, over twelve bytes"}]`))
	got, s := ask(t, e, "SELECT id, name, id + 1 AS next, count(*) OVER () AS n FROM ns.t ORDER BY id", "t", tab)
	require.JSONEq(t, `[{"id":1,"name":"one","next":2,"n":3},{"id":2,"name":null,"next":3,"n":3},{"id":3,"name":"a rather long name, over twelve bytes","next":4,"n":3}]`, rowsJSON(t, got))
	require.False(t, s.Field(0).Nullable)
	require.Equal(t, 1, s.Field(1).Metadata.Len())
	require.True(t, s.Field(2).Nullable)
}
