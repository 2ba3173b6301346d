// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/ingest"
	"github.com/lakeplane/lake/lake"
)

// A column whose type no new table could have is still a column.
func TestATableThatExistsTakesWhatANewOneCouldNot(t *testing.T) {
	wide := arrow.NewSchema([]arrow.Field{field("c", &arrow.Decimal256Type{Precision: 40, Scale: 2})}, nil)
	b := batch(t, wide, `[{"c":"1.25"},{"c":null}]`)
	target := arrow.NewSchema([]arrow.Field{field("c", &arrow.Decimal128Type{Precision: 9, Scale: 2})}, nil)
	for name, data := range map[string][]byte{"a.parquet": asParquet(t, nil, b), "a.arrow": asIPCFile(t, b)} {
		_, rows := mustRead(t, put(t, name, data), ingest.Options{Target: target})
		require.Len(t, rows, 2)
		require.JSONEq(t, `{"c":"1.25"}`, rows[0], name)
	}
	b = batch(t, wide, `[{"c":"10000000.00"}]`)
	require.ErrorContains(t, failure(t, put(t, "b.parquet", asParquet(t, nil, b)), ingest.Options{Target: target}), "does not fit decimal(9, 2)")
}

// Categories of pandas are dictionaries, and have nulls.
func TestDictionariesWithNulls(t *testing.T) {
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	b := batch(t, arrow.NewSchema([]arrow.Field{field("c", dict), field("l", arrow.ListOf(dict))}, nil),
		`[{"c":"a","l":["x",null]},{"c":null,"l":null},{"c":"b","l":["y","x"]}]`)
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(b.Schema(), &out, nil, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	require.NoError(t, err)
	require.NoError(t, w.Write(b))
	require.NoError(t, w.Write(b))
	require.NoError(t, w.Close())
	for name, data := range map[string][]byte{"a.parquet": out.Bytes(), "a.arrow": asIPCFile(t, b, b)} {
		_, rows := mustRead(t, put(t, name, data), ingest.Options{})
		require.Len(t, rows, 6, name)
		for i, want := range []string{`{"c":"a","l":["x",null]}`, `{"c":null,"l":null}`, `{"c":"b","l":["y","x"]}`} {
			require.JSONEq(t, want, rows[i], name)
			require.JSONEq(t, want, rows[i+3], name)
		}
	}
}

// A required field in an optional group is null where the group is.
func TestRequiredFieldsOfOptionalGroups(t *testing.T) {
	required := func(name string, dt arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: dt} }
	inner := arrow.StructOf(required("x", arrow.PrimitiveTypes.Int64), required("l", arrow.ListOfField(required("element", arrow.PrimitiveTypes.Int64))))
	schema := arrow.NewSchema([]arrow.Field{field("s", arrow.StructOf(required("in", inner))), field("l", arrow.ListOfField(arrow.Field{Name: "element", Type: inner, Nullable: true}))}, nil)
	want := []string{`{"s":{"in":{"x":1,"l":[2]}},"l":[{"x":3,"l":[]},null]}`, `{"s":null,"l":null}`, `{"s":{"in":{"x":4,"l":[]}},"l":[]}`}
	b := batch(t, schema, "["+strings.Join(want, ",")+"]")
	s, rows := mustRead(t, put(t, "a.parquet", asParquet(t, nil, b)), ingest.Options{})
	require.Equal(t, []string{"s:struct<in:struct<x:i64,l:list<i64>>>?", "l:list<struct<x:i64,l:list<i64>>?>?"}, format(s.Schema()))
	require.Len(t, rows, len(want))
	for i := range want {
		require.JSONEq(t, want[i], rows[i])
	}
}

func TestJSONAndEnumOfParquetAreText(t *testing.T) {
	leaf := func(name string, as schema.LogicalType) schema.Node {
		return schema.Must(schema.NewPrimitiveNodeLogical(name, parquet.Repetitions.Optional, as, parquet.Types.ByteArray, -1, -1))
	}
	list := schema.Must(schema.ListOf(leaf("e", schema.EnumLogicalType{}), parquet.Repetitions.Optional, -1))
	root := schema.Must(schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{leaf("j", schema.JSONLogicalType{}), leaf("b", schema.BSONLogicalType{}), list}, -1))
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, root.(*schema.GroupNode))
	group, err := w.AppendRowGroupChecked()
	require.NoError(t, err)
	for i, value := range []string{`{"a":1}`, "b", "RED"} {
		c, err := group.NextColumn()
		require.NoError(t, err)
		defined, repeated := []int16{1, 0}, []int16(nil)
		if i == 2 {
			defined, repeated = []int16{3, 0}, []int16{0, 0}
		}
		_, err = c.(*file.ByteArrayColumnChunkWriter).WriteBatch([]parquet.ByteArray{parquet.ByteArray(value)}, defined, repeated)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	s, rows := mustRead(t, put(t, "a.parquet", out.Bytes()), ingest.Options{})
	require.Equal(t, []string{"j:utf8?", "b:binary?", "e:list<utf8?>?"}, format(s.Schema()))
	require.Len(t, rows, 2)
	require.JSONEq(t, `{"j":"{\"a\":1}","b":"Yg==","e":["RED"]}`, rows[0])
	require.JSONEq(t, `{"j":null,"b":null,"e":null}`, rows[1])
}

// The Arrow library allocates what the counts in a schema ask for.
func TestADamagedStoredSchemaAsksForNoMemory(t *testing.T) {
	b := batch(t, arrow.NewSchema([]arrow.Field{field("c", arrow.PrimitiveTypes.Int64)}, nil), `[{"c":1}]`)
	wire := flight.SerializeSchema(b.Schema(), mem)
	at := bytes.Index(wire, []byte{1, 0, 0, 0}) // the last such count is that of the fields
	require.Positive(t, at)
	for ; at >= 0; at = next(wire, at+1) {
		damaged := bytes.Clone(wire)
		binary.LittleEndian.PutUint32(damaged[at:], 0x7000_0000)
		var out bytes.Buffer
		w, err := pqarrow.NewFileWriter(b.Schema(), &out, nil, pqarrow.DefaultWriterProps())
		require.NoError(t, err)
		require.NoError(t, w.AppendKeyValueMetadata("ARROW:schema", base64.StdEncoding.EncodeToString(damaged)))
		require.NoError(t, w.Write(b))
		require.NoError(t, w.Close())
		err = failure(t, put(t, "a.parquet", out.Bytes()), ingest.Options{})
		if err != nil {
			require.True(t, lake.Is(err, lake.Invalid), "%v", err)
		}
	}
}

func next(wire []byte, from int) int {
	at := bytes.Index(wire[from:], []byte{1, 0, 0, 0})
	if at < 0 {
		return at
	}
	return from + at
}
