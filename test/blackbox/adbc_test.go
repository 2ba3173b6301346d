// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package blackbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-adbc/go/adbc"
	"github.com/apache/arrow-adbc/go/adbc/driver/flightsql"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"
)

// typed is a table with a column of each common type; s, b, t and l have nulls.
var typed = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "u", Type: arrow.PrimitiveTypes.Uint64},
	{Name: "f", Type: arrow.PrimitiveTypes.Float64},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "d", Type: arrow.FixedWidthTypes.Date32},
	{Name: "t", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
	{Name: "n", Type: &arrow.TimestampType{Unit: arrow.Nanosecond}, Nullable: true},
	{Name: "m", Type: &arrow.Decimal128Type{Precision: 38, Scale: 9}},
	{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
}, nil)

const typedRows = 1000

func typedBatch() arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, typed)
	defer b.Release()
	for i := range int64(typedRows) {
		null := i%7 == 0
		b.Field(0).(*array.Int64Builder).Append(i)
		b.Field(1).(*array.Uint64Builder).Append(1<<63 + uint64(i))
		b.Field(2).(*array.Float64Builder).Append(float64(i) / 3)
		b.Field(8).(*array.Decimal128Builder).Append(decimal128.FromI64(i * 1_000_000_007))
		b.Field(5).(*array.Date32Builder).Append(arrow.Date32(i - 500))
		if null {
			for _, f := range []int{3, 4, 6, 7, 9} {
				b.Field(f).AppendNull()
			}
			continue
		}
		b.Field(3).(*array.StringBuilder).Append(fmt.Sprintf("ünïcode-%d", i))
		b.Field(4).(*array.BooleanBuilder).Append(i%2 == 0)
		b.Field(6).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + i))
		b.Field(7).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000_000 + i))
		l := b.Field(9).(*array.ListBuilder)
		l.Append(true)
		for k := range i % 4 {
			l.ValueBuilder().(*array.StringBuilder).Append(fmt.Sprint(k))
		}
	}
	return b.NewRecordBatch()
}

// ingestTyped ingests the typed rows from a Parquet file into a new table.
func ingestTyped(t *testing.T, table string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "typed.parquet")
	f, err := os.Create(path)
	require.NoError(t, err)
	w, err := pqarrow.NewFileWriter(typed, f, parquet.NewWriterProperties(), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	require.NoError(t, err)
	batch := typedBatch()
	defer batch.Release()
	require.NoError(t, w.Write(batch))
	require.NoError(t, w.Close())
	shared.lake(t, "ingest", table, path)
}

func connect(t *testing.T) adbc.Connection {
	t.Helper()
	db, err := flightsql.NewDriver(memory.DefaultAllocator).NewDatabase(map[string]string{adbc.OptionKeyURI: "grpc+tcp://" + shared.query})
	require.NoError(t, err)
	conn, err := db.Open(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		require.NoError(t, db.Close())
	})
	return conn
}

func query(t *testing.T, conn adbc.Connection, sql string) array.RecordReader {
	t.Helper()
	st, err := conn.NewStatement()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	require.NoError(t, st.SetSqlQuery(sql))
	r, _, err := st.ExecuteQuery(context.Background())
	require.NoError(t, err)
	t.Cleanup(r.Release)
	return r
}

func TestADBCReadsEqualValuesAndSchema(t *testing.T) {
	ingestTyped(t, "adbc.typed")
	r := query(t, connect(t), "SELECT * FROM adbc.typed ORDER BY id")
	require.Equal(t, fields(typed), fields(r.Schema()))

	want := array.NewTableFromRecords(r.Schema(), []arrow.RecordBatch{recast(typedBatch(), r.Schema())})
	defer want.Release()
	var got []arrow.RecordBatch
	for r.Next() {
		b := r.RecordBatch()
		b.Retain()
		got = append(got, b)
	}
	require.NoError(t, r.Err())
	table := array.NewTableFromRecords(r.Schema(), got)
	defer table.Release()
	require.True(t, array.TableEqual(want, table), "values differ")
}

// fields describes names, types and nullability; metadata may be added.
func fields(s *arrow.Schema) []string {
	var out []string
	for _, f := range s.Fields() {
		out = append(out, fmt.Sprintf("%s %s nullable=%v", f.Name, f.Type, f.Nullable))
	}
	return out
}

func recast(b arrow.RecordBatch, s *arrow.Schema) arrow.RecordBatch {
	return array.NewRecordBatch(s, b.Columns(), b.NumRows())
}

// TestPlannedAndExecutedNullabilityAgree: ADBC refuses a stream whose schema
// differs from the one in FlightInfo.
func TestPlannedAndExecutedNullabilityAgree(t *testing.T) {
	r := query(t, connect(t), "SELECT 42 AS the_answer, 'x' AS s, NULL AS n")
	require.True(t, r.Next(), "%v", r.Err())
	require.EqualValues(t, 42, r.RecordBatch().Column(0).(*array.Int32).Value(0))
	require.False(t, r.Next())
	require.NoError(t, r.Err())
}

func TestADBCPreparedStatementWithParameters(t *testing.T) {
	ingestTyped(t, "adbc.prepared")
	st, err := connect(t).NewStatement()
	require.NoError(t, err)
	defer st.Close()
	require.NoError(t, st.SetSqlQuery("SELECT s FROM adbc.prepared WHERE id = ?"))
	require.NoError(t, st.Prepare(context.Background()))
	params, err := st.GetParameterSchema()
	require.NoError(t, err)
	require.Equal(t, 1, params.NumFields())

	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "1", Type: arrow.PrimitiveTypes.Int64}}, nil))
	defer b.Release()
	b.Field(0).(*array.Int64Builder).Append(12)
	require.NoError(t, st.Bind(context.Background(), b.NewRecordBatch()))
	r, _, err := st.ExecuteQuery(context.Background())
	require.NoError(t, err)
	defer r.Release()
	require.True(t, r.Next(), "%v", r.Err())
	require.Equal(t, "ünïcode-12", r.RecordBatch().Column(0).(*array.String).Value(0))
}

func TestADBCBrowsesTheCatalog(t *testing.T) {
	ingestTyped(t, "adbc_browse.typed")
	conn := connect(t)

	types, err := conn.GetTableTypes(context.Background())
	require.NoError(t, err)
	defer types.Release()
	require.True(t, types.Next())
	require.Contains(t, fmt.Sprint(types.RecordBatch().Column(0)), "TABLE")

	schema, err := conn.GetTableSchema(context.Background(), nil, ptr("adbc_browse"), "typed")
	require.NoError(t, err)
	require.Equal(t, fields(typed), fields(schema))

	objects, err := conn.GetObjects(context.Background(), adbc.ObjectDepthAll, nil, ptr("adbc_browse"), nil, nil, nil)
	require.NoError(t, err)
	defer objects.Release()
	var text strings.Builder
	for objects.Next() {
		fmt.Fprint(&text, objects.RecordBatch())
	}
	require.NoError(t, objects.Err())
	require.Contains(t, text.String(), "typed")

	info, err := conn.GetInfo(context.Background(), nil)
	require.NoError(t, err)
	defer info.Release()
	require.True(t, info.Next())
	require.Contains(t, fmt.Sprint(info.RecordBatch()), "Lake")
}

func TestADBCLargeResultComesInSmallMessages(t *testing.T) {
	// Stock clients refuse messages above their limit; the result is about 90 MB.
	r := query(t, connect(t), "SELECT i, repeat('x', 80) || i AS s FROM range(1000000) t(i)")
	rows := int64(0)
	for r.Next() {
		rows += r.RecordBatch().NumRows()
	}
	require.NoError(t, r.Err())
	require.EqualValues(t, 1_000_000, rows)
}

func TestADBCErrorsAreClear(t *testing.T) {
	for sql, says := range map[string]string{
		"SELECT * FROM adbc.missing":  "adbc.missing",
		"SELEC 1":                     "syntax error",
		"DROP TABLE adbc.typed":       "DROP is not allowed",
		"SELECT 1; SELECT 2":          "2 statements",
		"SELECT * FROM 'x.parquet'":   "x.parquet",
		"COPY (SELECT 1) TO '/tmp/x'": "COPY is not allowed",
	} {
		st, err := connect(t).NewStatement()
		require.NoError(t, err)
		require.NoError(t, st.SetSqlQuery(sql))
		_, _, err = st.ExecuteQuery(context.Background())
		var failed adbc.Error
		require.ErrorAs(t, err, &failed, sql)
		require.Contains(t, []adbc.Status{adbc.StatusInvalidArgument, adbc.StatusNotFound, adbc.StatusUnauthorized}, failed.Code, "%s: %s", sql, failed.Msg)
		require.ErrorContains(t, err, says)
		require.NoError(t, st.Close())
	}
}

func TestADBCClientThatGoesAwayStopsItsQuery(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	st, err := connect(t).NewStatement()
	require.NoError(t, err)
	defer st.Close()
	require.NoError(t, st.SetSqlQuery("SELECT count(*) FROM range(100000) a, range(100000) b, range(1000) c WHERE (a.range + b.range) % 7 = c.range % 7"))
	failed := make(chan error, 1)
	go func() {
		r, _, err := st.ExecuteQuery(ctx)
		if err == nil {
			for r.Next() {
			}
			err = r.Err()
			r.Release()
		}
		failed <- err
	}()
	time.Sleep(500 * time.Millisecond) // let it start: what matters is that the server frees its place again
	cancel()
	require.Error(t, <-failed)
	// More queries than there are places answer at once only if the place came back.
	for range 20 {
		r := query(t, connect(t), "SELECT 1")
		require.True(t, r.Next(), "%v", r.Err())
	}
}

func ptr(s string) *string { return &s }
