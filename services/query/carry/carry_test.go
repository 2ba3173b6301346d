// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package carry_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/carry"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/engine/duck"
)

var engine = sync.OnceValue(func() carry.Engine {
	e, err := duck.New(duck.Options{Slots: 1, Threads: 1})
	if err != nil {
		panic(err)
	}
	return carry.Engine{Engine: e}
})

// memTable is a table of one batch.
type memTable struct{ rec arrow.RecordBatch }

func (t memTable) Schema() *arrow.Schema { return t.rec.Schema() }
func (t memTable) Rows() uint64          { return uint64(t.rec.NumRows()) }

func (t memTable) Scan(_ context.Context, opts storage.ScanOptions) (storage.Scan, error) {
	columns := make([]arrow.Array, len(opts.Columns))
	for i, c := range opts.Columns {
		columns[i] = t.rec.Column(c)
	}
	return &oneBatch{rec: array.NewRecordBatch(storage.Project(t.rec.Schema(), opts.Columns), columns, t.rec.NumRows())}, nil
}

type oneBatch struct {
	sync.Mutex
	rec arrow.RecordBatch
}

func (s *oneBatch) Next(context.Context) (arrow.RecordBatch, error) {
	s.Lock()
	defer s.Unlock()
	rec := s.rec
	if s.rec = nil; rec == nil {
		return nil, io.EOF
	}
	return rec, nil
}

func (s *oneBatch) Close() error { return nil }

func field(name string, dt arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: dt, Nullable: true}
}

var wide = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "half", Type: arrow.FixedWidthTypes.Float16, Nullable: true, Metadata: arrow.NewMetadata([]string{"unit"}, []string{"N"})},
	{Name: "took", Type: arrow.FixedWidthTypes.Duration_ms},
	field("nanos", arrow.FixedWidthTypes.Duration_ns),
	field("big", &arrow.Decimal256Type{Precision: 60, Scale: 2}),
	field("small", &arrow.Decimal256Type{Precision: 20, Scale: 3}),
	field("vec", arrow.FixedSizeListOf(2, arrow.FixedWidthTypes.Float16)),
	field("halves", arrow.ListOf(arrow.FixedWidthTypes.Float16)),
	field("deep", arrow.StructOf(field("d", arrow.FixedWidthTypes.Duration_s), field("l", arrow.ListOf(arrow.StructOf(field("h", arrow.FixedWidthTypes.Float16)))))),
	field("odd", &arrow.Decimal128Type{Precision: 5, Scale: -2}),
}, nil)

const values = `[
	{"id":1,"half":0.5,"took":1500,"nanos":7,"big":"12.50","small":"1.250","vec":[1,2],"halves":[0.25,null],"deep":{"d":3,"l":[{"h":1.5}]},"odd":"100"},
	{"id":2,"half":null,"took":-1,"nanos":null,"big":null,"small":null,"vec":null,"halves":null,"deep":null,"odd":null},
	{"id":3,"half":-2,"took":0,"nanos":1,"big":"-0.01","small":"-7.000","vec":[3,4],"halves":[],"deep":{"d":null,"l":null},"odd":"200"}]`

func rows(t *testing.T, schema *arrow.Schema, json string) memTable {
	t.Helper()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(json))
	require.NoError(t, err)
	return memTable{rec}
}

func request(sql string, t memTable) sqlengine.Request {
	return sqlengine.Request{SQL: sql, Tables: map[sqlengine.Name]sqlengine.Table{{Namespace: "ns", Table: "t"}: t}}
}

// ask plans and runs a statement, and checks that both have one schema.
func ask(t *testing.T, sql string, tab memTable) (*arrow.Schema, []arrow.RecordBatch, error) {
	t.Helper()
	plan, err := engine().Plan(t.Context(), request(sql, tab))
	if err != nil {
		return nil, nil, err
	}
	var out []arrow.RecordBatch
	err = engine().Execute(t.Context(), request(sql, tab), func(b arrow.RecordBatch) error {
		require.True(t, plan.Schema.Equal(b.Schema()), "planned %s\nsent %s", plan.Schema, b.Schema())
		b.Retain()
		out = append(out, b)
		return nil
	})
	return plan.Schema, out, err
}

func TestPlainReferencesKeepTheirStoredTypes(t *testing.T) {
	tab := rows(t, wide, values)
	for _, sql := range []string{
		"SELECT * EXCLUDE (odd) FROM ns.t", "SELECT * EXCLUDE (odd) FROM ns.t ORDER BY id",
		"SELECT * EXCLUDE (odd) FROM ns.t WHERE half IS NULL OR half < 1 OR took > 0 ORDER BY id",
		"SELECT * EXCLUDE (odd) FROM (FROM ns.t WHERE id > 1 UNION ALL FROM ns.t WHERE id <= 1) ORDER BY id",
	} {
		schema, got, err := ask(t, sql, tab)
		require.NoError(t, err, sql)
		require.Len(t, got, 1)
		for i := range schema.NumFields() {
			require.True(t, wide.Field(i).Equal(schema.Field(i)) || strings.Contains(sql, "UNION"), "%s: %s", sql, schema.Field(i))
			require.True(t, arrow.TypeEqual(wide.Field(i).Type, schema.Field(i).Type, arrow.CheckMetadata()), "%s: %s", sql, schema.Field(i))
			require.True(t, array.Equal(tab.rec.Column(i), got[0].Column(i)), "%s: column %s\nwant %s\ngot  %s", sql, wide.Field(i).Name, tab.rec.Column(i), got[0].Column(i))
		}
	}
}

func TestCarriedColumnsAreComputedWith(t *testing.T) {
	tab := rows(t, wide, values)
	for sql, want := range map[string]string{
		"SELECT sum(half)::DOUBLE AS v FROM ns.t":                              `[{"v":-1.5}]`,
		"SELECT max(took) AS v FROM ns.t":                                      `[{"v":1500}]`,
		"SELECT to_milliseconds(took)::VARCHAR AS v FROM ns.t WHERE id = 1":    `[{"v":"00:00:01.5"}]`,
		"SELECT max(big)::VARCHAR AS v FROM ns.t":                              `[{"v":"12.50"}]`,
		"SELECT (small * 2)::VARCHAR AS v FROM ns.t WHERE id = 3":              `[{"v":"-14.000"}]`,
		"SELECT vec[2]::DOUBLE AS v FROM ns.t WHERE id = 3":                    `[{"v":4}]`,
		"SELECT deep.l[1].h::DOUBLE AS v, deep.d AS d FROM ns.t WHERE id = 1":  `[{"d":3,"v":1.5}]`,
		"SELECT count(*) AS v FROM ns.t":                                       `[{"v":3}]`,
		"SELECT count(id) AS v FROM ns.t a JOIN ns.t b USING (id, took, half)": `[{"v":2}]`,
	} {
		_, got, err := ask(t, sql, tab)
		require.NoError(t, err, sql)
		js, err := got[0].MarshalJSON()
		require.NoError(t, err)
		require.JSONEq(t, want, string(js), sql)
	}
}

func TestWhatSQLCannotReadIsRefusedByName(t *testing.T) {
	tab := rows(t, wide, values)
	for _, sql := range []string{"SELECT * FROM ns.t", "SELECT odd FROM ns.t", "SELECT odd AS renamed FROM ns.t", "SELECT count(odd) FROM ns.t", "SELECT id FROM ns.t WHERE odd IS NULL"} {
		_, _, err := ask(t, sql, tab)
		require.Equal(t, lake.Unsupported, lake.KindOf(err), "%s: %v", sql, err)
		require.ErrorContains(t, err, "decimal(5, -2), which SQL cannot read: name the other columns, or write SELECT * EXCLUDE")
	}
	large := arrow.NewSchema([]arrow.Field{field("id", arrow.PrimitiveTypes.Int64), field("big", &arrow.Decimal256Type{Precision: 60, Scale: 2})}, nil)
	over := rows(t, large, `[{"id":1,"big":"12345678901234567890123456789012345678901.25"}]`)
	_, _, err := ask(t, "SELECT big FROM ns.t", over)
	require.Equal(t, lake.Unsupported, lake.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "column t.big: the value 12345678901234567890123456789012345678901.25 has more digits than SQL's DECIMAL(38,2) holds")
	_, got, err := ask(t, "SELECT id FROM ns.t", over)
	require.NoError(t, err)
	require.EqualValues(t, 1, got[0].NumRows())
}

// Slices have offsets, which nested arrays apply to their children in
// different ways.
func TestSlicedBatchesAreCarried(t *testing.T) {
	tab := rows(t, wide, values)
	sliced := memTable{tab.rec.NewSlice(2, 3)}
	_, got, err := ask(t, "SELECT * EXCLUDE (odd) FROM ns.t", sliced)
	require.NoError(t, err)
	for i := range int(got[0].NumCols()) {
		require.True(t, array.Equal(sliced.rec.Column(i), got[0].Column(i)), "column %s\nwant %s\ngot  %s", wide.Field(i).Name, sliced.rec.Column(i), got[0].Column(i))
	}
}
