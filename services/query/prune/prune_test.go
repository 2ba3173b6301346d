// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package prune_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake/predicate"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/engine/duck"
	"github.com/lakeplane/lake/services/query/gate"
	"github.com/lakeplane/lake/services/query/prune"
)

// rows is a table of the tests.
type rows struct{ batch arrow.RecordBatch }

func (r rows) Schema() *arrow.Schema { return r.batch.Schema() }
func (r rows) Rows() uint64          { return uint64(r.batch.NumRows()) }
func (r rows) Scan(_ context.Context, o storage.ScanOptions) (storage.Scan, error) {
	o, err := o.Check(r.batch.Schema())
	if err != nil {
		return nil, err
	}
	columns := make([]arrow.Array, len(o.Columns))
	for i, c := range o.Columns {
		columns[i] = r.batch.Column(c)
	}
	return &once{batch: array.NewRecordBatch(storage.Project(r.batch.Schema(), o.Columns), columns, r.batch.NumRows())}, nil
}

// once delivers one batch.
type once struct {
	mu    sync.Mutex
	batch arrow.RecordBatch
}

func (o *once) Next(context.Context) (arrow.RecordBatch, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if b := o.batch; b != nil && b.NumRows() > 0 {
		o.batch = nil
		return b, nil
	}
	return nil, io.EOF
}
func (o *once) Close() error { return nil }

// only returns the rows for which a predicate holds: the least that storage
// might deliver.
func (r rows) only(t *testing.T, p predicate.Predicate) rows {
	t.Helper()
	var parts []arrow.RecordBatch
	for i := range r.batch.NumRows() {
		if predicate.Holds(p, func(c int) any { return value(r.batch.Column(c), int(i)) }) {
			parts = append(parts, r.batch.NewSlice(i, i+1))
		}
	}
	columns := make([]arrow.Array, r.batch.NumCols())
	for c := range columns {
		pieces := make([]arrow.Array, len(parts))
		for i, p := range parts {
			pieces[i] = p.Column(c)
		}
		if len(pieces) == 0 {
			pieces = append(pieces, array.NewSlice(r.batch.Column(c), 0, 0))
		}
		var err error
		columns[c], err = array.Concatenate(pieces, memory.DefaultAllocator)
		require.NoError(t, err)
	}
	return rows{array.NewRecordBatch(r.batch.Schema(), columns, int64(len(parts)))}
}

// value is a value as predicates have it.
func value(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return map[bool]int64{true: 1}[a.Value(i)]
	case *array.Uint64:
		return a.Value(i)
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Float32:
		return float64(a.Value(i))
	case *array.Float64:
		return a.Value(i)
	case *array.String:
		return a.Value(i)
	case *array.Binary:
		return string(a.Value(i))
	case *array.Decimal128:
		return a.Value(i).BigInt()
	case *array.Date32:
		return int64(a.Value(i))
	case *array.Timestamp:
		return int64(a.Value(i))
	}
	panic(fmt.Sprintf("%T", a))
}

var columns = []struct {
	name   string
	typ    arrow.DataType
	values []string // in JSON
	// texts are constants as SQL has them, beside the values themselves.
	texts []string
}{
	{
		"i", arrow.PrimitiveTypes.Int64,
		[]string{"-3", "0", "1", "5", "9007199254740993", "9223372036854775807", "-9223372036854775808"},
		[]string{"1", "5", "-3", "5.5", "4.99", "-2.5", "1e0", "9007199254740992.0::DOUBLE", "9007199254740992", "9.007199254740993e15", "'5'", "100000000000000000000", "9223372036854775807", "5.0::FLOAT"},
	},
	{"j", arrow.PrimitiveTypes.Int32, []string{"-3", "0", "1", "5", "16777217"}, []string{"1", "16777216.0", "1.6777216e7", "'-3'", "0.5", "2147483648"}},
	{"u", arrow.PrimitiveTypes.Uint64, []string{"0", "5", "18446744073709551615"}, []string{"5", "-1", "18446744073709551615", "1.8446744073709552e19", "4.5"}},
	{"f", arrow.PrimitiveTypes.Float32, []string{"0.1", "-0.0", "0", "1.5", "16777216", "1e-45"}, []string{"0.1", "0.1::DOUBLE", "0", "-0.0", "1.5", "16777217", "1e-50", "1e38", "3", "0.10000000149011612"}},
	{"g", arrow.PrimitiveTypes.Float64, []string{"0.1", "-0.0", "0", "1.5", "9007199254740992", "1e300", "5e-324", "0.30000000000000004"}, []string{"0.1", "0.3", "9007199254740993", "0", "1e300", "1e-320", "0.1::FLOAT"}},
	{"s", arrow.BinaryTypes.String, []string{`""`, `"a"`, `"ab"`, `"b"`, `"é"`, `"zz"`, `"5"`}, []string{"'a'", "''", "'ab'", "'é'", "'zzz'", "'A'"}},
	{"y", arrow.BinaryTypes.Binary, []string{`""`, `"YQ=="`, `"Yg=="`, `"/w=="`}, []string{`'a'`, `'b'::BLOB`, `'\xFF'::BLOB`, `''`}},
	{"d", &arrow.Decimal128Type{Precision: 10, Scale: 2}, []string{`"-1.50"`, `"0.00"`, `"1.50"`, `"1.51"`, `"99999999.99"`}, []string{"1.5", "1.505", "1", "1.5e0", "0.1::FLOAT", "99999999.99", "1e10", "1.51::DOUBLE", "123456789012345678901234567890.5"}},
	{"p", arrow.FixedWidthTypes.Boolean, []string{"true", "false"}, []string{"true", "false"}},
	{
		"day", arrow.FixedWidthTypes.Date32,
		[]string{`"2020-01-01"`, `"2020-01-02"`, `"1969-12-31"`, `"2024-02-29"`},
		[]string{"'2020-01-01'", "DATE '2020-01-02'", "TIMESTAMP '2020-01-01 12:00:00'", "'2020-01-01 23:59:59'", "'2020-01-01T00:00:00Z'", "TIMESTAMPTZ '2020-01-01 00:00:00+05'", "'1969-12-31'"},
	},
	{
		"ts", &arrow.TimestampType{Unit: arrow.Microsecond},
		[]string{`"2020-01-01 00:00:00"`, `"2020-01-01 00:00:00.000001"`, `"2020-01-01 12:30:00.5"`, `"1969-12-31 23:59:59.999999"`},
		[]string{"'2020-01-01'", "TIMESTAMP '2020-01-01 00:00:00.000001'", "'2020-01-01 00:00:00.0000015'", "DATE '2020-01-01'", "'2020-01-01T12:30:00.5Z'", "TIMESTAMPTZ '2020-01-01 05:00:00+05'", "'2020-01-01 05:00:00+05'", "'1969-12-31 23:59:59.999999'"},
	},
	{
		"sec", &arrow.TimestampType{Unit: arrow.Second},
		[]string{`"2020-01-01 00:00:00"`, `"2020-01-01 00:00:01"`, `"1969-12-31 23:59:59"`},
		[]string{"'2020-01-01 00:00:00.6'", "TIMESTAMP '2020-01-01 00:00:00.4'", "'2020-01-01 00:00:01'", "'1969-12-31 23:59:59.5'", "TIMESTAMP_S '2020-01-01 00:00:00.6'"},
	},
	{
		"ns", &arrow.TimestampType{Unit: arrow.Nanosecond},
		[]string{`"2020-01-01 00:00:00"`, `"2020-01-01 00:00:00.000001500"`, `"2020-01-01 00:00:00.000001"`, `"1969-12-31 23:59:59.999999500"`},
		[]string{"TIMESTAMP '2020-01-01 00:00:00.000001'", "'2020-01-01 00:00:00.0000015'", "TIMESTAMP_NS '2020-01-01 00:00:00.000001500'", "DATE '2020-01-01'", "TIMESTAMP '1969-12-31 23:59:59.999999'", "'2020-01-01'"},
	},
	{
		"tz", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
		[]string{`"2020-01-01 00:00:00Z"`, `"2020-01-01 05:00:00Z"`, `"2020-01-02 00:00:00Z"`},
		[]string{"'2020-01-01'", "TIMESTAMPTZ '2020-01-01 05:00:00+05'", "'2020-01-01T05:00:00Z'", "TIMESTAMP '2020-01-01 00:00:00'", "DATE '2020-01-02'"},
	},
}

// table is one of random rows.
func table(t *testing.T, r *rand.Rand, n int) rows {
	t.Helper()
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.name, Type: c.typ, Nullable: true}
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	for range n {
		var row []string
		for _, c := range columns {
			if v := r.IntN(len(c.values) + 1); v < len(c.values) {
				row = append(row, fmt.Sprintf("%q:%s", c.name, c.values[v]))
			}
		}
		require.NoError(t, b.UnmarshalJSON([]byte("{"+strings.Join(row, ",")+"}")))
	}
	return rows{b.NewRecordBatch()}
}

type asker struct {
	t      *testing.T
	e      *duck.Engine
	g      *gate.Gate
	tables map[string]rows
}

func newAsker(t *testing.T, tables map[string]rows) *asker {
	t.Helper()
	e, err := duck.New(duck.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return &asker{t, e, gate.New(e, gate.DefaultLimits()), tables}
}

// ask returns the rows of a statement, sorted.
func (a *asker) ask(sql string, tables map[string]rows, params arrow.RecordBatch) ([]string, error) {
	parsed, err := a.g.Check(a.t.Context(), sql)
	if err != nil {
		return nil, err
	}
	req := sqlengine.Request{SQL: sql, Tables: map[sqlengine.Name]sqlengine.Table{}, Params: params}
	for _, r := range parsed.References {
		if table, ok := tables[strings.ToLower(r.Table)]; ok {
			req.Tables[sqlengine.Name{Catalog: r.Catalog, Namespace: r.Schema, Table: r.Table}] = table
		}
	}
	var out []string
	err = a.e.Execute(a.t.Context(), req, func(batch arrow.RecordBatch) error {
		for i := range int(batch.NumRows()) {
			row := ""
			for c := range int(batch.NumCols()) {
				row += batch.Column(c).ValueStr(i) + "|"
			}
			out = append(out, row)
		}
		return nil
	})
	slices.Sort(out)
	return out, err
}

// predicates are those of the tables that are not wanted whole, by name.
func (a *asker) predicates(sql string, params arrow.RecordBatch) map[string]predicate.Predicate {
	parsed, err := a.g.Check(a.t.Context(), sql)
	require.NoError(a.t, err, sql)
	names := []string{}
	found := parsed.Filters.Predicates(func(r prune.Ref) (prune.Table, bool) {
		name := strings.ToLower(r.Table)
		table, ok := a.tables[name]
		if !ok {
			return prune.Table{}, false
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		return prune.Table{ID: slices.Index(names, name), Schema: table.Schema()}, true
	}, params)
	out := map[string]predicate.Predicate{}
	for id, p := range found {
		out[names[id]] = p
	}
	return out
}

// same asks over all rows and over no more than the statement is said to want,
// and reports whether that was less. A statement that fails over all rows may
// do what it likes.
func (a *asker) same(sql string, params arrow.RecordBatch) (less bool) {
	a.t.Helper()
	all, err := a.ask(sql, a.tables, params)
	if err != nil {
		return false
	}
	fewer := map[string]rows{}
	for name, table := range a.tables {
		fewer[name] = table
	}
	found := a.predicates(sql, params)
	for name, p := range found {
		fewer[name] = a.tables[name].only(a.t, p)
		less = less || fewer[name].Rows() < a.tables[name].Rows()
	}
	got, err := a.ask(sql, fewer, params)
	require.NoError(a.t, err, sql)
	require.Equal(a.t, all, got, "%s\n%s", sql, describe(found))
	return less
}

func describe(found map[string]predicate.Predicate) string {
	text := ""
	for name, p := range found {
		text += fmt.Sprintf("%s: %#v\n", name, p)
	}
	return text
}

func some(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

var comparisons = []string{"=", "<>", "<", "<=", ">", ">="}

// condition is a random one over a column of either table.
func condition(r *rand.Rand, depth int, sides []string) string {
	c := columns[r.IntN(len(columns))]
	name := some(r, sides) + c.name
	constant := func() string { return some(r, c.texts) }
	switch r.IntN(11 + depth*2) {
	case 0:
		return name + " IS NULL"
	case 1:
		return name + " IS NOT NULL"
	case 2:
		return fmt.Sprintf("%s BETWEEN %s AND %s", name, constant(), constant())
	case 3:
		return fmt.Sprintf("%s IN (%s, %s, NULL)", name, constant(), constant())
	case 4:
		return fmt.Sprintf("%s %s %s", constant(), some(r, comparisons), name)
	case 5:
		return some(r, []string{"", "NOT "}) + some(r, sides) + "p"
	case 6:
		return some(r, sides) + some(r, []string{"s LIKE 'a%'", "s LIKE '_b'", "starts_with(s, 'a')", "s LIKE 'ab'", "s NOT LIKE 'a%'"})
	case 11, 13:
		return "(" + condition(r, depth-1, sides) + " OR " + condition(r, depth-1, sides) + ")"
	case 12, 14:
		return "(" + condition(r, depth-1, sides) + " AND " + condition(r, depth-1, sides) + ")"
	}
	return fmt.Sprintf("%s %s %s", name, some(r, comparisons), constant())
}

// statements are shapes with %s for conditions on the sides they name.
var statements = []struct {
	sql   string
	sides []string
}{
	{"SELECT * FROM ns.a WHERE %s", []string{"", "a."}},
	{"SELECT x.* FROM lake.ns.a AS x WHERE %s AND %s", []string{"", "x."}},
	{"SELECT a.i, b.j FROM ns.a JOIN ns.b ON a.j = b.j AND %s WHERE %s", []string{"a.", "b."}},
	{"SELECT a.i, b.j FROM ns.a, ns.b WHERE a.j = b.j AND %s AND %s", []string{"a.", "b."}},
	{"SELECT a.i, b.j FROM ns.a LEFT JOIN ns.b ON a.j = b.j AND %s WHERE %s", []string{"a.", "b."}},
	{"SELECT a.i, b.j FROM ns.a RIGHT JOIN ns.b ON a.j = b.j WHERE %s AND %s", []string{"a.", "b."}},
	{"SELECT a.i, b.j FROM ns.a FULL JOIN ns.b ON a.j = b.j WHERE %s AND %s", []string{"a.", "b."}},
	{"SELECT j, a.i FROM ns.a LEFT JOIN ns.b USING (j) WHERE %s AND %s", []string{"a.", "b."}},
	{"SELECT a.i FROM ns.a SEMI JOIN ns.b ON a.j = b.j WHERE %s", []string{"a."}},
	{"SELECT a.i FROM ns.a ANTI JOIN ns.b ON a.j = b.j AND %s WHERE %s", []string{"a."}},
	{"SELECT count(*), sum(j) FROM ns.a WHERE %s GROUP BY s HAVING count(*) > 0", []string{"", "a."}},
	{"WITH c AS (SELECT * FROM ns.a WHERE %s) SELECT c.i, d.i FROM c JOIN c d ON c.j = d.j WHERE %s", []string{"c."}},
	{"SELECT i FROM ns.a WHERE %s UNION ALL SELECT i FROM ns.A WHERE %s", []string{"", "a."}},
	{"SELECT i FROM ns.b WHERE EXISTS (SELECT 1 FROM ns.a WHERE a.j = b.j AND %s)", []string{"a."}},
	{"SELECT i FROM ns.b WHERE j NOT IN (SELECT a.j FROM ns.a WHERE a.j IS NOT NULL AND %s) AND %s", []string{"a."}},
	{"SELECT (SELECT max(a.i) FROM ns.a WHERE %s), i FROM ns.b WHERE %s", []string{""}},
	{"SELECT x.i, y.i FROM ns.a x JOIN ns.a y ON x.j = y.j WHERE %s AND %s", []string{"x.", "y."}},
	{"SELECT i, row_number() OVER (ORDER BY i, j, s) FROM ns.a WHERE %s QUALIFY row_number() OVER (ORDER BY i, j, s) < 5", []string{""}},
	{"SELECT sum(j) FILTER (WHERE %s) FROM ns.a", []string{""}},
	{"SELECT CASE WHEN %s THEN 1 ELSE 2 END FROM ns.a", []string{""}},
	{"SELECT i FROM ns.a WHERE NOT (%s)", []string{""}},
	{"SELECT -j AS i FROM ns.a WHERE %s", []string{""}},
	{"SELECT * FROM (SELECT * FROM ns.a WHERE %s) WHERE %s", []string{""}},
	{"SELECT x.i, u.v FROM ns.a x, unnest([x.j, 1]) AS u(v) WHERE %s", []string{"x."}},
	{"SELECT a.i, b.i FROM ns.a ASOF JOIN ns.b ON a.j >= b.j WHERE %s", []string{"a.", "b."}},
	{"SELECT a.i, b.i FROM ns.a POSITIONAL JOIN ns.b WHERE %s", []string{"a.", "b."}},
	{"SELECT ns.a.i FROM ns.a WHERE %s", []string{"ns.a.", "a."}},
	{"SELECT r.i FROM ns.a AS r(j, i) WHERE %s", []string{"r.", ""}},
}

var statementsAsked = flag.Int("statements", 250, "how many random statements are asked of each pair of tables")

// TestNoRowIsLost: a statement answers the same over the rows that it is said to
// want as over all.
func TestNoRowIsLost(t *testing.T) {
	rounds := *statementsAsked
	less := 0
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 42))
		a := newAsker(t, map[string]rows{"a": table(t, r, 40), "b": table(t, r, 15)})
		for range rounds {
			s := statements[r.IntN(len(statements))]
			var conditions []any
			for range strings.Count(s.sql, "%s") {
				conditions = append(conditions, condition(r, 2, s.sides))
			}
			if a.same(fmt.Sprintf(s.sql, conditions...), nil) {
				less++
			}
		}
	}
	require.Greater(t, less, 3*rounds/4, "statements that want less than everything")
}

// TestPredicates says, by example, what is understood and what is not.
func TestPredicates(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	a := newAsker(t, map[string]rows{"a": table(t, r, 30), "b": table(t, r, 10)})
	cases := []struct {
		sql  string
		want []string // tables of which less than everything is wanted
	}{
		{"SELECT * FROM ns.a WHERE i = 5", []string{"a"}},
		{"SELECT * FROM ns.a WHERE 5 > i AND length(s) = 1", []string{"a"}},
		{"SELECT * FROM ns.a WHERE i = 5 OR length(s) = 1", nil},
		{"SELECT * FROM ns.a WHERE i + 1 = 5", nil},
		{"SELECT * FROM ns.a", nil},
		{"SELECT * FROM ns.a, ns.b WHERE a.i = 5", []string{"a"}},
		{"SELECT * FROM ns.a, ns.b WHERE i = 5", nil}, // ambiguous, and SQL says so
		{"SELECT * FROM ns.a JOIN ns.b ON a.i = b.i AND b.j = 1 WHERE a.s = 'a'", []string{"a", "b"}},
		{"SELECT * FROM ns.a LEFT JOIN ns.b ON a.i = b.i AND b.j = 1", nil},
		{"SELECT * FROM ns.a LEFT JOIN ns.b ON a.i = b.i WHERE b.j IS NULL", nil},
		{"SELECT * FROM ns.a LEFT JOIN ns.b ON a.i = b.i WHERE b.j = 1", []string{"b"}},
		{"SELECT * FROM ns.a WHERE i = 5 UNION ALL SELECT * FROM ns.a", nil},
		{"SELECT * FROM ns.a WHERE i = 5 UNION ALL SELECT * FROM ns.A WHERE i = 1", []string{"a"}},
		{"SELECT * FROM ns.a TABLESAMPLE 10 ROWS WHERE i = 5", nil},
		{"SELECT * FROM ns.a WHERE i = 5 USING SAMPLE 10 ROWS", nil},
		{"SELECT * FROM ns.a JOIN ns.b ON a.i = b.i AND b.j = 1 USING SAMPLE 10 ROWS", nil},
		{"SELECT * FROM (SELECT * FROM ns.a WHERE i = 5) USING SAMPLE 10 ROWS", []string{"a"}},
		{"SELECT * FROM ns.a AS x(j) WHERE j = 5", nil},
		{"SELECT * FROM ns.a POSITIONAL JOIN ns.b WHERE a.i = 5", nil},
		{"SELECT * FROM ns.a ASOF JOIN ns.b ON a.i >= b.i WHERE b.i = 5", nil},
		{"SELECT * FROM ns.a WHERE s = 5", nil},
		{"SELECT * FROM ns.a WHERE ts > '2020-01-01'", []string{"a"}},
		{"SELECT * FROM ns.a WHERE ts > 'yesterday'", nil},
		{"SELECT * FROM ns.a WHERE s COLLATE NOCASE = 'a'", nil},
		{"SELECT * FROM ns.a WHERE i IN (SELECT j FROM ns.b WHERE p)", []string{"b"}},
	}
	for _, c := range cases {
		t.Run(c.sql, func(t *testing.T) {
			var got []string
			for name := range a.predicates(c.sql, nil) {
				got = append(got, name)
			}
			slices.Sort(got)
			require.Equal(t, c.want, got)
			if !strings.Contains(c.sql, "SAMPLE") {
				a.same(c.sql, nil)
			}
		})
	}
}

// TestParameters: placeholders are as good as constants.
func TestParameters(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	a := newAsker(t, map[string]rows{"a": table(t, r, 60)})
	types := map[string]arrow.DataType{"f": arrow.PrimitiveTypes.Float64, "v": arrow.PrimitiveTypes.Float32}
	less := 0
	for _, c := range columns {
		for _, v := range c.values {
			for _, o := range comparisons {
				for _, dt := range []arrow.DataType{c.typ, types["f"], types["v"], arrow.BinaryTypes.String} {
					if r.IntN(4) > 0 {
						continue
					}
					params, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "1", Type: dt, Nullable: true}}, nil), strings.NewReader(`[{"1":`+v+`}]`))
					if err != nil {
						continue // no such value
					}
					if a.same(fmt.Sprintf("SELECT * FROM ns.a WHERE %s %s ?", c.name, o), params) {
						less++
					}
				}
			}
		}
	}
	require.Greater(t, less, 50)
}

// FuzzRead: no tree makes it panic.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"type":"SELECT_NODE","from_table":{"type":"BASE_TABLE","schema_name":"ns","table_name":"a","column_name_alias":[],"sample":null,"at_clause":null},"where_clause":{"class":"COMPARISON","type":"COMPARE_EQUAL","left":{"class":"COLUMN_REF","column_names":["x"]},"right":{"class":"CONSTANT","value":{"type":{"id":"INTEGER"},"is_null":false,"value":5}}}}`))
	f.Add([]byte(`{"type":"SELECT_NODE","from_table":{"type":"JOIN","left":[],"using_columns":[1]},"where_clause":{"class":"OPERATOR","type":"COMPARE_IN","children":[{"class":"COLUMN_REF","column_names":[1,2]},7]}}`))
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil)
	f.Fuzz(func(_ *testing.T, raw []byte) {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var tree map[string]any
		if dec.Decode(&tree) == nil {
			prune.Read(tree).Predicates(func(prune.Ref) (prune.Table, bool) { return prune.Table{Schema: schema}, true }, nil)
		}
	})
}
