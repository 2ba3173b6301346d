// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	lanceengine "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/services/query"
	"github.com/lakeplane/lake/services/query/direct"
	"github.com/lakeplane/lake/services/query/gate"
	"github.com/lakeplane/lake/services/query/literal"
)

// TestWhichStatementsAreAnsweredDirectly: those that name columns of a table,
// and perhaps how many rows, and nothing else.
func TestWhichStatementsAreAnsweredDirectly(t *testing.T) {
	g := gate.New(sharedSQL, gate.DefaultLimits())
	const all = math.MaxInt64
	integer := func(n int64) literal.Number { return literal.Number{Value: new(big.Rat).SetInt64(n), Whole: 10} }
	for sql, want := range map[string]*direct.Statement{
		"SELECT * FROM lab.t":                               {Limit: all},
		"FROM lab.t":                                        {Limit: all},
		"TABLE lake.lab.t":                                  {Limit: all},
		"select note, \"id\" AS x from lab.t u":             {Columns: []direct.Column{{Name: "note"}, {Name: "id", As: "x"}}, Limit: all},
		"SELECT id FROM lab.t LIMIT 10":                     {Columns: []direct.Column{{Name: "id"}}, Limit: 10},
		"SELECT id FROM lab.t LIMIT 5000000000 OFFSET 3":    {Columns: []direct.Column{{Name: "id"}}, Limit: 5_000_000_000, Offset: 3},
		"SELECT * FROM lab.t OFFSET 3":                      {Limit: all, Offset: 3},
		"SELECT * FROM lab.t LIMIT 0":                       {},
		"SELECT * FROM lab.t LIMIT ?":                       nil,
		"SELECT * FROM lab.t LIMIT 10%":                     nil,
		"SELECT * FROM lab.t LIMIT 1.5":                     nil,
		"SELECT * FROM lab.t LIMIT 1 + 1":                   nil,
		"SELECT * FROM lab.t LIMIT NULL":                    nil,
		"SELECT * FROM lab.t LIMIT 170141183460469231731":   nil,
		"SELECT * FROM lab.t ORDER BY id LIMIT 3":           nil,
		"SELECT * FROM lab.t WHERE true":                    nil,
		"SELECT * FROM lab.t a(x, y)":                       nil,
		"SELECT t.id, note FROM lab.t":                      {Qualifier: "t", Columns: []direct.Column{{Name: "id"}, {Name: "note"}}, Limit: all},
		"SELECT \"X\".id FROM lab.t x":                      {Qualifier: "x", Columns: []direct.Column{{Name: "id"}}, Limit: all},
		"SELECT t.* FROM lab.t":                             {Limit: all},
		"SELECT u.* FROM lab.t AS u":                        {Limit: all},
		"SELECT t.id FROM lab.t u":                          nil,
		"SELECT t.* FROM lab.t u":                           nil,
		"SELECT lab.t.id FROM lab.t":                        nil,
		"SELECT id.x FROM lab.t":                            nil,
		"SELECT t.id.x FROM lab.t":                          nil,
		"SELECT *, id FROM lab.t":                           nil,
		"SELECT * EXCLUDE (id) FROM lab.t":                  nil,
		"SELECT * REPLACE (1 AS id) FROM lab.t":             nil,
		"SELECT * RENAME (id AS x) FROM lab.t":              nil,
		"SELECT COLUMNS(*) FROM lab.t":                      nil,
		"SELECT COLUMNS('i.*') FROM lab.t":                  nil,
		"SELECT id + 1 FROM lab.t":                          nil,
		"SELECT id::INT FROM lab.t":                         nil,
		"SELECT 1 FROM lab.t":                               nil,
		"SELECT id FROM lab.t QUALIFY true":                 nil,
		"SELECT * FROM lab.t USING SAMPLE 3":                nil,
		"SELECT * FROM lab.t TABLESAMPLE 10%":               nil,
		"SELECT * FROM lab.t, lab.u":                        nil,
		"SELECT * FROM (FROM lab.t)":                        nil,
		"WITH x AS (SELECT 1) SELECT * FROM lab.t":          nil,
		"SELECT * FROM lab.t UNION ALL SELECT * FROM lab.t": nil,
		"SELECT * FROM range(10)":                           nil,
		"SELECT * FROM information_schema.tables":           nil,
		"SELECT current_date FROM lab.t":                    {Columns: []direct.Column{{Name: "current_date"}}, Limit: all}, // a column, if there is one
		"SELECT * FROM lab.t WHERE id = -5 AND 3 < x AND (note BETWEEN 'a' AND $2 AND y >= $1)": {Limit: all, Where: []direct.Condition{
			{Test: direct.Equal, Column: "id", Values: []literal.Value{integer(-5)}},
			{Test: direct.Greater, Column: "x", Values: []literal.Value{integer(3)}},
			{Test: direct.Between, Column: "note", Values: []literal.Value{literal.Text{Value: "a"}, literal.Placeholder(2)}},
			{Test: direct.GreaterOrEqual, Column: "y", Values: []literal.Value{literal.Placeholder(1)}},
		}},
		"SELECT * FROM lab.t WHERE NOT flag OR id IN (1, 2) AND note IS NOT NULL": {Limit: all, Where: []direct.Condition{{Test: direct.Any, Parts: []direct.Condition{
			{Test: direct.Equal, Column: "flag", Values: []literal.Value{literal.Boolean(false)}},
			{Test: direct.All, Parts: []direct.Condition{
				{Test: direct.In, Column: "id", Values: []literal.Value{integer(1), integer(2)}},
				{Test: direct.NotNull, Column: "note"},
			}},
		}}}},
		"SELECT * FROM lab.t WHERE NOT (id <= 1 OR id NOT BETWEEN 2 AND 3 OR id IN (4) OR note IS NOT NULL OR NOT (id <> 5))": {Limit: all, Where: []direct.Condition{
			{Test: direct.Greater, Column: "id", Values: []literal.Value{integer(1)}},
			{Test: direct.Between, Column: "id", Values: []literal.Value{integer(2), integer(3)}},
			{Test: direct.NotIn, Column: "id", Values: []literal.Value{integer(4)}},
			{Test: direct.Null, Column: "note"},
			{Test: direct.NotEqual, Column: "id", Values: []literal.Value{integer(5)}},
		}},
		"SELECT * FROM lab.t WHERE ts > TIMESTAMP '2024-01-01' AND flag = true": {Limit: all, Where: []direct.Condition{
			{Test: direct.Greater, Column: "ts", Values: []literal.Value{literal.Text{Value: "2024-01-01", As: "TIMESTAMP"}}},
			{Test: direct.Equal, Column: "flag", Values: []literal.Value{literal.Boolean(true)}},
		}},
		"SELECT * FROM lab.t WHERE id < x":                                         nil,
		"SELECT * FROM lab.t WHERE 1 = 1":                                          nil,
		"SELECT * FROM lab.t WHERE id = 1 OR x + 1 = 2":                            nil,
		"SELECT * FROM lab.t WHERE NOT length(note) = 1":                           nil,
		"SELECT * FROM lab.t WHERE flag IS TRUE":                                   nil,
		"SELECT * FROM lab.t WHERE id IN (1, x)":                                   nil,
		"SELECT * FROM lab.t WHERE id IN (SELECT 1)":                               nil,
		"SELECT * FROM lab.t WHERE id IN (1, NULL)":                                nil,
		"SELECT * FROM lab.t WHERE id = NULL":                                      nil,
		"SELECT * FROM lab.t WHERE id = 7::BIGINT":                                 nil,
		"SELECT * FROM lab.t WHERE id = 12345678901234567890":                      nil,
		"SELECT * FROM lab.t WHERE u.id = 1":                                       nil,
		"SELECT * FROM lab.t WHERE note LIKE 'a%'":                                 nil,
		"SELECT * FROM lab.t WHERE note = 'a' COLLATE NOCASE":                      nil,
		"SELECT * FROM lab.t WHERE id IS NOT DISTINCT FROM 1":                      nil,
		"SELECT * FROM lab.t WHERE id = (SELECT 1)":                                nil,
		"SELECT * FROM lab.t WHERE id = $name":                                     nil,
		"SELECT * FROM lab.t WHERE ts > now()":                                     nil,
		"SELECT * FROM lab.t WHERE id NOT IN (1" + strings.Repeat(", 1", 16) + ")": nil,
		"SELECT * FROM lab.t WHERE id IN (1" + strings.Repeat(", 1", 1000) + ")":   nil,
		"SELECT * FROM lab.t WHERE flag" + strings.Repeat(" OR flag", 16):          nil,
		"SELECT * FROM lab.t WHERE flag" + strings.Repeat(" AND flag", 64):         nil,
	} {
		parsed, err := g.Check(t.Context(), sql)
		require.NoError(t, err, sql)
		require.Equal(t, want, parsed.Direct, sql)
	}
}

// directStack is a table of every type in five fragments, and a replica whose
// direct answers are counted.
func directStack(t *testing.T) (s *stack, answered func() float64) {
	t.Helper()
	s = newStack(t, func(o *lanceengine.Options) { o.HoldBytes = -1 })
	metrics := prometheus.NewRegistry()
	s.addr = s.replica(t, func(o *query.Options) { o.Metrics, o.AnswerBytes = metrics, -1 })
	name := create(t, s.catalog(t), "lab.types", everyType())
	c := s.client(t)
	for i := range 5 {
		var text []string
		for j := range 10 {
			full := fmt.Sprintf(everyValue, 10*i+j)
			if j%3 == 1 { // the other half of the columns as well
				full = strings.TrimSuffix(full, "}") + `,"text_null":"ascii","i32_null":7,"tags_null":["ß",null],"pose_null":{"x":2,"frame":null},"b_null":false}`
			}
			text = append(text, full)
		}
		_, err := appendRows(t, c, name, rows(t, everyType(), "["+strings.Join(text, ",")+"]"), false)
		require.NoError(t, err)
	}
	return s, func() float64 { return gauge(t, metrics, "lake_query_direct_total") }
}

// whole is a result as one batch, so that batches may begin anywhere.
func whole(t *testing.T, r *result) arrow.RecordBatch {
	t.Helper()
	columns := make([]arrow.Array, r.schema.NumFields())
	n := int64(0)
	for i := range columns {
		var parts []arrow.Array
		for _, b := range r.batches {
			parts = append(parts, b.Column(i))
		}
		if len(parts) == 0 {
			parts = append(parts, array.MakeArrayOfNull(memory.DefaultAllocator, r.schema.Field(i).Type, 0))
		}
		joined, err := array.Concatenate(parts, memory.DefaultAllocator)
		require.NoError(t, err)
		columns[i], n = joined, int64(joined.Len())
	}
	return array.NewRecordBatch(r.schema, columns, n)
}

// TestADirectAnswerIsTheEngines compares each with that of the same statement
// under a condition that is always true, which the engine answers.
func TestADirectAnswerIsTheEngines(t *testing.T) {
	s, answered := directStack(t)
	c := s.client(t)
	for i, sql := range []string{
		"SELECT * FROM lab.types", "FROM lake.lab.types", "SELECT key FROM lab.types", "SELECT text_null, key AS \"K\", TAGS, pose FROM lab.types", "SELECT path_null, b_null FROM lab.types x",
		"SELECT utc, berlin_null, dec, vec_null, bytes FROM lab.types",
	} {
		before := answered()
		got := mustRun(t, c, sql)
		require.InDelta(t, before+1, answered(), 0, sql)
		want := mustRun(t, c, sql+" WHERE key + 0 >= 0")
		require.InDelta(t, before+1, answered(), 0, "the comparison is the engine's")
		require.True(t, want.schema.Equal(got.schema), "%s: %s\nand %s", sql, want.schema, got.schema)
		require.True(t, array.RecordEqual(whole(t, want), whole(t, got)), "%s\nwant %v\ngot  %v", sql, whole(t, want), whole(t, got))
		require.EqualValues(t, 50, got.rows(), i)
	}
}

func TestDirectAnswersKeepLimitAndOffset(t *testing.T) {
	s, answered := directStack(t)
	c := s.client(t)
	for _, w := range []struct{ limit, offset, from, to int64 }{
		{0, 0, 0, 0}, {1, 0, 0, 1}, {10, 0, 0, 10}, {11, 0, 0, 11}, {7, 8, 8, 15}, {30, 15, 15, 45}, {100, 45, 45, 50}, {5, 50, 0, 0}, {5, 1000, 0, 0}, {math.MaxInt64, 49, 49, 50},
	} {
		before := answered()
		got := mustRun(t, c, fmt.Sprintf("SELECT key FROM lab.types LIMIT %d OFFSET %d", w.limit, w.offset))
		require.InDelta(t, before+1, answered(), 0)
		require.Equal(t, upTo(w.from, w.to), ids(got.batches), "%v", w)
	}
}

// TestDirectConditionsAreTheEngines compares conditions that are looked at
// directly with those that the engine looks at.
func TestDirectConditionsAreTheEngines(t *testing.T) {
	s, answered := directStack(t)
	c := s.client(t)
	rng := rand.New(rand.NewPCG(1, 2))
	one := func(of ...string) string { return of[rng.IntN(len(of))] }
	condition := func() string {
		op := one("=", "<", "<=", ">", ">=")
		switch rng.IntN(6) {
		case 0:
			return one("text", "text_null") + one("=", "<=", ">=") + one("'ascii'", "'grüße'", "''", "'a'", "'zz'")
		case 1:
			return fmt.Sprintf("key BETWEEN %d AND %d", rng.IntN(40), rng.IntN(60))
		case 2:
			return one("i8", "i16", "i32", "u8", "u16", "u32", "i32_null") + op + one("-40000", "-129", "-32", "-16", "-8", "0", "7", "8", "16", "32", "300", "5000000000")
		case 3:
			return fmt.Sprintf("%d %s key", rng.IntN(50), op)
		}
		return fmt.Sprintf("key %s %d", op, rng.IntN(55)-2)
	}
	rows := int64(0)
	for range 150 {
		var all []string
		for range 1 + rng.IntN(3) {
			all = append(all, condition())
		}
		sql := "SELECT " + one("*", "key", "text_null, key", "tags, pose_null, i8") + " FROM lab.types WHERE " + strings.Join(all, " AND ")
		limit := one("", "", " LIMIT 5", " LIMIT 3 OFFSET 2")
		before := answered()
		got := mustRun(t, c, sql+limit)
		require.InDelta(t, before+1, answered(), 0, sql)
		want := mustRun(t, c, sql+" AND key + 0 >= 0"+limit)
		require.InDelta(t, before+1, answered(), 0, "the comparison is the engine's")
		require.True(t, array.RecordEqual(whole(t, want), whole(t, got)), "%s\nwant %v\ngot  %v", sql+limit, whole(t, want), whole(t, got))
		rows += got.rows()
	}
	require.Greater(t, rows, int64(500))
}

func TestDirectConditionsTakeParameters(t *testing.T) {
	s, answered := directStack(t)
	c := s.client(t)
	for _, w := range []struct {
		sql    string
		types  []arrow.Field
		values string
		want   []int64
		direct float64
	}{
		{"SELECT key FROM lab.types WHERE key = ?", []arrow.Field{{Name: "1", Type: arrow.PrimitiveTypes.Int64}}, `[{"1":7}]`, []int64{7}, 1},
		{"SELECT key FROM lab.types WHERE key < $2 AND text_null >= $1", []arrow.Field{{Name: "1", Type: arrow.BinaryTypes.String}, {Name: "2", Type: arrow.PrimitiveTypes.Int32}}, `[{"1":"a","2":5}]`, []int64{1, 4}, 1},
		{"SELECT key FROM lab.types WHERE key = ?", []arrow.Field{{Name: "1", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, `[{"1":null}]`, nil, 0},
		{"SELECT key FROM lab.types WHERE key = ?", []arrow.Field{{Name: "1", Type: arrow.BinaryTypes.String}}, `[{"1":"7"}]`, []int64{7}, 0},
		{"SELECT key FROM lab.types WHERE i8 < ? AND key < 2", []arrow.Field{{Name: "1", Type: arrow.PrimitiveTypes.Int64}}, `[{"1":7}]`, []int64{0, 1}, 0},
	} {
		before := answered()
		prepared, err := c.Prepare(t.Context(), w.sql)
		require.NoError(t, err)
		prepared.SetParameters(rows(t, arrow.NewSchema(w.types, nil), w.values))
		info, err := prepared.Execute(t.Context())
		require.NoError(t, err, w.sql)
		got, err := fetch(t, t.Context(), c, info)
		require.NoError(t, err, w.sql)
		require.Equal(t, w.want, ids(got.batches), w.sql)
		require.InDelta(t, before+w.direct, answered(), 0, w.sql)
		require.NoError(t, prepared.Close(t.Context()))
	}
}

// A part of a scan is answered directly, too, and a statement whose names the
// engine has to tell apart is not.
func TestWhatElseIsAnsweredDirectly(t *testing.T) {
	s, answered := directStack(t)
	c := s.client(t)
	before := answered()
	mustRun(t, c, "SELECT key, key FROM lab.types")
	mustRun(t, c, "SELECT types FROM lab.types") // the row as a struct
	mustRun(t, c, "DESCRIBE lab.types")
	mustRun(t, c, "EXPLAIN SELECT * FROM lab.types")
	require.InDelta(t, before, answered(), 0)
	_, err := run(t, c, "SELECT nothing FROM lab.types")
	require.ErrorContains(t, err, "nothing")

	one, two := divided(t)
	info, err := one.client(t).Execute(t.Context(), "SELECT id FROM lab.long")
	require.NoError(t, err)
	require.Len(t, info.GetEndpoint(), 4)
	all, err := fetch(t, t.Context(), two.client(t), info)
	require.NoError(t, err)
	require.Equal(t, upTo(0, 120), ids(all.batches))
}
