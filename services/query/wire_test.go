// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// everyType has a column of each type a table may have, with and without
// nulls, and metadata on the schema and on fields.
func everyType() *arrow.Schema {
	md := arrow.NewMetadata([]string{"unit", "note"}, []string{"mm", "naïve"})
	fields := []arrow.Field{
		{Name: "key", Type: arrow.PrimitiveTypes.Int64, Metadata: md},
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "i8", Type: arrow.PrimitiveTypes.Int8},
		{Name: "i16", Type: arrow.PrimitiveTypes.Int16},
		{Name: "i32", Type: arrow.PrimitiveTypes.Int32},
		{Name: "u8", Type: arrow.PrimitiveTypes.Uint8},
		{Name: "u16", Type: arrow.PrimitiveTypes.Uint16},
		{Name: "u32", Type: arrow.PrimitiveTypes.Uint32},
		{Name: "u64", Type: arrow.PrimitiveTypes.Uint64},
		{Name: "f32", Type: arrow.PrimitiveTypes.Float32},
		{Name: "f64", Type: arrow.PrimitiveTypes.Float64},
		{Name: "text", Type: arrow.BinaryTypes.String},
		{Name: "bytes", Type: arrow.BinaryTypes.Binary},
		{Name: "day", Type: arrow.FixedWidthTypes.Date32},
		{Name: "s", Type: &arrow.TimestampType{Unit: arrow.Second}},
		{Name: "ms", Type: &arrow.TimestampType{Unit: arrow.Millisecond}},
		{Name: "us", Type: &arrow.TimestampType{Unit: arrow.Microsecond}},
		{Name: "ns", Type: &arrow.TimestampType{Unit: arrow.Nanosecond}},
		{Name: "utc", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
		{Name: "berlin", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "Europe/Berlin"}},
		{Name: "dec", Type: &arrow.Decimal128Type{Precision: 38, Scale: 9}},
		{Name: "vec", Type: arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32)},
		{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String)},
		{Name: "pose", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Float64}, arrow.Field{Name: "frame", Type: arrow.BinaryTypes.String, Nullable: true})},
		{Name: "path", Type: arrow.ListOf(arrow.StructOf(arrow.Field{Name: "t", Type: arrow.PrimitiveTypes.Int32, Nullable: true}))},
	}
	n := len(fields)
	for i := 1; i < n; i++ {
		f := fields[i]
		f.Name, f.Nullable = f.Name+"_null", true
		fields = append(fields, f)
	}
	return arrow.NewSchema(fields, &md)
}

const everyValue = `{"key":%d,"b":true,"i8":-8,"i16":-16,"i32":-32,"u8":8,"u16":16,"u32":32,"u64":18446744073709551615,"f32":0.5,"f64":-0.25,
 "text":"grüße","bytes":"AAEC","day":"2024-02-29","s":"2024-02-29 12:00:01","ms":"2024-02-29 12:00:01.5","us":"2024-02-29 12:00:01.000001","ns":"2024-02-29 12:00:01.000000001",
 "utc":"2024-02-29 12:00:01.000001Z","berlin":"2024-02-29 12:00:01Z","dec":"12345678901234567890.123456789","vec":[1,2,3],"tags":["a",null,""],"pose":{"x":1.5,"frame":"base"},"path":[{"t":1},{"t":null}]}`

// The reports: the announced schema differed from the sent one in
// dictionaries, metadata or nullability, and clients refuse that.
func TestTheAnnouncedSchemaIsTheSentSchemaByteForByte(t *testing.T) {
	l := newLake(t)
	schema := everyType()
	name := l.authority.create(t, "lab.types", schema)
	rec := rows(t, schema, "["+fmt.Sprintf(everyValue, 1)+","+fmt.Sprintf(everyValue, 2)+"]")
	l.authority.insert(t, name, rec)
	l.copying = true
	requireSameSchema(t, l.replica().client("ann-token"))
	l.copying = false
	c := l.replica().client("ann-token")
	requireSameSchema(t, c)
	got := mustRun(t, c, "SELECT * FROM lab.types ORDER BY key")
	require.True(t, got.schema.Equal(schema), "the registered fields come back: types, nullability, metadata")
	for i, f := range schema.Fields() {
		require.True(t, f.Equal(got.schema.Field(i)), "field %s", f.Name)
	}
	require.Len(t, got.batches, 1)
	require.True(t, array.RecordEqual(rec, got.batches[0]), "sent %s, got %s", rec, got.batches[0])
}

func requireSameSchema(t *testing.T, c *flightsql.Client) {
	t.Helper()
	for _, sql := range []string{
		"SELECT * FROM lab.types ORDER BY key",
		"SELECT 42 AS the_answer",
		"SELECT key, key + 1 AS next, upper(text) AS loud, tags_null FROM lab.types",
		"SELECT count(*), sum(i32), avg(f64), max(utc), min(day), first(dec) FROM lab.types",
		"SELECT text AS renamed, pose.x, vec[1], tags[1] FROM lab.types",
		"SELECT * FROM lab.types WHERE key > 100",
		"SELECT NULL AS nothing, 'x' AS letter, 1.5 AS number, DATE '2024-01-01' AS day, [1,2] AS list, {'a': 1} AS rec",
	} {
		t.Run(sql, func(t *testing.T) {
			info, err := c.Execute(t.Context(), sql)
			require.NoError(t, err)
			s, err := c.Client.DoGet(t.Context(), info.GetEndpoint()[0].GetTicket())
			require.NoError(t, err)
			first, err := s.Recv()
			require.NoError(t, err)
			announced := messageOf(t, info.GetSchema())
			padding := announced[len(first.GetDataHeader()):] // a stream pads to 8 bytes
			require.Equal(t, make([]byte, len(padding)), padding)
			require.Less(t, len(padding), 8)
			require.Equal(t, announced[:len(announced)-len(padding)], first.GetDataHeader())
			for err == nil {
				_, err = s.Recv()
			}
			require.ErrorIs(t, err, io.EOF)
		})
	}
}

// messageOf takes the schema message out of an encapsulated IPC stream.
func messageOf(t *testing.T, stream []byte) []byte {
	t.Helper()
	require.Equal(t, uint32(0xffffffff), binary.LittleEndian.Uint32(stream))
	n := binary.LittleEndian.Uint32(stream[4:])
	return stream[8 : 8+n]
}

// The reports: one large batch exceeds what a stock gRPC client receives.
func TestMessagesFitAStockClient(t *testing.T) {
	l := newLake(t)
	wide := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "text", Type: arrow.BinaryTypes.String}}, nil)
	name := l.authority.create(t, "lab.wide", wide)
	b := array.NewRecordBuilder(memory.DefaultAllocator, wide)
	defer b.Release()
	for i := range 21 * 1024 {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append(strings.Repeat("x", 1000+i%50))
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	l.authority.insert(t, name, rec)
	big := l.authority.create(t, "lab.big", wide)
	for i, size := range []int{100, 3 << 20, 100} {
		l.authority.insert(t, big, rows(t, wide, fmt.Sprintf(`[{"id":%d,"text":%q}]`, i, strings.Repeat("y", size))))
	}
	c := l.replica().client("ann-token")
	for sql, want := range map[string]int64{"SELECT * FROM lab.wide": 21 * 1024, "SELECT * FROM lab.big": 3} {
		info, err := c.Execute(t.Context(), sql)
		require.NoError(t, err)
		largest, n := largestMessage(t, c, info)
		require.LessOrEqual(t, largest, 4<<20)
		require.Equal(t, want, n)
	}
	require.EqualValues(t, 21*1024, mustRun(t, c, "SELECT * FROM lab.wide").rows())

	l.authority.insert(t, big, rows(t, wide, fmt.Sprintf(`[{"id":9,"text":%q}]`, strings.Repeat("z", 5<<20))))
	_, err := run(t, l.replica().client("ann-token"), "SELECT * FROM lab.big")
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "row")
	mustRun(t, c, "SELECT id, length(text) FROM lab.big")
}

func largestMessage(t *testing.T, c *flightsql.Client, info *flight.FlightInfo) (largest int, n int64) {
	t.Helper()
	s, err := c.Client.DoGet(t.Context(), info.GetEndpoint()[0].GetTicket())
	require.NoError(t, err)
	var msgs []*flight.FlightData
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		largest = max(largest, len(m.GetDataHeader())+len(m.GetDataBody()))
		msgs = append(msgs, m)
	}
	r, err := flight.NewRecordReader(&replay{msgs})
	require.NoError(t, err)
	defer r.Release()
	for r.Next() {
		n += r.RecordBatch().NumRows()
	}
	return largest, n
}

func TestAnEmptyResultHasASchema(t *testing.T) {
	l := newLake(t)
	l.authority.create(t, "lab.notes", simple)
	got := mustRun(t, l.replica().client("ann-token"), "SELECT id, note FROM lab.notes")
	require.Zero(t, got.rows())
	require.True(t, got.schema.Equal(simple))
}
