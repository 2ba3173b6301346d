// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
)

// The columns of table t in the schema tests: each has something a computed
// column could not have.
func episodeSchema() *arrow.Schema {
	meta := func(k string) arrow.Metadata { return arrow.MetadataFrom(map[string]string{"column": k}) }
	return arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Metadata: meta("id")},
		{Name: "name", Type: arrow.BinaryTypes.LargeString, Nullable: true, Metadata: meta("name")},
		{Name: "stamp", Type: &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}, Metadata: meta("stamp")},
	}, nil)
}

func episodes(t testing.TB) *memTable {
	return newTable(episodeSchema(), jsonBatch(t, episodeSchema(), `[
		{"id":1,"name":"pick","stamp":"2026-01-01 00:00:00.001Z"},
		{"id":2,"name":null,"stamp":"2026-01-02 00:00:00.002Z"},
		{"id":3,"name":"place","stamp":"2026-01-03 00:00:00.003Z"}]`))
}

// TestColumnOrigins says for each statement, column by column, which
// registered column it is ("name"), with "?" where nulls may be added, or the
// Arrow type of a computed one.
func TestColumnOrigins(t *testing.T) {
	e := newEngine(t, Options{Threads: 1})
	a, b := episodes(t), episodes(t)
	for _, c := range []struct {
		sql  string
		want []string
	}{
		{"SELECT * FROM ns.a", []string{"id", "name", "stamp"}},
		{"SELECT stamp, id FROM ns.a", []string{"stamp", "id"}},
		{"SELECT a.id AS x, A.NAME FROM lake.ns.A a", []string{"id", "name"}},
		{"SELECT id + 0, upper(name), id::BIGINT FROM ns.a", []string{":int64", ":utf8", "id"}},
		{"SELECT stamp + INTERVAL 1 DAY, 42, NULL, 'x', 1.5, true FROM ns.a", []string{":timestamp[us, tz=UTC]", ":int32", ":int32", ":utf8", ":decimal(2, 1)", ":bool"}},
		{"SELECT * EXCLUDE (name) REPLACE (id + 1 AS id) FROM ns.a", []string{":int64", "stamp"}},
		{"SELECT * FROM ns.a WHERE id > 1 ORDER BY stamp LIMIT 2 OFFSET 0", []string{"id", "name", "stamp"}},
		{"SELECT x.id, y.stamp FROM (SELECT id FROM ns.a) x, (SELECT stamp FROM ns.b) y", []string{"id", "stamp"}},
		{"SELECT a.id, b.id FROM ns.a JOIN ns.b ON a.id = b.id", []string{"id", "id"}},
		{"SELECT a.id, b.id FROM ns.a LEFT JOIN ns.b ON a.id = b.id AND b.id > 9", []string{"id", "id?"}},
		{"SELECT a.id, b.id FROM ns.a RIGHT JOIN ns.b ON a.id = b.id AND a.id > 9", []string{"id?", "id"}},
		{"SELECT a.id, b.id FROM ns.a FULL JOIN ns.b ON a.id = b.id + 5", []string{"id?", "id?"}},
		{"SELECT * FROM ns.a JOIN ns.b USING (id)", []string{"id", "name", "stamp", "name", "stamp"}},
		{"SELECT id FROM ns.a SEMI JOIN ns.b USING (id)", []string{"id"}},
		{"SELECT id FROM ns.a ANTI JOIN ns.b USING (id)", []string{"id"}},
		{"SELECT a.id, b.id FROM ns.a ASOF LEFT JOIN ns.b ON a.stamp >= b.stamp", []string{"id", "id?"}},
		{"SELECT a.id, b.id FROM ns.a POSITIONAL JOIN ns.b", []string{"id?", "id?"}},
		{"SELECT id, (SELECT max(stamp) FROM ns.b) FROM ns.a", []string{"id", ":timestamp[us, tz=UTC]"}},
		{"SELECT id, (SELECT stamp FROM ns.b WHERE b.id = a.id) FROM ns.a", []string{"id", "stamp?"}},
		{"SELECT id FROM ns.a WHERE id IN (SELECT id FROM ns.b) AND EXISTS (SELECT 1 FROM ns.b WHERE b.id = a.id)", []string{"id"}},
		{"SELECT stamp, count(*), sum(id), min(id) FROM ns.a GROUP BY stamp", []string{"stamp", ":int64", ":decimal(38, 0)", ":int64"}},
		{"SELECT id, name, count(*) FROM ns.a GROUP BY ROLLUP (id, name)", []string{"id?", "name", ":int64"}},
		{"SELECT DISTINCT name FROM ns.a", []string{"name"}},
		{"SELECT DISTINCT ON (name) id, name FROM ns.a", []string{"id", "name"}},
		{"SELECT id, row_number() OVER (ORDER BY id), lag(id) OVER (ORDER BY id) FROM ns.a", []string{"id", ":int64", ":int64"}},
		{"SELECT id FROM ns.a QUALIFY row_number() OVER (ORDER BY id) = 1", []string{"id"}},
		{"WITH c AS (SELECT id, name FROM ns.a) SELECT c.name, d.id FROM c JOIN c d USING (id)", []string{"name", "id"}},
		{"WITH c AS MATERIALIZED (SELECT stamp FROM ns.a) SELECT stamp FROM c UNION ALL SELECT stamp FROM c", []string{"stamp"}},
		{"SELECT id FROM ns.a UNION ALL SELECT id FROM ns.b", []string{"id"}},
		{"SELECT id FROM ns.a UNION SELECT 7", []string{":int64"}},
		{"SELECT stamp FROM ns.a EXCEPT SELECT stamp FROM ns.b", []string{"stamp"}},
		{"SELECT id, u FROM ns.a, unnest([1, 2]) t(u)", []string{"id", ":int32"}},
		{"SELECT id, unnest([id]) FROM ns.a", []string{"id", ":int64"}},
		{"SELECT a.id, l.stamp FROM ns.a, LATERAL (SELECT stamp FROM ns.b WHERE b.id = a.id) l", []string{"id", "stamp"}},
		{"WITH RECURSIVE r AS (SELECT id FROM ns.a UNION ALL SELECT id + 1 FROM r WHERE id < 5) SELECT id FROM r", []string{":int64"}},
		{"SELECT id FROM ns.a TABLESAMPLE 100%", []string{"id"}},
		{"SELECT v.x, a.id FROM ns.a, (VALUES (1), (2)) v(x)", []string{":int32", "id"}},
		{"FROM ns.a SELECT id", []string{"id"}},
		{"PIVOT (SELECT id % 2 AS k, id FROM ns.a) ON k IN (0, 1) USING count(*)", []string{"id", ":int64", ":int64"}},
	} {
		t.Run(c.sql, func(t *testing.T) {
			_, s := ask(t, e, c.sql, "a", a, "b", b)
			got := make([]string, s.NumFields())
			for i, f := range s.Fields() {
				got[i] = originOf(f)
			}
			require.Equal(t, c.want, got)
		})
	}
}

// originOf reads the registered name from the metadata; computed fields have
// none and must be nullable.
func originOf(f arrow.Field) string {
	name, ok := f.Metadata.GetValue("column")
	if !ok {
		if !f.Nullable {
			return "computed but not nullable: " + f.String()
		}
		return ":" + f.Type.String()
	}
	i, _ := episodeSchema().FieldIndices(name), 0
	want := episodeSchema().Field(i[0])
	if !arrow.TypeEqual(want.Type, f.Type) {
		return fmt.Sprintf("%s with the type %s", name, f.Type)
	}
	if f.Nullable && !want.Nullable {
		return name + "?"
	}
	return name
}

func TestHugeSumsAreDecimals(t *testing.T) {
	e := newEngine(t, Options{})
	schema := arrow.NewSchema([]arrow.Field{nonNull("v", arrow.PrimitiveTypes.Int64)}, nil)
	tab := newTable(schema, jsonBatch(t, schema, `[{"v":9223372036854775807},{"v":9223372036854775807},{"v":-1}]`))
	got, s := ask(t, e, "SELECT sum(v) FROM ns.t", "t", tab)
	require.Equal(t, "decimal(38, 0)", s.Field(0).Type.String())
	require.Equal(t, []string{"18446744073709551613"}, columnText(got, 0))

	err := e.Execute(context.Background(), engine.Request{SQL: "SELECT 170141183460469231731687303715884105727::HUGEINT"}, discard)
	require.True(t, lake.Is(err, lake.Invalid), "%v", err)
	require.ErrorContains(t, err, "more than 38 digits")
}

func discard(arrow.RecordBatch) error { return nil }

func TestComputedTypes(t *testing.T) {
	e := newEngine(t, Options{})
	for sql, want := range map[string]string{
		"SELECT 'a'::ENUM('b','a') v":                                    "utf8 a",
		"SELECT '5f0bcf2c-8e1f-4a3d-9b6e-0123456789ab'::UUID v":          "utf8 5f0bcf2c-8e1f-4a3d-9b6e-0123456789ab",
		"SELECT INTERVAL '1 month 2 days 3 microseconds' v":              `month_day_nano_interval {"months":1,"days":2,"nanoseconds":3000}`,
		"SELECT TIME '01:02:03.000004' v":                                "time64[us] 01:02:03.000004",
		"SELECT '{\"a\":1}'::JSON v":                                     `utf8 {"a":1}`,
		"SELECT '\\x01'::BLOB v":                                         "binary AQ==",
		"SELECT {'a': 1, 'b': [1, NULL]} v":                              `struct<a: int32 nullable, b: list<item: int32, nullable> nullable> {"a":1,"b":[1,null]}`,
		"SELECT MAP {'k': 1} v":                                          `map<utf8, int32, items_nullable> [{"key":"k","value":1}]`,
		"SELECT [1, 2]::INTEGER[2] v":                                    "fixed_size_list<item: int32, nullable>[2] [1,2]",
		"SELECT 1.25::DECIMAL(5,2) v":                                    "decimal(5, 2) 1.25",
		"SELECT TIMESTAMPTZ '2026-01-01 00:00:00+01' v":                  "timestamp[us, tz=UTC] 2025-12-31T23:00:00Z",
		"SELECT 340282366920938463463374607431768211455::UHUGEINT % 7 v": "decimal(38, 0) 3",
	} {
		got, s := ask(t, e, sql)
		require.Equal(t, want, s.Field(0).Type.String()+" "+got[0].Column(0).ValueStr(0), sql)
	}
	for _, sql := range []string{"SELECT '101'::BIT", "SELECT union_value(a := 1)", "SELECT '1'::BIGNUM", "SELECT TIMETZ '01:00:00+01'"} {
		_, err := e.Plan(context.Background(), engine.Request{SQL: sql})
		require.True(t, lake.Is(err, lake.Unsupported), "%s: %v", sql, err)
		require.ErrorContains(t, err, "cast it to VARCHAR")
	}
}

func TestParameters(t *testing.T) {
	e := newEngine(t, Options{})
	tab := episodes(t)
	plan, err := e.Plan(context.Background(), engine.Request{SQL: "SELECT name, ? AS x FROM ns.t WHERE id = ? AND stamp < $3", Tables: tables("t", tab)})
	if err != nil { // DuckDB refuses to mix the two spellings
		plan, err = e.Plan(context.Background(), engine.Request{SQL: "SELECT name, ? AS x FROM ns.t WHERE id = ? AND stamp < ?", Tables: tables("t", tab)})
	}
	require.NoError(t, err)
	require.Equal(t, 3, plan.Parameters.NumFields())
	require.Equal(t, arrow.PrimitiveTypes.Int64, plan.Parameters.Field(1).Type)
	require.Equal(t, "name", originOf(plan.Schema.Field(0)))

	for _, c := range []struct {
		json, want string
		dt         arrow.DataType
	}{
		{"7", "int64 7", arrow.PrimitiveTypes.Int64},
		{`"seven"`, "utf8 seven", arrow.BinaryTypes.String},
		{"1.5", "float64 1.5", arrow.PrimitiveTypes.Float64},
		{"[1,2]", "list<item: int32, nullable> [1,2]", arrow.ListOf(arrow.PrimitiveTypes.Int32)},
		{"[1,null]", "list<item: int32, nullable> [1,null]", arrow.ListOf(arrow.PrimitiveTypes.Int32)},
		{"[]", "list<item: utf8, nullable> []", arrow.ListOf(arrow.BinaryTypes.String)},
		{"[[1],null,[]]", "list<item: list<item: int32, nullable>, nullable> [[1],null,[]]", arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int32))},
		{"[0.5,1]", "fixed_size_list<item: float32, nullable>[2] [0.5,1]", arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)},
		{`"01:02:03.000000004"`, "time64[ns] 01:02:03.000000004", arrow.FixedWidthTypes.Time64ns},
		{`"2026-01-01 00:00:00.123456789"`, "timestamp[ns] 2026-01-01T00:00:00.123456789", &arrow.TimestampType{Unit: arrow.Nanosecond}},
		{`"2026-01-01 00:00:01Z"`, "timestamp[us, tz=UTC] 2026-01-01T00:00:01Z", &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}},
		{`"AQID"`, "binary AQID", arrow.BinaryTypes.Binary},
		{"true", "bool true", arrow.FixedWidthTypes.Boolean},
		{"18446744073709551615", "uint64 18446744073709551615", arrow.PrimitiveTypes.Uint64},
		{`"2026-01-01"`, "date32 2026-01-01", arrow.FixedWidthTypes.Date32},
		{`"-1.50"`, "decimal(9, 2) -1.5", &arrow.Decimal128Type{Precision: 9, Scale: 2}},
		{"null", "int32 (null)", arrow.Null},                 // what ADBC for Python sends for None
		{"null", "int32 (null)", arrow.PrimitiveTypes.Int64}, // DuckDB's NULL has no type of its own
		{`{"x":1.5,"label":"l"}`, `struct<x: float64 nullable, label: utf8 nullable> {"label":"l","x":1.5}`, point},
	} {
		params := jsonBatch(t, arrow.NewSchema([]arrow.Field{field("x", c.dt), field("id", arrow.PrimitiveTypes.Int32)}, nil), `[{"x":`+c.json+`,"id":3}]`)
		req := engine.Request{SQL: "SELECT ? AS x, name, stamp FROM ns.t WHERE id = ?", Tables: tables("t", tab), Params: params}
		got, s := collect(t, e, req)
		require.Len(t, got, 1)
		require.Equal(t, c.want, s.Field(0).Type.String()+" "+got[0].Column(0).ValueStr(0))
		require.Equal(t, []string{"name", "stamp"}, []string{originOf(s.Field(1)), originOf(s.Field(2))})
		require.Equal(t, "place", got[0].Column(1).ValueStr(0))
	}
}

func TestParameterErrors(t *testing.T) {
	e := newEngine(t, Options{})
	two := jsonBatch(t, arrow.NewSchema([]arrow.Field{field("x", arrow.PrimitiveTypes.Int64)}, nil), `[{"x":1},{"x":2}]`)
	single := func(data arrow.ArrayData) arrow.RecordBatch {
		s := arrow.NewSchema([]arrow.Field{field("x", data.DataType())}, nil)
		return array.NewRecordBatch(s, []arrow.Array{array.MakeFromData(data)}, 1)
	}
	badText := single(array.NewData(arrow.BinaryTypes.String, 1, []*memory.Buffer{nil, buffer[int32](0, 1), buffer[byte](0xFF)}, nil, 0, 0))
	wideDecimal := single(array.NewData(&arrow.Decimal128Type{Precision: 4}, 1, []*memory.Buffer{nil, buffer[int64](99999, 0)}, nil, 0, 0))
	for _, c := range []struct {
		sql    string
		params arrow.RecordBatch
		want   string
	}{
		{"SELECT ?", nil, "1 parameters and none is bound"},
		{"SELECT ?", two, "2 rows"},
		{"SELECT ?, ?", two.NewSlice(0, 1), "1 parameters are bound, the statement has 2"},
		{"SELECT 1", two.NewSlice(0, 1), "1 parameters are bound, the statement has 0"},
		{"SELECT ? + 'x'::DATE", two.NewSlice(0, 1), ""},
		{"SELECT ?", badText, "not UTF-8"},
		{"SELECT ?", wideDecimal, "more digits"},
		{"SELECT 1\x00 + ?", two.NewSlice(0, 1), "NUL byte (at byte 8)"},
	} {
		err := e.Execute(context.Background(), engine.Request{SQL: c.sql, Params: c.params}, discard)
		require.True(t, lake.Is(err, lake.Invalid), "%s: %v", c.sql, err)
		require.ErrorContains(t, err, c.want)
	}
}

// A zero-column batch carries a row count; count(*) must not read columns.
func TestProjectionPushdown(t *testing.T) {
	e := newEngine(t, Options{})
	tab := episodes(t)
	for sql, want := range map[string][]int{
		"SELECT count(*) FROM ns.t":                       {},
		"SELECT id FROM ns.t":                             {0},
		"SELECT max(stamp) FROM ns.t WHERE id > 0":        {2, 0},
		"SELECT 1 FROM ns.t WHERE name IS NULL":           {1},
		"SELECT * FROM ns.t":                              {0, 1, 2},
		"SELECT id FROM (SELECT * FROM ns.t) ORDER BY id": {0},
	} {
		_, _ = ask(t, e, sql, "t", tab)
		require.ElementsMatch(t, want, tab.lastProjection(), sql)
	}
	got, _ := ask(t, e, "SELECT count(*) FROM ns.t", "t", tab)
	require.Equal(t, []string{"3"}, columnText(got, 0))
	require.Zero(t, tab.open.Load())
}

func TestSchemasSQLCannotHold(t *testing.T) {
	e := newEngine(t, Options{})
	for _, c := range []struct {
		fields []arrow.Field
		want   string
	}{
		{[]arrow.Field{field("a", arrow.FixedWidthTypes.Float16)}, "no type for Arrow float16"},
		{[]arrow.Field{field("a", arrow.PrimitiveTypes.Int8), field("A", arrow.PrimitiveTypes.Int8)}, "letter case"},
		{[]arrow.Field{field("", arrow.PrimitiveTypes.Int8)}, "not empty"},
		{[]arrow.Field{field("a", arrow.StructOf())}, "struct without fields"},
		{nil, "without columns"},
	} {
		schema := arrow.NewSchema(c.fields, nil)
		_, err := e.Plan(context.Background(), engine.Request{SQL: "SELECT 1 FROM ns.t", Tables: tables("t", newTable(schema))})
		require.True(t, lake.Is(err, lake.Unsupported), "%v", err)
		require.ErrorContains(t, err, c.want)
	}
}

func TestOddNames(t *testing.T) {
	e := newEngine(t, Options{})
	schema := arrow.NewSchema([]arrow.Field{field(`odd "name".x`, arrow.PrimitiveTypes.Int64), field("select", arrow.PrimitiveTypes.Int64)}, nil)
	b := array.NewRecordBatch(schema, []arrow.Array{one(1), one(2)}, 1)
	req := engine.Request{
		SQL:    `SELECT "odd ""name"".x", "select" FROM "a.b-c"."t.1"`,
		Tables: map[engine.Name]engine.Table{{Namespace: "a.b-c", Table: "t.1"}: newTable(schema, b)},
	}
	got, s := collect(t, e, req)
	require.Equal(t, `odd "name".x`, s.Field(0).Name)
	require.Equal(t, []string{"2"}, columnText(got, 1))

	req = engine.Request{SQL: "SELECT * FROM bare", Tables: map[engine.Name]engine.Table{{Table: "bare"}: newTable(schema, b)}}
	got, _ = collect(t, e, req)
	require.Len(t, got, 1)
}

func one(v int64) arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.Append(v)
	return b.NewArray()
}
