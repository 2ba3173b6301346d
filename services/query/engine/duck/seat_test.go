// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
)

// steadily runs a steady statement and returns its values.
func steadily(t testing.TB, e *Engine, sql string, pairs ...any) []string {
	t.Helper()
	out, err := trySteadily(t, e, engine.Request{SQL: sql, Tables: tables(pairs...)})
	require.NoError(t, err, sql)
	return out
}

func trySteadily(t testing.TB, e *Engine, req engine.Request) ([]string, error) {
	t.Helper()
	req.Steady = true
	var out collector
	err := e.Execute(t.Context(), req, out.add)
	return out.values, err
}

// slotOf is the only slot of an engine at rest.
func slotOf(t testing.TB, e *Engine) *slot {
	t.Helper()
	s := <-e.free
	e.free <- s
	require.NotNil(t, s)
	return s
}

func ids(t testing.TB, from, to int) *memTable {
	schema := arrow.NewSchema([]arrow.Field{field("id", arrow.PrimitiveTypes.Int64)}, nil)
	return idsOf(t, schema, from, to)
}

func idsOf(t testing.TB, schema *arrow.Schema, from, to int) *memTable {
	var js []string
	for i := from; i < to; i++ {
		js = append(js, fmt.Sprintf(`{"id":%d}`, i))
	}
	return newTable(schema, jsonBatch(t, schema, "["+strings.Join(js, ",")+"]"))
}

func TestAPreparedStatementReadsTheTablesOfEachQuery(t *testing.T) {
	e := newEngine(t, Options{})
	schema := ids(t, 0, 1).schema
	const sql = "SELECT sum(id)::BIGINT, count(*) FROM ns.t WHERE id >= 0"
	require.Equal(t, []string{"3", "3"}, steadily(t, e, sql, "t", idsOf(t, schema, 0, 3)))
	first := slotOf(t, e).seat
	require.Len(t, first.statements, 1)
	require.Equal(t, []string{"33", "3"}, steadily(t, e, sql, "t", idsOf(t, schema, 10, 13)), "the same names, schema and number, and other rows")
	require.Same(t, first, slotOf(t, e).seat, "used again")
	require.Equal(t, []string{"6", "4"}, steadily(t, e, sql, "t", idsOf(t, schema, 0, 4)), "more rows")
	require.NotSame(t, first, slotOf(t, e).seat)
	require.Equal(t, []string{"6", "4"}, steadily(t, e, sql, "t", ids(t, 0, 4)), "an equal schema that is another")

	text := arrow.NewSchema([]arrow.Field{field("id", arrow.BinaryTypes.String)}, nil)
	_, err := trySteadily(t, e, engine.Request{SQL: "SELECT id + 1 FROM ns.t", Tables: tables("t", newTable(text, jsonBatch(t, text, `[{"id":"x"}]`)))})
	require.Error(t, err, "the column is a text now")
	require.Equal(t, []string{"6", "4"}, steadily(t, e, sql, "t", ids(t, 0, 4)), "an error leaves nothing")
}

// What one query may see, the next does not see by it.
func TestASeatShowsNoOtherTables(t *testing.T) {
	e := newEngine(t, Options{})
	a, b := ids(t, 0, 3), ids(t, 5, 6)
	require.Equal(t, []string{"3"}, steadily(t, e, "SELECT count(*) FROM ns.a", "a", a))
	for _, steady := range []bool{true, false} {
		for _, sql := range []string{"SELECT count(*) FROM ns.a", "SELECT count(*) FROM ns.b, ns.a", "SELECT count(*) FROM lake.ns.a", "SELECT (SELECT max(id) FROM ns.a) FROM ns.b"} {
			steadily(t, e, "SELECT count(*) FROM ns.a", "a", a)
			err := e.Execute(t.Context(), engine.Request{SQL: sql, Tables: tables("b", b), Steady: steady}, discard)
			require.True(t, lake.Is(err, lake.Invalid), "%s: %v", sql, err)
			require.ErrorContains(t, err, "does not exist", sql)
			require.NotContains(t, err.Error(), `"ns.`, "no hint at what is not the query's")
		}
	}
	require.Equal(t, []string{"1", "3"}, steadily(t, e, "SELECT (SELECT count(*) FROM ns.b), (SELECT count(*) FROM ns.a)", "a", a, "b", b))
	_, err := trySteadily(t, e, engine.Request{SQL: "SELECT count(*) FROM ns.a", Tables: tables("b", b)})
	require.Error(t, err, "a part of the tables is another set of them")
}

func TestNamesOfASeat(t *testing.T) {
	e := newEngine(t, Options{})
	tab := ids(t, 0, 3)
	lower, upper := engine.Name{Namespace: "ns", Table: "t"}, engine.Name{Namespace: "NS", Table: "T"}
	full := engine.Name{Catalog: "lake", Namespace: "ns", Table: "u"}
	for range 2 {
		for _, c := range []struct {
			sql   string
			names []engine.Name
			want  string
		}{
			{"SELECT count(*) FROM ns.t", []engine.Name{lower}, "3"},
			{"SELECT count(*) FROM NS.T", []engine.Name{upper}, "3"},
			{"SELECT count(*) FROM NS.T, ns.t x", []engine.Name{upper, lower}, "9"},
			{"SELECT count(*) FROM ns.t, lake.ns.u x", []engine.Name{lower, full}, "9"},
			{"SELECT 1", nil, "1"},
		} {
			req := engine.Request{SQL: c.sql, Tables: map[engine.Name]engine.Table{}}
			for _, n := range c.names {
				req.Tables[n] = tab
			}
			got, err := trySteadily(t, e, req)
			require.NoError(t, err, c.sql)
			require.Equal(t, []string{c.want}, got, c.sql)
		}
	}
}

// The clock stands still in a transaction, so a statement that asks it gets a
// transaction of its own.
func TestTheClockGoesOn(t *testing.T) {
	e := newEngine(t, Options{})
	tab := ids(t, 0, 3)
	steadily(t, e, "SELECT count(*) FROM ns.t", "t", tab)
	for range 3 {
		before := time.Now().UnixMicro()
		var out collector
		require.NoError(t, e.Execute(t.Context(), engine.Request{SQL: "SELECT epoch_us(now()) FROM ns.t LIMIT 1", Tables: tables("t", tab)}, out.add))
		var now int64
		_, err := fmt.Sscan(out.values[0], &now)
		require.NoError(t, err)
		require.GreaterOrEqual(t, now, before)
		require.Nil(t, slotOf(t, e).seat, "and leaves none")
		steadily(t, e, "SELECT count(*) FROM ns.t", "t", tab)
	}
}

func TestParametersOfAPreparedStatement(t *testing.T) {
	e := newEngine(t, Options{})
	tab := ids(t, 0, 10)
	for range 2 {
		for value, want := range map[string][]string{`{"a":3}`: {"3", "BIGINT"}, `{"a":7}`: {"7", "BIGINT"}, `{"a":null}`: {"0", `"NULL"`}} {
			schema := arrow.NewSchema([]arrow.Field{field("a", arrow.PrimitiveTypes.Int64)}, nil)
			got, err := trySteadily(t, e, engine.Request{
				SQL: "SELECT count(*) FILTER (WHERE id < $1), max(typeof($1)) FROM ns.t", Tables: tables("t", tab), Params: jsonBatch(t, schema, "["+value+"]"),
			})
			require.NoError(t, err)
			require.Equal(t, want, got, value)
		}
		schema := arrow.NewSchema([]arrow.Field{field("a", arrow.PrimitiveTypes.Float64)}, nil)
		got, err := trySteadily(t, e, engine.Request{
			SQL: "SELECT count(*) FILTER (WHERE id < $1), max(typeof($1)) FROM ns.t", Tables: tables("t", tab), Params: jsonBatch(t, schema, `[{"a":2.5}]`),
		})
		require.NoError(t, err)
		require.Equal(t, []string{"3", "DOUBLE"}, got)
		_, err = trySteadily(t, e, engine.Request{SQL: "SELECT count(*) FROM ns.t WHERE id < $1", Tables: tables("t", tab)})
		require.ErrorContains(t, err, "none is bound")
	}
}

// A statement that is stopped, or whose consumer or table fails, takes the seat with it.
func TestFailuresEndASeat(t *testing.T) {
	e := newEngine(t, Options{})
	tab := ids(t, 0, 3)
	fine := func() {
		t.Helper()
		require.Equal(t, []string{"3"}, steadily(t, e, "SELECT count(*) FROM ns.t", "t", tab))
		require.NotNil(t, slotOf(t, e).seat)
	}
	fine()
	boom := errors.New("boom")
	err := e.Execute(t.Context(), engine.Request{SQL: "SELECT count(*) FROM ns.t", Tables: tables("t", tab), Steady: true}, func(arrow.RecordBatch) error { return boom })
	require.ErrorIs(t, err, boom)
	fine()
	ctx, cancel := context.WithCancel(t.Context())
	tab.onNext = func(ctx context.Context, _ int) error { cancel(); <-ctx.Done(); return ctx.Err() }
	err = e.Execute(ctx, engine.Request{SQL: "SELECT count(*) FROM ns.t", Tables: tables("t", tab), Steady: true}, discard)
	require.ErrorIs(t, err, context.Canceled)
	tab.onNext = nil
	fine()
	tab.onNext = func(context.Context, int) error { return lake.Errorf(lake.Corrupt, "a bad page") }
	_, err = trySteadily(t, e, engine.Request{SQL: "SELECT count(*) FROM ns.t", Tables: tables("t", tab)})
	require.ErrorContains(t, err, "a bad page")
	tab.onNext = nil
	fine()
}

func TestASeatIsBounded(t *testing.T) {
	e := newEngine(t, Options{})
	tab, large := ids(t, 0, 3), numbers(maxSeatedRows+1, 1<<16)
	for i := range 5 * maxSeated {
		require.Equal(t, []string{fmt.Sprint(3 + i)}, steadily(t, e, fmt.Sprintf("SELECT count(*) + %d FROM ns.t", i), "t", tab))
		require.LessOrEqual(t, len(slotOf(t, e).seat.statements), maxSeated)
	}
	long := "SELECT count(*) /*" + strings.Repeat("x", maxSeatedSQL) + "*/ FROM ns.t"
	seated := slotOf(t, e).seat
	steadily(t, e, long, "t", tab)
	require.NotContains(t, seated.statements, statementKey{sql: long})
	steadily(t, e, "SELECT count(*) FROM ns.t", "t", large)
	require.Empty(t, slotOf(t, e).seat.statements, "large ones are not kept")
}

// With the planned schema given, nothing is found out again, and the result is
// the same; one that does not fit is not used.
func TestPlannedSchemas(t *testing.T) {
	e := newEngine(t, Options{})
	tab := episodes(t)
	for _, sql := range []string{
		"SELECT * FROM ns.t", "SELECT id, upper(name) AS n, stamp AS s FROM ns.t ORDER BY id", "SELECT count(*), max(id) FROM ns.t",
		"SELECT a.id, b.name FROM ns.t a LEFT JOIN ns.t b ON a.id = b.id + 1 ORDER BY ALL",
	} {
		req := engine.Request{SQL: sql, Tables: tables("t", tab), Steady: true}
		plan, err := e.Plan(t.Context(), req)
		require.NoError(t, err)
		for _, planned := range []*arrow.Schema{nil, plan.Schema, plan.Schema, arrow.NewSchema(plan.Schema.Fields()[:1], nil), tab.schema, everyOther(plan.Schema)} {
			req.Planned = planned
			require.NoError(t, e.Execute(t.Context(), req, func(b arrow.RecordBatch) error {
				require.True(t, plan.Schema.Equal(b.Schema()), "%s\nwant %s\ngot %s", sql, plan.Schema, b.Schema())
				return nil
			}))
		}
	}
}

// everyOther is a schema of the same names with types that nothing has.
func everyOther(s *arrow.Schema) *arrow.Schema {
	fields := s.Fields()
	for i := range fields {
		fields[i].Type = arrow.ListOf(arrow.FixedWidthTypes.Duration_s)
	}
	return arrow.NewSchema(fields, nil)
}

// However statements follow each other, each gets what it would get alone.
func TestSeatsAgreeWithFreshStatements(t *testing.T) {
	e := newEngine(t, Options{})
	random := rand.New(rand.NewPCG(1, 2))
	schema := ids(t, 0, 1).schema
	pool := []*memTable{idsOf(t, schema, 0, 5), idsOf(t, schema, 3, 8), idsOf(t, schema, 0, 6), ids(t, 0, 5)}
	texts := []string{
		"SELECT sum(id)::BIGINT FROM ns.t", "SELECT id FROM ns.t ORDER BY id", "SELECT * FROM ns.t WHERE id > 3 ORDER BY 1",
		"SELECT count(*), max(u.id) FROM ns.t JOIN ns.u USING (id)", "SELECT 1 // (max(id) - 4) FROM ns.t HAVING error('x') IS NULL", "SELECT nope FROM ns.t", "SELECT 42",
	}
	type asked struct {
		sql  string
		t, u int
	}
	alone := map[asked][]string{}
	failed := map[asked]bool{}
	request := func(a asked) engine.Request {
		return engine.Request{SQL: a.sql, Tables: tables("t", pool[a.t], "u", pool[a.u])}
	}
	for _, sql := range texts {
		for i := range len(pool) * len(pool) {
			a := asked{sql, i / len(pool), i % len(pool)}
			var want collector
			failed[a] = e.Execute(t.Context(), request(a), want.add) != nil
			alone[a] = want.values
		}
	}
	for range 500 {
		a := asked{texts[random.IntN(len(texts))], random.IntN(len(pool)), random.IntN(len(pool))}
		for range 1 + random.IntN(2) {
			got, err := trySteadily(t, e, request(a))
			require.Equal(t, failed[a], err != nil, "%v: %v", a, err)
			require.Equal(t, alone[a], got, "%v", a)
		}
	}
}
