// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
)

// sizes returns the bytes of the data files after a small append, a large one
// and a compaction, for a table whose schema has the metadata given.
func sizes(t *testing.T, md arrow.Metadata) (out []uint64) {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, &md)
	e, err := lance.New(lance.Options{Store: newMemStore()})
	require.NoError(t, err)
	defer e.Close()
	inc := lake.NewID()
	loc := lake.Place(lake.TableName{Namespace: "n", Name: "t"}, inc)
	staged, err := e.Create(t.Context(), loc, inc, schema)
	require.NoError(t, err)
	for _, n := range []int{4_000, 100_000} {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		defer b.Release()
		for i := range n {
			b.Append(int64(i % 7))
		}
		plain := arrow.NewSchema(schema.Fields(), nil) // rows need not repeat the option
		rows, err := array.NewRecordReader(plain, []arrow.RecordBatch{array.NewRecordBatch(plain, []arrow.Array{b.NewArray()}, int64(n))})
		require.NoError(t, err)
		data, err := e.StageData(t.Context(), loc, schema, rows)
		require.NoError(t, err)
		staged, err = e.StageAppend(t.Context(), staged.Snapshot, []engine.Append{{Operation: engine.Operation{ID: lake.NewID(), Tenant: "acme"}, Data: data}})
		require.NoError(t, err)
		d, err := e.Describe(t.Context(), staged.Snapshot)
		require.NoError(t, err)
		out = append(out, d.Bytes)
	}
	made, err := e.Compact(t.Context(), staged.Snapshot)
	require.NoError(t, err)
	staged, err = e.StageCompaction(t.Context(), staged.Snapshot, made)
	require.NoError(t, err)
	d, err := e.Describe(t.Context(), staged.Snapshot)
	require.NoError(t, err)
	require.EqualValues(t, 104_000, d.Rows)
	return append(out, d.Bytes)
}

func TestCompactTables(t *testing.T) {
	plain := sizes(t, arrow.Metadata{})
	compact := sizes(t, arrow.MetadataFrom(map[string]string{lake.OptionCompact: "true", "owner": "arm-7"}))
	for i, what := range []string{"small append", "large append", "compaction"} {
		require.Less(t, 4*compact[i], plain[i], what)
	}
	require.Equal(t, plain, sizes(t, arrow.MetadataFrom(map[string]string{lake.OptionCompact: "false"})))
}

func TestUnknownOptionsAreRefused(t *testing.T) {
	e, err := lance.New(lance.Options{Store: newMemStore()})
	require.NoError(t, err)
	defer e.Close()
	for value, md := range map[string]map[string]string{
		`is "very", want true or false`: {lake.OptionCompact: "very"}, "no such option": {lake.OptionPrefix + "fast": "true"},
	} {
		md := arrow.MetadataFrom(md)
		err := e.CheckSchema(arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, &md))
		require.Equal(t, lake.Invalid, lake.KindOf(err))
		require.ErrorContains(t, err, value)
	}
}
