// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/services/query/direct"
	"github.com/lakeplane/lake/services/query/fold"
	"github.com/lakeplane/lake/services/query/gate"
)

// TestWhichSummariesAreMadeDirectly: those of columns and of simple functions of
// them, and nothing else.
func TestWhichSummariesAreMadeDirectly(t *testing.T) {
	g := gate.New(sharedSQL, gate.DefaultLimits())
	const all = math.MaxInt64
	column := func(name string) direct.Column { return direct.Column{Name: name} }
	rows := direct.Column{Func: fold.CountRows, Call: "count_star()"}
	id := []string{"id"}
	for sql, want := range map[string]*direct.Statement{
		"SELECT count(*) FROM lab.t": {Columns: []direct.Column{rows}, Summary: &direct.Summary{}, Limit: all},
		"SELECT COUNT() AS n, Sum(x) FROM lab.t WHERE id < 3 LIMIT 1": {
			Columns: []direct.Column{{Func: fold.CountRows, As: "n", Call: "count_star()"}, {Name: "x", Func: fold.Sum, Call: "sum(x)"}},
			Where:   mustRead(t, g, "SELECT * FROM lab.t WHERE id < 3").Where, Summary: &direct.Summary{}, Limit: 1,
		},
		"SELECT count(7) FILTER (WHERE ok), stddev(\"Y\") FROM lab.t": {Columns: []direct.Column{
			{Func: fold.CountRows, Call: "count(7) FILTER (WHERE ok)", Filter: "ok"}, {Name: "Y", Func: fold.StddevSamp, Call: "stddev(Y)"},
		}, Summary: &direct.Summary{}, Limit: all},
		"SELECT DISTINCT id FROM lab.t":                             {Columns: []direct.Column{column("id")}, Summary: &direct.Summary{Groups: id}, Limit: all},
		"SELECT DISTINCT id FROM lab.t ORDER BY id DESC LIMIT 3":    {Columns: []direct.Column{column("id")}, Summary: &direct.Summary{Groups: id, Order: []direct.Order{{Descending: true}}}, Limit: 3},
		"SELECT id FROM lab.t GROUP BY id":                          {Columns: []direct.Column{column("id")}, Summary: &direct.Summary{Groups: id}, Limit: all},
		"SELECT id FROM lab.t GROUP BY ALL":                         {Columns: []direct.Column{column("id")}, Summary: &direct.Summary{Groups: id}, Limit: all},
		"SELECT count(*), id FROM lab.t GROUP BY ALL ORDER BY ALL":  {Columns: []direct.Column{rows, column("id")}, Summary: &direct.Summary{Groups: id, Order: []direct.Order{{}, {Column: 1}}}, Limit: all},
		"SELECT id AS i, count(*) FROM lab.t GROUP BY 1 ORDER BY 2": {Columns: []direct.Column{{Name: "id", As: "i"}, rows}, Summary: &direct.Summary{Groups: id, Order: []direct.Order{{Column: 1}}}, Limit: all},
		"SELECT id, note, count(*) FROM lab.t GROUP BY note, id ORDER BY count(*) DESC NULLS FIRST, ID, 2 OFFSET 4": {
			Columns: []direct.Column{column("id"), column("note"), rows}, Offset: 4, Limit: all,
			Summary: &direct.Summary{Groups: []string{"note", "id"}, Order: []direct.Order{{Column: 2, Descending: true, NullsFirst: true}, {}, {Column: 1}}},
		},
		"SELECT id AS note, max(x) AS m FROM lab.t GROUP BY id ORDER BY note, M": { // the name that was given
			Columns: []direct.Column{{Name: "id", As: "note"}, {Name: "x", As: "m", Func: fold.Max, Call: "max(x)"}},
			Summary: &direct.Summary{Groups: id, Order: []direct.Order{{}, {Column: 1}}}, Limit: all,
		},
		"SELECT t.id, max(T.\"key\") FILTER (WHERE t.ok) FROM lab.t GROUP BY t.id ORDER BY t.id": {
			Qualifier: "t", Columns: []direct.Column{column("id"), {Name: "key", Func: fold.Max, Call: `max(T."key") FILTER (WHERE t.ok)`, Filter: "ok"}},
			Summary: &direct.Summary{Groups: id, Order: []direct.Order{{}}}, Limit: all,
		},
		"SELECT *, count(*) FROM lab.t GROUP BY ALL":                             nil,
		"SELECT count(*) + 1 FROM lab.t":                                         nil,
		"SELECT count(DISTINCT id) FROM lab.t":                                   nil,
		"SELECT count(NULL) FROM lab.t":                                          nil,
		"SELECT sum(1) FROM lab.t":                                               nil,
		"SELECT sum(x + 1) FROM lab.t":                                           nil,
		"SELECT sum(x)::BIGINT FROM lab.t":                                       nil,
		"SELECT max(x, 3) FROM lab.t":                                            nil,
		"SELECT max(u.x) FROM lab.t":                                             nil,
		"SELECT sum(x ORDER BY id) FROM lab.t":                                   nil,
		"SELECT sum(x) OVER () FROM lab.t":                                       nil,
		"SELECT sum(x) FILTER (WHERE id > 3) FROM lab.t":                         nil,
		"SELECT median(x) FROM lab.t":                                            nil,
		"SELECT upper(note) FROM lab.t":                                          nil,
		"SELECT first(note) FROM lab.t":                                          nil,
		"SELECT id FROM lab.t GROUP BY id HAVING count(*) > 1":                   nil,
		"SELECT id FROM lab.t GROUP BY id QUALIFY true":                          nil,
		"SELECT id % 2 FROM lab.t GROUP BY 1":                                    nil,
		"SELECT count(*) FROM lab.t GROUP BY id % 2":                             nil,
		"SELECT count(*) FROM lab.t GROUP BY 1":                                  nil,
		"SELECT id, count(*) FROM lab.t GROUP BY ROLLUP (id)":                    nil,
		"SELECT id, count(*) FROM lab.t GROUP BY GROUPING SETS ((id), ())":       nil,
		"SELECT id, count(*) FROM lab.t GROUP BY CUBE (id)":                      nil,
		"SELECT DISTINCT ON (id) id, note FROM lab.t":                            nil,
		"SELECT DISTINCT * FROM lab.t":                                           nil,
		"SELECT DISTINCT count(*) FROM lab.t":                                    nil,
		"SELECT id, count(*) FROM lab.t GROUP BY id ORDER BY id + 1":             nil,
		"SELECT id, count(*) FROM lab.t GROUP BY id ORDER BY sum(x)":             nil,
		"SELECT id, count(*) FROM lab.t GROUP BY id ORDER BY note":               nil,
		"SELECT id, count(*) FROM lab.t GROUP BY id ORDER BY id COLLATE NOCASE":  nil,
		"SELECT id AS x, max(x) AS id FROM lab.t GROUP BY ALL ORDER BY t.id":     nil,
		"SELECT note AS n, id AS N FROM lab.t GROUP BY ALL ORDER BY n":           nil,
		"SELECT min(x) AS x, max(x) FROM lab.t ORDER BY max(x)":                  nil,
		"SELECT count(*) FROM lab.t ORDER BY random()":                           nil,
		"SELECT count(*) FROM lab.t USING SAMPLE 3":                              nil,
		"SELECT count(*) FROM lab.t LIMIT 10%":                                   nil,
		"SELECT count(*) FROM lab.t, lab.u":                                      nil,
		"SELECT count(*) FROM range(10)":                                         nil,
		"SELECT count(*) FROM information_schema.tables":                         nil,
		"SELECT id FROM lab.t GROUP BY id UNION SELECT id FROM lab.t GROUP BY 1": nil,
	} {
		require.Equal(t, want, mustRead(t, g, sql), sql)
	}
}

func mustRead(t *testing.T, g *gate.Gate, sql string) *direct.Statement {
	t.Helper()
	parsed, err := g.Check(t.Context(), sql)
	require.NoError(t, err, sql)
	return parsed.Direct
}

// TestSummariesArePlannedAsTheEnginePlansThem: which path answers must not show in
// a schema.
func TestSummariesArePlannedAsTheEnginePlansThem(t *testing.T) {
	g := gate.New(sharedSQL, gate.DefaultLimits())
	for _, sql := range []string{
		"SELECT count(*), count(1), count(key), count(tags), count(bytes_null) FROM lab.t",
		"SELECT sum(i8), sum(i16_null), sum(i32), sum(key), sum(u8), sum(u16), sum(u32), sum(u64), sum(f32), sum(f64_null) FROM lab.t",
		"SELECT avg(i8), mean(key), avg(u64) FILTER (WHERE b), avg(f32), avg(f64) AS a FROM lab.t WHERE key = ?",
		"SELECT min(i8), max(i32), min(key), max(u64), min(f32), max(f64), min(text), max(text_null), min(day), max(us_null), min(utc) FROM lab.t",
		"SELECT stddev(f64), stddev_samp(f32), stddev_pop(key), variance(i8), var_samp(f64_null), var_pop(u32) FROM lab.t",
		"SELECT KEY, text_null AS t, count(*) FROM lab.t GROUP BY text_null, key ORDER BY t",
		"SELECT DISTINCT b, i8_null, u64, day, us, text FROM lab.t",
		"SELECT sum(dec), sum(dec_null) AS d, count(dec) FROM lab.t",
		"SELECT t.text AS x, T.KEY, max(t.key), min(T.\"Key\") FROM lab.t GROUP BY t.text, key",
	} {
		requireSamePlan(t, g, everyType(), sql)
	}
	for _, sql := range []string{
		"SELECT sum(text) FROM lab.t", "SELECT sum(none) FROM lab.t", "SELECT key, count(*) FROM lab.t", "SELECT count(*) FILTER (WHERE key) FROM lab.t",
		"SELECT f64, count(*) FROM lab.t GROUP BY f64", "SELECT tags FROM lab.t GROUP BY tags", "SELECT count(*), count(*) FROM lab.t",
		"SELECT pose.x FROM lab.t pose", "SELECT max(key.b) FROM lab.t AS key", "SELECT max(vec) FROM lab.t", "SELECT max(pose) FROM lab.t", "SELECT count(*) FROM lab.t GROUP BY none",
		"SELECT key AS none, max(t.i8) FROM lab.t GROUP BY none",
	} {
		stmt, err := g.Check(t.Context(), sql)
		require.NoError(t, err, sql)
		require.NotNil(t, stmt.Direct, sql)
		_, ok := stmt.Direct.Plan(everyType(), nil)
		require.False(t, ok, sql)
	}
}

// TestASummaryIsTheEngines compares each with that of the same statement under a
// condition that is always true, which the engine answers.
func TestASummaryIsTheEngines(t *testing.T) {
	s, answered := directStack(t)
	c := s.client(t)
	rng := rand.New(rand.NewPCG(5, 6))
	one := func(of ...string) string { return of[rng.IntN(len(of))] }
	call := func() string {
		arguments := map[string][]string{
			"sum": {"key", "i8", "i32_null", "u8", "u64", "f32", "f64", "f64_null", "dec", "dec_null"}, "count": {"*", "1", "text_null", "pose_null", "key"},
			"min": {"key", "text", "text_null", "f64", "day", "us", "utc_null", "u16"}, "max": {"key", "text_null", "f32_null", "i32_null", "b", "us_null"},
			"avg": {"key", "i32_null", "f32", "f64_null", "u64"}, "stddev": {"key", "f64"}, "var_pop": {"key", "i32_null"},
		}
		f := one("sum", "count", "count", "min", "max", "avg", "stddev", "var_pop")
		return f + "(" + one(arguments[f]...) + ")" + one("", "", "", " FILTER (WHERE b_null)")
	}
	rows := int64(0)
	for n := range 200 {
		keys := map[string]bool{}
		for range rng.IntN(3) {
			keys[one("key", "text_null", "i32_null", "b_null", "b", "day", "us", "u64")] = true
		}
		var columns, order []string
		for k := range keys {
			columns = append(columns, k)
		}
		for i := range 1 + rng.IntN(3) {
			columns = append(columns, fmt.Sprintf("%s AS c%d", call(), i))
		}
		rng.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
		for i := range columns {
			order = append(order, fmt.Sprint(i+1)+one("", " DESC", " NULLS FIRST", " DESC NULLS LAST"))
		}
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		sql := "SELECT " + strings.Join(columns, ", ") + " FROM lab.types WHERE key " + one(">= 0", "< 20", "BETWEEN 7 AND 31", "= 5", "> 100")
		end := " GROUP BY ALL ORDER BY " + strings.Join(order, ", ") + one("", "", " LIMIT 5", " LIMIT 10 OFFSET 3")
		before := answered()
		got := mustRun(t, c, sql+end)
		require.InDelta(t, before+1, answered(), 0, sql)
		want := mustRun(t, c, sql+" AND key + 0 >= 0"+end)
		require.InDelta(t, before+1, answered(), 0, "the comparison is the engine's")
		require.True(t, want.schema.Equal(got.schema), "%s: %s\nand %s", sql, want.schema, got.schema)
		require.True(t, array.RecordApproxEqual(whole(t, want), whole(t, got)), "%d: %s\nwant %v\ngot  %v", n, sql+end, whole(t, want), whole(t, got))
		rows += got.rows()
	}
	require.Greater(t, rows, int64(400))
}

// TestASummaryOfTooMuchIsTheEngines: more groups than are held here are counted
// by the engine, from the beginning.
func TestASummaryOfTooMuchIsTheEngines(t *testing.T) {
	s, answered := directStack(t)
	c := s.client(t)
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	name := create(t, s.catalog(t), "lab.many", schema)
	const each, batches = 10_000, 8
	for i := range batches {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for j := range each {
			b.Field(0).(*array.Int64Builder).Append(int64(i*each+j) * 1_000_003)
		}
		_, err := appendRows(t, c, name, b.NewRecordBatch(), false)
		require.NoError(t, err)
	}
	before := answered()
	got := mustRun(t, c, "SELECT n, count(*) AS c FROM lab.many GROUP BY n")
	require.EqualValues(t, each*batches, got.rows())
	require.InDelta(t, before, answered(), 0)
	got = mustRun(t, c, "SELECT count(*) AS c, sum(n) AS s FROM lab.many")
	require.InDelta(t, before+1, answered(), 0)
	require.EqualValues(t, each*batches, whole(t, got).Column(0).(*array.Int64).Value(0))
}
