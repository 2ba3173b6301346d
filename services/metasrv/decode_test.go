// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/metasrv"
)

// nested has a column of each kind of layout.
var nested = arrow.NewSchema([]arrow.Field{
	{Name: "n", Type: arrow.PrimitiveTypes.Int64},
	{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	{Name: "f", Type: arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32), Nullable: true},
	{Name: "o", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int8}, arrow.Field{Name: "y", Type: arrow.BinaryTypes.Binary, Nullable: true})},
	{Name: "z", Type: arrow.ListOf(arrow.Null), Nullable: true},
}, nil)

const nestedRows = `[
	{"n": 1, "b": true, "s": "one", "l": ["a", null, "bc"], "f": [1, 2, 3], "o": {"x": 1, "y": "AAE="}, "z": [null, null]},
	{"n": 2, "b": null, "s": null, "l": null, "f": null, "o": {"x": 2, "y": null}, "z": null},
	{"n": 3, "b": false, "s": "", "l": [], "f": [4, 5, 6], "o": {"x": 3, "y": ""}, "z": []}]`

func nestedMessages(t testing.TB) []*flight.FlightData {
	t.Helper()
	batch, _, err := array.RecordFromJSON(arrowmem.DefaultAllocator, nested, bytes.NewReader([]byte(nestedRows)))
	require.NoError(t, err)
	return encode(t, nested, []arrow.RecordBatch{batch})
}

func TestDecodeKeepsEveryValue(t *testing.T) {
	batches, err := metasrv.Decode(nestedMessages(t), nested)
	require.NoError(t, err)
	require.Len(t, batches, 1)
	got, err := batches[0].MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, nestedRows, string(got))
}

// TestDecodeDistrustsBodies overwrites every 8-byte word of the body with
// values that offsets and lengths must not have. A batch that passes must be
// readable to the last value.
func TestDecodeDistrustsBodies(t *testing.T) {
	good := nestedMessages(t)
	refused := 0
	for at := 0; at+8 <= len(good[1].DataBody); at += 4 {
		for _, word := range []uint64{0xffffffffffffffff, 0x7fffffff7fffffff, 0x8000000080000000, 0xfefefefefefefefe} {
			body := bytes.Clone(good[1].DataBody)
			binary.LittleEndian.PutUint64(body[at:], word)
			if !survives(t, []*flight.FlightData{good[0], {DataHeader: good[1].DataHeader, DataBody: body}}) {
				refused++
			}
		}
	}
	require.Greater(t, refused, 20)
}

func TestDecodeDistrustsHeaders(t *testing.T) {
	good := nestedMessages(t)
	for m := range good {
		for at := range good[m].DataHeader {
			for _, b := range []byte{0x00, 0x01, 0x7f, 0x80, 0xff} {
				header := bytes.Clone(good[m].DataHeader)
				header[at] = b
				messages := []*flight.FlightData{good[0], good[1]}
				messages[m] = &flight.FlightData{DataHeader: header, DataBody: good[m].DataBody}
				survives(t, messages)
			}
		}
	}
}

// survives decodes, and reads every value of what was let through.
func survives(t testing.TB, messages []*flight.FlightData) bool {
	t.Helper()
	batches, err := metasrv.Decode(messages, nested)
	if err != nil {
		require.Equal(t, lake.Invalid, lake.KindOf(err), "%v", err)
		require.Less(t, len(err.Error()), 1000)
		return false
	}
	rows := int64(0)
	for _, b := range batches {
		rows += b.NumRows()
		_, err := b.MarshalJSON()
		require.NoError(t, err)
	}
	require.LessOrEqual(t, rows, int64(lake.MaxAppendRows))
	return true
}

func TestDecodeRefusesTextThatIsNotUTF8(t *testing.T) {
	for _, dt := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "o", Type: arrow.StructOf(arrow.Field{Name: "s", Type: dt})}}, nil)
		b := array.NewRecordBuilder(arrowmem.DefaultAllocator, schema)
		st := b.Field(0).(*array.StructBuilder)
		st.Append(true)
		st.FieldBuilder(0).(array.StringLikeBuilder).Append("a\xffb")
		_, err := metasrv.Decode(encode(t, schema, []arrow.RecordBatch{b.NewRecordBatch()}), schema)
		require.ErrorContains(t, err, "UTF-8")
	}
}

func TestDecodeRefusesNullsInARequiredField(t *testing.T) {
	loose := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	strict := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewRecordBuilder(arrowmem.DefaultAllocator, loose)
	b.Field(0).AppendNull()
	column := b.NewRecordBatch().Column(0)
	lying := array.NewRecordBatch(strict, []arrow.Array{column}, 1)
	_, err := metasrv.Decode(encode(t, strict, []arrow.RecordBatch{lying}), strict)
	require.ErrorContains(t, err, "not nullable")
}

// bomb is a schema message whose fields share their children, so that a few
// hundred bytes decode to 2^levels fields.
func bomb(levels int) []byte {
	b := flatbuffers.NewBuilder(0)
	name := b.CreateString("x")
	field := flatbuffers.UOffsetT(0)
	for range levels {
		count := 2
		if field == 0 {
			count = 0
		}
		b.StartVector(4, count, 4)
		for range count {
			b.PrependUOffsetT(field)
		}
		children := b.EndVector(count)
		b.StartObject(7)
		b.PrependUOffsetTSlot(0, name, 0)
		b.PrependUOffsetTSlot(5, children, 0)
		field = b.EndObject()
	}
	b.StartVector(4, 1, 4)
	b.PrependUOffsetT(field)
	fields := b.EndVector(1)
	b.StartObject(4)
	b.PrependUOffsetTSlot(1, fields, 0)
	schema := b.EndObject()
	b.StartObject(5)
	b.PrependByteSlot(1, 1, 0)
	b.PrependUOffsetTSlot(2, schema, 0)
	b.Finish(b.EndObject())
	return b.FinishedBytes()
}

func TestSchemaBombs(t *testing.T) {
	start := time.Now()
	for _, levels := range []int{30, 60, 200} {
		header := bomb(levels)
		_, err := metasrv.Decode([]*flight.FlightData{{DataHeader: header}, nestedMessages(t)[1]}, nested)
		require.Equal(t, lake.Invalid, lake.KindOf(err))
		require.ErrorContains(t, err, "fields")
		wire := binary.LittleEndian.AppendUint32([]byte("\xff\xff\xff\xff"), uint32(len(header)))
		_, err = metasrv.ReadSchema(append(wire, header...))
		require.Equal(t, lake.Invalid, lake.KindOf(err))
		require.ErrorContains(t, err, "fields")
	}
	require.Less(t, time.Since(start), 5*time.Second)
}

func FuzzDecode(f *testing.F) {
	good := nestedMessages(f)
	f.Add(good[0].DataHeader, good[1].DataHeader, good[1].DataBody)
	f.Add(bomb(30), good[1].DataHeader, good[1].DataBody)
	f.Fuzz(func(t *testing.T, schema, header, body []byte) {
		survives(t, []*flight.FlightData{{DataHeader: schema}, {DataHeader: header, DataBody: body}})
	})
}

func FuzzReadSchema(f *testing.F) {
	f.Add(schemaBytes(nested))
	f.Add(schemaBytes(ints))
	f.Fuzz(func(t *testing.T, wire []byte) {
		if _, err := metasrv.ReadSchema(wire); err != nil {
			require.Equal(t, lake.Invalid, lake.KindOf(err), "%v", err)
		}
	})
}
