// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
)

// poseSchema has a matrix whose fields are named and not nullable, which the
// Lance fields cannot say.
func poseSchema() *arrow.Schema {
	row := arrow.FixedSizeListOfField(2, arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Float32, Metadata: arrow.MetadataFrom(map[string]string{"unit": "m"})})
	return arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "pose", Type: arrow.FixedSizeListOfField(3, arrow.Field{Name: "row", Type: row}), Nullable: true},
	}, nil)
}

func poses(t *testing.T, s *arrow.Schema, text string) arrow.RecordBatch {
	t.Helper()
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(text))
	require.NoError(t, err)
	return batch
}

// TestNestedVectors: matrices come back as they were registered, by scans, takes
// and through a compaction.
func TestNestedVectors(t *testing.T) {
	f := newFixture(t)
	m, err := NewManifest(poseSchema(), testCommit())
	require.NoError(t, err)
	f.m = f.reparse(m)
	texts := []string{
		`[{"id":1,"pose":[[1,2],[3,4],[5,6]]},{"id":2,"pose":null},{"id":3,"pose":[[7,8],[9,10],[11,12]]}]`,
		`[{"id":4,"pose":[[0,0],[0,0],[0,1]]}]`,
	}
	var want []string
	for _, text := range texts {
		batch := poses(t, poseSchema(), text)
		part := batch.NewSlice(0, batch.NumRows())
		want = append(want, lines(t, part)...)
		part.Release()
		f.become(f.m.Append([]*lancepb.DataFragment{f.write(batch)}, testCommit()))
	}
	check := func() {
		d := f.open()
		require.True(t, d.Schema().Equal(poseSchema()), "%v", d.Schema())
		require.Equal(t, poseSchema().String(), d.Schema().String())
		require.Equal(t, want, collect(t, d, ScanOptions{Ordered: true}))
		require.Equal(t, want, collect(t, d, ScanOptions{Ordered: true, BatchRows: 1}))
		got, err := d.Take(t.Context(), []uint64{3, 1, 2}, nil)
		require.NoError(t, err)
		require.Equal(t, []string{want[3], want[1], want[2]}, lines(t, got))
		got.Release()
	}
	check()
	f.become(f.open().Compact(t.Context(), f.st, [][]int{{0, 1}}, testCommit()))
	check()
}

func TestNullRowsOfMatricesAreRefused(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "pose", Type: arrow.FixedSizeListOf(2, arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)), Nullable: true}}, nil)
	m, err := NewManifest(s, testCommit())
	require.NoError(t, err)
	for text, refused := range map[string]bool{
		`[{"pose":[[1,2],null]}]`:                true,
		`[{"pose":[[1,null],[3,4]]}]`:            false,
		`[{"pose":null},{"pose":[[1,2],[3,4]]}]`: false,
	} {
		batch := poses(t, s, text)
		r, err := array.NewRecordReader(s, []arrow.RecordBatch{batch})
		require.NoError(t, err)
		_, err = WriteFragment(t.Context(), newPoisonStorage(), m.Fields(), r)
		r.Release()
		batch.Release()
		if !refused {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, "column pose: a fixed size list holds a null list")
		require.Equal(t, lake.Invalid, lake.KindOf(err))
	}
}
