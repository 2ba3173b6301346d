// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/schema"
)

// strictSchema has required fields below one that may be null.
func strictSchema() *arrow.Schema {
	i64 := arrow.PrimitiveTypes.Int64
	joint := arrow.StructOf(arrow.Field{Name: "angle", Type: i64}, arrow.Field{Name: "load", Type: i64, Nullable: true})
	return arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: i64},
		{Name: "arm", Type: arrow.StructOf(
			arrow.Field{Name: "name", Type: arrow.BinaryTypes.String},
			arrow.Field{Name: "joints", Type: arrow.ListOfField(arrow.Field{Name: "joint", Type: joint})},
		), Nullable: true},
	}, nil)
}

func strictRows(t *testing.T) arrow.RecordBatch {
	t.Helper()
	b := array.NewRecordBuilder(memory.NewGoAllocator(), strictSchema())
	defer b.Release()
	for _, row := range []string{
		`{"id": 1, "arm": {"name": "left", "joints": [{"angle": 10, "load": null}, {"angle": 20, "load": 2}]}}`,
		`{"id": 2, "arm": null}`,
		`{"id": 3, "arm": {"name": "right", "joints": []}}`,
	} {
		require.NoError(t, b.UnmarshalJSON([]byte(row)))
	}
	return b.NewRecordBatch()
}

// TestRequiredFieldsOfNullableStructs: they are stored as nullable, since other
// implementations cannot read them else, and handed out as they were registered.
func TestRequiredFieldsOfNullableStructs(t *testing.T) {
	m, err := NewManifest(strictSchema(), testCommit())
	require.NoError(t, err)
	nullable := map[string]bool{}
	for _, f := range m.Fields() {
		nullable[f.GetName()] = f.GetNullable()
	}
	require.Equal(t, map[string]bool{"id": false, "arm": true, "name": true, "joints": true, "joint": true, "angle": true, "load": true}, nullable)
	readStrictRows(t, m)
}

// TestTablesWithStrictFieldsGoOn: those of before have the fields as registered.
func TestTablesWithStrictFieldsGoOn(t *testing.T) {
	m, err := NewManifest(strictSchema(), testCommit())
	require.NoError(t, err)
	if m.pb.Fields, err = schema.FromArrow(strictSchema()); err != nil {
		t.Fatal(err)
	}
	m.pb.TableMetadata, err = registeredSchema(strictSchema(), m.pb.Fields, nil)
	require.NoError(t, err)
	readStrictRows(t, m)
}

// readStrictRows appends the rows, in files of relaxed fields as the engine does
// and of the table's own, and reads them back.
func readStrictRows(t *testing.T, m *Manifest) {
	t.Helper()
	relaxed, err := schema.Stored(strictSchema())
	require.NoError(t, err)
	f := newFixture(t)
	f.m = f.reparse(m)
	rec := strictRows(t)
	want := lines(t, rec)
	var fragments []*lancepb.DataFragment
	for _, fields := range [][]*lancepb.Field{relaxed, f.m.Fields()} {
		r, err := array.NewRecordReader(rec.Schema(), []arrow.RecordBatch{rec})
		require.NoError(t, err)
		fragment, err := WriteFragment(t.Context(), f.st, fields, r)
		require.NoError(t, err)
		r.Release()
		fragments = append(fragments, fragment)
	}
	next, err := f.m.Append(fragments, testCommit())
	require.NoError(t, err)
	f.m = f.reparse(next)
	d := f.open()
	require.True(t, identical(strictSchema(), d.Schema()), "%v", d.Schema())
	require.Equal(t, append(append([]string{}, want...), want...), collect(t, d, ScanOptions{Ordered: true}))
}
