// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/gate"
)

// withParameters runs a statement with a row of values, and returns the keys of
// the result and the types that its placeholders were said to have.
func withParameters(t *testing.T, c *flightsql.Client, sql string, types []arrow.DataType, values []any) (keys []int64, planned *arrow.Schema, err error) {
	t.Helper()
	prepared, err := c.Prepare(t.Context(), sql)
	require.NoError(t, err, sql)
	defer func() { require.NoError(t, prepared.Close(t.Context())) }()
	planned = prepared.ParameterSchema()
	fields := make([]arrow.Field, len(types))
	for i, dt := range types {
		if fields[i] = (arrow.Field{Name: fmt.Sprint(i + 1), Type: dt, Nullable: true}); dt == nil {
			fields[i].Type = planned.Field(i).Type
		}
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	for i, v := range values {
		appendAny(b.Field(i), v)
	}
	row := b.NewRecordBatch()
	defer row.Release()
	prepared.SetParameters(row)
	info, err := prepared.Execute(t.Context())
	if err != nil {
		return nil, planned, err
	}
	got, err := fetch(t, t.Context(), c, info)
	if err != nil {
		return nil, planned, err
	}
	return ids(got.batches), planned, nil
}

// finite reports whether a value is one that is compared directly when it comes
// as a parameter: not null, not NaN, and neither infinite nor a time that is as
// far away. Nanoseconds do not reach so far.
func finite(c testedColumn, v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	case int64:
		most := map[string]int64{"day": math.MaxInt32, "us": math.MaxInt64, "utc": math.MaxInt64}[c.name]
		return most == 0 || v != most && v != -most
	}
	return true
}

// TestParametersOfConditionsAreTheEngines: a placeholder has the type that the
// engine gives it, and with a value of that type the answer is the engine's.
func TestParametersOfConditionsAreTheEngines(t *testing.T) {
	c, answered := conditionStack(t)
	directly := 0
	for _, column := range testedColumns {
		for i, v := range append([]any{nil}, column.values...) {
			other := column.values[(i+2)%len(column.values)]
			for _, w := range []struct {
				where  string
				values []any
			}{
				{column.name + " <= ?", []any{v}},
				{column.name + " > ?", []any{v}},
				{column.name + " NOT IN (?, ?)", []any{v, other}},
				{"NOT (? = " + column.name + " OR " + column.name + " BETWEEN ?2 AND ?3)", []any{v, other, v}},
			} {
				if i%2 == 0 && len(w.values) > 1 {
					continue
				}
				// What storage has in milliseconds, SQL has in microseconds.
				values := append([]any{}, w.values...)
				if column.name == "berlin" {
					for j := range values {
						if n, ok := values[j].(int64); ok {
							values[j] = n * 1000
						}
					}
				}
				types := make([]arrow.DataType, len(values))
				before := answered()
				got, planned, failed := withParameters(t, c, "SELECT key FROM lab.conditions WHERE "+w.where, types, values)
				direct := column.typ.ID() != arrow.DECIMAL128
				for _, v := range w.values {
					direct = direct && finite(column, v)
				}
				require.Equal(t, direct, answered() > before, "%s %v", w.where, w.values)
				if direct {
					directly++
				}
				want, theirs, err := withParameters(t, c, "SELECT key FROM lab.conditions WHERE CASE WHEN "+w.where+" THEN true ELSE false END", types, values)
				require.Equal(t, err == nil, failed == nil, "%s %v: %v and %v", w.where, w.values, err, failed)
				require.Equal(t, want, got, "%s %v", w.where, w.values)
				require.Equal(t, theirs.String(), planned.String(), w.where)
			}
		}
	}
	require.Greater(t, directly, 150)
}

// TestParametersOfOtherTypes: those that lose nothing on the way are compared
// directly, and all of them as the engine does.
func TestParametersOfOtherTypes(t *testing.T) {
	c, answered := conditionStack(t)
	for _, w := range []struct {
		where  string
		typ    arrow.DataType
		value  any
		direct bool
	}{
		{"f64 < ?", arrow.PrimitiveTypes.Int64, int64(math.MaxInt64), true},
		{"f64 = ?", arrow.PrimitiveTypes.Int64, int64(9007199254740993), true},
		{"f64 = ?", arrow.PrimitiveTypes.Float32, 0.1, true},
		{"f64 < ?", arrow.BinaryTypes.String, "0.3", false},
		{"f32 = ?", arrow.PrimitiveTypes.Float64, 0.1, false},
		{"f32 <= ?", arrow.PrimitiveTypes.Int64, int64(16777217), false},
		{"i64 <> ?", arrow.PrimitiveTypes.Int32, int64(1), true},
		{"i64 < ?", arrow.PrimitiveTypes.Float64, 0.5, false},
		{"i64 BETWEEN -1 AND ?", arrow.PrimitiveTypes.Int64, int64(1), true},
		{"i64 BETWEEN 0.5 AND ?", arrow.PrimitiveTypes.Int64, int64(1), false},
		{"i8 < ?", arrow.PrimitiveTypes.Int64, int64(2), false},
		{"i8 IN (1, ?)", arrow.PrimitiveTypes.Int8, int64(2), false},
		{"txt IN ('a', ?)", arrow.BinaryTypes.LargeString, "b", true},
		{"wide >= ?", arrow.BinaryTypes.String, "a", true},
		{"txt > ?", arrow.PrimitiveTypes.Int64, int64(1), false},
		{"us < ?", &arrow.TimestampType{Unit: arrow.Millisecond}, days(19723) * 1000, false},
		{"us < ?", &arrow.TimestampType{Unit: arrow.Nanosecond}, days(19723) * 1_000_000_000, false},
		{"us < ?", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, days(19723) * 1_000_000, false},
		{"us < ?", arrow.FixedWidthTypes.Date32, int64(19723), false},
		{"us BETWEEN ? AND TIMESTAMP '2024-01-01'", &arrow.TimestampType{Unit: arrow.Microsecond}, int64(0), false},
		{"utc >= ?", &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Berlin"}, days(19723) * 1000, true},
		{"berlin > ?", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "Asia/Tokyo"}, days(19723)*1_000_000 + 500, true},
		{"nsz <= ?", &arrow.TimestampType{Unit: arrow.Nanosecond}, days(19723) * 1_000_000_000, true},
		{"ok = ?", arrow.PrimitiveTypes.Int64, int64(1), false},
		{"ok = ?", arrow.FixedWidthTypes.Boolean, true, true},
	} {
		before := answered()
		got, _, failed := withParameters(t, c, "SELECT key FROM lab.conditions WHERE "+w.where, []arrow.DataType{w.typ}, []any{w.value})
		require.Equal(t, w.direct, answered() > before, "%s %s", w.where, w.typ)
		want, _, err := withParameters(t, c, "SELECT key FROM lab.conditions WHERE CASE WHEN "+w.where+" THEN true ELSE false END", []arrow.DataType{w.typ}, []any{w.value})
		require.Equal(t, err == nil, failed == nil, "%s %s: %v and %v", w.where, w.typ, err, failed)
		require.Equal(t, want, got, "%s %s", w.where, w.typ)
	}
}

// TestPlansOfConditions: what SQL refuses is not planned, and what is planned has
// the parameters that the engine finds.
func TestPlansOfConditions(t *testing.T) {
	g := gate.New(sharedSQL, gate.DefaultLimits())
	fields := []arrow.Field{{Name: "key", Type: arrow.PrimitiveTypes.Int64}}
	for _, column := range testedColumns {
		fields = append(fields, arrow.Field{Name: column.name, Type: column.typ, Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	for where, direct := range map[string]bool{
		"i8 = ?2 OR f32 > ?1 AND NOT ok":              true,
		"txt BETWEEN 'a' AND ?":                       true,
		"i64 NOT BETWEEN 5 AND ?":                     true,
		"day IN (?, ?, ?)":                            true,
		"us >= $1 AND us < $2 AND ms > '2024-01-01'":  true,
		"ok = ? AND berlin < ? AND nsz < ? AND ns <?": true,
		"wide = ?":                                  true,
		"f32 BETWEEN ? AND 0.5e0":                   false,
		"i8 IN (?, 300)":                            false,
		"us BETWEEN ? AND DATE '2024-01-01'":        false,
		"dec = ?":                                   false,
		"i8 = ?1 OR i8 = ?1":                        false,
		"i8 = ?2":                                   false,
		"i8 = ? AND txt = 3":                        false, // an error
		"i8 = ? AND us > 'yesterday'":               false, // an error
		"i8 = ? AND none = 3":                       false, // an error
		"i8 = ? AND utc > TIMESTAMP_S '2024-01-01'": false, // an error
	} {
		sql := "SELECT key FROM lab.conditions WHERE " + where
		stmt, err := g.Check(t.Context(), sql)
		require.NoError(t, err, sql)
		require.NotNil(t, stmt.Direct, sql)
		got, ok := stmt.Direct.Plan(schema, nil)
		require.Equal(t, direct, ok, sql)
		if !ok {
			continue
		}
		ref := engine.Name{Namespace: "lab", Table: "conditions"}
		want, err := sharedSQL.Plan(t.Context(), engine.Request{SQL: sql, Tables: map[engine.Name]engine.Table{ref: noRows{schema: schema}}})
		require.NoError(t, err, sql)
		require.True(t, want.Schema.Equal(got.Schema), sql)
		require.Equal(t, want.Parameters.String(), got.Parameters.String(), sql)
	}
}

// A row that has more values than the statement has placeholders, or fewer, is
// refused, whoever would answer.
func TestAsManyParametersAsPlaceholders(t *testing.T) {
	s := newStack(t)
	c := s.client(t)
	create(t, s.catalog(t), "lab.notes", simple)
	i64 := arrow.PrimitiveTypes.Int64
	for _, q := range []struct {
		sql  string
		want int
	}{
		{"SELECT id FROM lab.notes", 0},
		{"SELECT id + 1 FROM lab.notes", 0},
		{"SELECT count(*) FROM lab.notes", 0},
		{"SELECT id FROM lab.notes WHERE id = ?", 1},
		{"SELECT id + 1 FROM lab.notes WHERE id = ?", 1},
		{"SELECT count(*) FROM lab.notes WHERE id = ?", 1},
		{"SELECT id FROM lab.notes WHERE id IN (?, ?)", 2},
	} {
		for n := 1; n < 4; n++ {
			_, _, err := withParameters(t, c, q.sql, slices.Repeat([]arrow.DataType{i64}, n), slices.Repeat([]any{int64(1)}, n))
			if n == q.want {
				require.NoError(t, err, q.sql)
				continue
			}
			require.ErrorContains(t, err, fmt.Sprintf("%d parameters are bound, the statement has %d", n, q.want), q.sql)
			require.Equal(t, codes.InvalidArgument, status.Code(err), q.sql)
		}
	}
}
