// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// One placeholder without a type, such as that of SELECT ?, must not take the
// types of the others away: a JDBC driver refuses setLong for text.
func TestEachPlaceholderHasItsOwnType(t *testing.T) {
	l := newLake(t)
	l.authority.create(t, "lab.types", everyType())
	l.authority.create(t, "lab.notes", simple)
	c := l.replica().client("ann-token")
	for sql, want := range map[string][]string{
		"SELECT ? AS x, note FROM lab.notes WHERE id = ?":                                          {"utf8", "int64"},
		"SELECT note, ? FROM lab.notes WHERE id = ? AND note = ?":                                  {"utf8", "int64", "utf8"},
		"SELECT $2, $1 FROM lab.notes WHERE id BETWEEN $1 AND $3":                                  {"int64", "utf8", "int64"},
		"SELECT $a FROM lab.notes WHERE id = $b":                                                   {"utf8", "int64"},
		"SELECT '?', ?, \"u64\" /* ? */ FROM lab.types WHERE day > ? -- ?\n AND b = ? AND f64 < ?": {"utf8", "date32", "bool", "float64"},
		"SELECT ?, ?":                                {"utf8", "utf8"},
		"SELECT ?, f64 FROM lab.types LIMIT ?":       {"utf8", "int64"},
		"SELECT ?::INTEGER, ? || 'x'":                {"int32", "utf8"},
		"SELECT ? FROM lab.notes WHERE id IN (?, ?)": {"utf8", "int64", "int64"},
	} {
		p, err := c.Prepare(t.Context(), sql)
		require.NoError(t, err, sql)
		var got []string
		for _, f := range p.ParameterSchema().Fields() {
			got = append(got, f.Type.String())
		}
		require.Equal(t, want, got, sql)
		require.NoError(t, p.Close(t.Context()))
	}
	p, err := c.Prepare(t.Context(), "SELECT ? AS x, count(*) AS n FROM lab.notes WHERE id > ?")
	require.NoError(t, err)
	two := arrow.NewSchema([]arrow.Field{{Name: "1", Type: arrow.BinaryTypes.String}, {Name: "2", Type: arrow.PrimitiveTypes.Int64}}, nil)
	p.SetParameters(rows(t, two, `[{"1":"a","2":5}]`))
	info, err := p.Execute(t.Context())
	require.NoError(t, err)
	got, err := fetch(t, t.Context(), c, info)
	require.NoError(t, err)
	require.Equal(t, "{\"n\":0,\"x\":\"a\"}\n", got.json(t))
}

// bindText runs a statement with one parameter, which is written as text.
func bindText(t *testing.T, c *flightsql.Client, sql string, dt arrow.DataType, value string) (*result, error) {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, one("1", dt))
	defer b.Release()
	require.NoError(t, b.Field(0).AppendValueFromString(value), "%s", dt)
	row := b.NewRecordBatch()
	defer row.Release()
	p, err := c.Prepare(t.Context(), sql)
	require.NoError(t, err, sql)
	defer func() { require.NoError(t, p.Close(t.Context())) }()
	p.SetParameters(row)
	info, err := p.Execute(t.Context())
	if err != nil {
		return nil, err
	}
	return fetch(t, t.Context(), c, info)
}

// Clients bind values as their languages have them: texts as views, short
// decimals, spans of time.
func TestParametersOfTypesThatSQLLacks(t *testing.T) {
	s := newStack(t)
	c := s.client(t)
	name := create(t, s.catalog(t), "lab.notes", simple)
	_, err := appendRows(t, c, name, rows(t, simple, `[{"id":1,"note":"a"},{"id":2,"note":"a text that a view does not hold itself"}]`), false)
	require.NoError(t, err)
	wide := &arrow.Decimal256Type{Precision: 60, Scale: 2}
	views := arrow.StructOf(arrow.Field{Name: "a", Type: arrow.BinaryTypes.StringView, Nullable: true}, arrow.Field{Name: "b", Type: arrow.ListOf(arrow.FixedWidthTypes.Float16), Nullable: true})
	for _, q := range []struct {
		sql   string
		dt    arrow.DataType
		value string
		want  string
	}{
		{"SELECT ? AS x, typeof($1) AS t", arrow.BinaryTypes.StringView, "a", `{"t":"VARCHAR","x":"a"}`},
		{"SELECT id FROM lab.notes WHERE note = ?", arrow.BinaryTypes.StringView, "a", `{"id":1}`},
		{"SELECT id FROM lab.notes WHERE note = ?", arrow.BinaryTypes.StringView, "a text that a view does not hold itself", `{"id":2}`},
		{"SELECT id + 0 AS id FROM lab.notes WHERE note = ?", arrow.BinaryTypes.StringView, "a text that a view does not hold itself", `{"id":2}`},
		{"SELECT ? AS x, typeof($1) AS t", arrow.BinaryTypes.BinaryView, "YQ==", `{"t":"BLOB","x":"YQ=="}`},
		{"SELECT ? AS x, typeof($1) AS t", arrow.FixedWidthTypes.Float16, "1.5", `{"t":"FLOAT","x":1.5}`},
		{"SELECT ? AS x, typeof($1) AS t", &arrow.Decimal32Type{Precision: 5, Scale: 2}, "-1.5", `{"t":"DECIMAL(5,2)","x":"-1.5"}`},
		{"SELECT ? AS x, typeof($1) AS t", &arrow.Decimal64Type{Precision: 15, Scale: 1}, "99999999999999.5", `{"t":"DECIMAL(15,1)","x":"99999999999999.5"}`},
		{"SELECT ? AS x, typeof($1) AS t", wide, "1.5", `{"t":"DECIMAL(38,2)","x":"1.5"}`},
		{"SELECT id FROM lab.notes WHERE id = ?", wide, "2", `{"id":2}`},
		{"SELECT TIMESTAMP '2024-01-01' + ? = TIMESTAMP '2024-01-01 00:00:03.5' AS x", &arrow.DurationType{Unit: arrow.Millisecond}, "3500ms", `{"x":true}`},
		{"SELECT DATE '2024-01-31' + ? AS x", arrow.FixedWidthTypes.MonthInterval, `1`, `{"x":"2024-02-29T00:00:00"}`},
		{"SELECT ? = INTERVAL '1 day 2 milliseconds' AS x", arrow.FixedWidthTypes.DayTimeInterval, `{"days": 1, "milliseconds": 2}`, `{"x":true}`},
		{"SELECT ? = INTERVAL '1 month 2 days 3 microseconds' AS x", arrow.FixedWidthTypes.MonthDayNanoInterval, `{"months": 1, "days": 2, "nanoseconds": 3000}`, `{"x":true}`},
		{"SELECT ? AS x, typeof($1) AS t", views, `{"a":"v","b":[0.5,null]}`, `{"t":"STRUCT(a VARCHAR, b FLOAT[])","x":{"a":"v","b":[0.5,null]}}`},
	} {
		got, err := bindText(t, c, q.sql, q.dt, q.value)
		require.NoError(t, err, "%s with %s", q.sql, q.dt)
		require.Equal(t, q.want+"\n", got.json(t), "%s with %s", q.sql, q.dt)
	}
	for _, q := range []struct {
		dt    arrow.DataType
		value string
		want  string
	}{
		{&arrow.Decimal256Type{Precision: 60, Scale: 0}, "123456789012345678901234567890123456789", "more digits"},
		{arrow.FixedWidthTypes.MonthDayNanoInterval, `{"months": 0, "days": 0, "nanoseconds": 3}`, "3 ns more"},
	} {
		_, err := bindText(t, c, "SELECT ? AS x", q.dt, q.value)
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%s: %v", q.dt, err)
		require.ErrorContains(t, err, "parameter 1: ")
		require.ErrorContains(t, err, q.want)
	}
}
