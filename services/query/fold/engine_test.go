// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/engine/duck"
	"github.com/lakeplane/lake/services/query/fold"
)

// memTable is a table of batches for the engine.
type memTable struct{ in input }

func (m memTable) Schema() *arrow.Schema { return m.in.schema }

func (m memTable) Rows() (n uint64) {
	for _, b := range m.in.batches {
		n += uint64(b.NumRows())
	}
	return n
}

func (m memTable) Scan(_ context.Context, opts storage.ScanOptions) (storage.Scan, error) {
	return &memScan{m.in, opts.Columns, 0}, nil
}

type memScan struct {
	in      input
	columns []int
	next    int
}

func (s *memScan) Next(context.Context) (arrow.RecordBatch, error) {
	if s.next == len(s.in.batches) {
		return nil, io.EOF
	}
	b := s.in.batches[s.next]
	s.next++
	fields, columns := make([]arrow.Field, len(s.columns)), make([]arrow.Array, len(s.columns))
	for i, c := range s.columns {
		fields[i], columns[i] = b.Schema().Field(c), b.Column(c)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, b.NumRows()), nil
}

func (s *memScan) Close() error { return nil }

func newEngine(t testing.TB) *duck.Engine {
	e, err := duck.New(duck.Options{Slots: 1, Threads: 1, Memory: 512 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

var names = map[fold.Func]string{
	fold.CountRows: "count(*)", fold.Count: "count(%s)", fold.Sum: "sum(%s)", fold.Min: "min(%s)", fold.Max: "max(%s)", fold.Avg: "avg(%s)",
	fold.StddevSamp: "stddev_samp(%s)", fold.StddevPop: "stddev_pop(%s)", fold.VarSamp: "var_samp(%s)", fold.VarPop: "var_pop(%s)",
}

// sql is the statement that a spec answers.
func (in input) sql(spec fold.Spec) string {
	var keys, list []string
	for _, k := range spec.Keys {
		keys = append(keys, in.schema.Field(k).Name)
	}
	for i, k := range keys {
		list = append(list, fmt.Sprintf("%s AS k%d", k, i))
	}
	for i, a := range spec.Aggregates {
		s := names[a.Func]
		if a.Func != fold.CountRows {
			s = fmt.Sprintf(s, in.schema.Field(a.Column).Name)
		}
		if a.Filter >= 0 {
			s += fmt.Sprintf(" FILTER (WHERE %s)", in.schema.Field(a.Filter).Name)
		}
		list = append(list, fmt.Sprintf("%s AS a%d", s, i))
	}
	out := "SELECT " + strings.Join(list, ", ") + " FROM ns.t"
	if len(keys) > 0 {
		out += " GROUP BY " + strings.Join(keys, ", ")
	}
	return out
}

// ask has the engine's answer.
func (in input) ask(e engine.Engine, spec fold.Spec) (out []arrow.RecordBatch, err error) {
	req := engine.Request{SQL: in.sql(spec), Tables: map[engine.Name]engine.Table{{Namespace: "ns", Table: "t"}: memTable{in}}}
	err = e.Execute(context.Background(), req, func(b arrow.RecordBatch) error {
		b.Retain()
		out = append(out, b)
		return nil
	})
	return out, err
}

// everything is every function of a column, with the filter of the input and
// without.
func (in input) everything(column int, keys ...int) fold.Spec {
	spec := fold.Spec{Keys: keys}
	for _, f := range functions {
		if _, ok := f.Type(in.schema.Field(column).Type); ok {
			spec.Aggregates = append(spec.Aggregates, fold.Aggregate{Func: f, Column: column, Filter: -1},
				fold.Aggregate{Func: f, Column: column, Filter: in.schema.NumFields() - 1})
		}
	}
	return spec
}

// requireAsEngine wants the engine's values, and its types.
func requireAsEngine(t *testing.T, e engine.Engine, in input, spec fold.Spec) {
	t.Helper()
	want, err := in.ask(e, spec)
	require.NoError(t, err, in.sql(spec))
	got, err := in.fold(t, spec, 1)
	require.NoError(t, err, in.sql(spec))
	for _, b := range want {
		for i, f := range b.Schema().Fields() {
			require.True(t, engine.SameType(f.Type, got.Schema().Field(i).Type), "%s: want %s, got %s", in.sql(spec), f.Type, got.Schema().Field(i).Type)
		}
	}
	wanted, gotten := rows(t, len(spec.Keys), want...), rows(t, len(spec.Keys), got)
	requireSame(t, wanted, gotten, in.sql(spec))
	for key, row := range wanted {
		for i, a := range spec.Aggregates {
			i += len(spec.Keys)
			if want, ok := row[i].(float64); ok && isExact(a, in.schema) && !math.IsNaN(want) {
				if got := gotten[key][i].(float64); math.Float64bits(want) != math.Float64bits(got) {
					require.Fail(t, "other bits", "%s of group %s: want %b, got %b", in.sql(spec), key, want, got)
				}
			}
		}
	}
}

// isExact reports whether a float is the same to the last bit, whatever the
// order of the rows.
func isExact(a fold.Aggregate, schema *arrow.Schema) bool {
	return a.Func == fold.Min || a.Func == fold.Max || a.Func == fold.Avg && arrow.IsInteger(schema.Field(a.Column).Type.ID())
}

// TestSameAsTheEngine asks for everything of every type.
func TestSameAsTheEngine(t *testing.T) {
	e := newEngine(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, dt := range types {
		dts := []arrow.DataType{dt, arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8}
		for _, nulls := range []float64{0, 0.3, 1} {
			for _, sizes := range [][]int{{}, {0}, {1}, {2}, {300}, {4200, 0, 90}} {
				for _, wild := range []bool{false, true} {
					name := fmt.Sprintf("%s/%v/%v/%v", dt, nulls, sizes, wild)
					t.Run(name, func(t *testing.T) {
						in := randomInput(t, r, dts, sizes, wild, nulls)
						requireAsEngine(t, e, in, in.everything(0))
						requireAsEngine(t, e, in, in.everything(0, 1))
						requireAsEngine(t, e, in, in.everything(0, 2, 1))
						if fold.Groups(dt) {
							requireAsEngine(t, e, in, in.everything(2, 0))
							requireAsEngine(t, e, in, in.everything(1, 1, 0))
						}
					})
				}
			}
		}
	}
}

// one is a column of values, in one batch, with a filter that is true.
func one(t require.TestingT, dt arrow.DataType, values ...any) input {
	r := rand.New(rand.NewPCG(uint64(len(values)), 1))
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: dt, Nullable: true}, {Name: "ok", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}}, nil)
	yes := make([]any, len(values))
	for i := range yes {
		yes[i] = true
	}
	columns := []arrow.Array{column(t, r, dt, values), column(t, r, arrow.FixedWidthTypes.Boolean, yes)}
	return input{schema, []arrow.RecordBatch{array.NewRecordBatch(schema, columns, int64(len(values)))}}
}

// TestEdges holds values against the engine that need care.
func TestEdges(t *testing.T) {
	e := newEngine(t)
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	i64, u64, f64 := arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float64
	for _, c := range []struct {
		dt     arrow.DataType
		values []any
	}{
		{i64, []any{most, most, most}},
		{i64, []any{least, least, least, int64(-1)}},
		{i64, []any{least, most, int64(7)}},
		{i64, []any{most - 1, int64(2), int64(3)}},
		{i64, []any{int64(1) << 53, int64(1), int64(1)}},
		{i64, []any{int64(1)<<53 + 1}},
		{i64, []any{-int64(1)<<53 - 1, nil}},
		{u64, []any{uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(1)}},
		{u64, []any{uint64(math.MaxUint64)}},
		{u64, []any{uint64(1) << 63, uint64(1) << 63}},
		{arrow.PrimitiveTypes.Uint32, []any{uint64(math.MaxUint32), uint64(math.MaxUint32), uint64(0)}},
		{arrow.PrimitiveTypes.Int8, []any{int64(-128), int64(-128), int64(127)}},
		{f64, []any{0.1, 0.1, 0.1}},
		{f64, []any{1e6 + 0.1, 1e6 + 0.2, 1e6 + 0.3}},
		{f64, []any{5e-324, 5e-324}},
		{f64, []any{0.0, math.Copysign(0, -1)}},
		{f64, []any{math.Copysign(0, -1), 0.0}},
		{arrow.BinaryTypes.String, []any{"", "\x00", "a", "a\x00", "\x7f", "é"}},
		{arrow.BinaryTypes.String, []any{"a\x00", "a"}},
		{arrow.BinaryTypes.String, []any{"abcdefghijklmnop", "abcdefghijklmnop\x00", "abcdefghijklmnopq", nil}},
	} {
		in := one(t, c.dt, c.values...)
		requireAsEngine(t, e, in, in.everything(0))
	}
}

// TestMeansAreRoundedAsTheEngineDoes, twice, for quotients that are close to the
// middle between two numbers.
func TestMeansAreRoundedAsTheEngineDoes(t *testing.T) {
	e := newEngine(t)
	r := rand.New(rand.NewPCG(3, 4))
	dts := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int16}
	rows := 60_000
	columns := make([][]any, len(dts)+1)
	for i := range rows {
		columns[0] = append(columns[0], int64(i/(1+i%7)))
		columns[1] = append(columns[1], int64(r.Uint64())>>r.IntN(60))
		columns[2] = append(columns[2], r.Uint64()>>r.IntN(60))
		columns[3] = append(columns[3], int64(int32(r.Uint32())))
		columns[4] = append(columns[4], int64(int16(r.Uint32())))
		columns[5] = append(columns[5], r.IntN(3) == 0)
	}
	in := randomInput(t, r, dts, nil, false, 0)
	arrays := make([]arrow.Array, len(columns))
	for i, c := range columns {
		arrays[i] = column(t, r, in.schema.Field(i).Type, c)
	}
	in.batches = append(in.batches, array.NewRecordBatch(in.schema, arrays, int64(rows)))
	for c := range dts {
		requireAsEngine(t, e, in, fold.Spec{Keys: []int{0}, Aggregates: []fold.Aggregate{{Func: fold.Avg, Column: c, Filter: -1}}})
		requireAsEngine(t, e, in, fold.Spec{Aggregates: []fold.Aggregate{{Func: fold.Avg, Column: c, Filter: -1}, {Func: fold.Avg, Column: c, Filter: 5}}})
	}
}

// TestWhatIsNotFinite has sums, means and extremes; the engine refuses to have
// deviations, and only it knows what the largest numbers add up to.
func TestWhatIsNotFinite(t *testing.T) {
	e := newEngine(t)
	nan, inf := math.NaN(), math.Inf(1)
	for _, dt := range []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64} {
		for _, values := range [][]any{
			{nan}, {inf}, {-inf}, {nan, 1.0}, {1.0, nan, 2.0, nan}, {inf, -inf}, {1.0, inf, 2.0}, {nan, nil, -inf}, {-inf, nan, inf}, {nan, inf, nan}, {inf, nil},
		} {
			in := one(t, dt, values...)
			for _, a := range in.everything(0).Aggregates {
				spec := fold.Spec{Aggregates: []fold.Aggregate{a}}
				if _, err := in.ask(e, spec); err != nil {
					_, got := in.fold(t, spec, 1)
					require.ErrorIs(t, got, fold.ErrEngine, "%s of %v: %v", in.sql(spec), values, err)
				} else {
					requireAsEngine(t, e, in, spec)
				}
			}
		}
	}
	for _, values := range [][]any{{1e308}, {1e308, 1e308, -1e308}, {nan, -1e300}} {
		in := one(t, arrow.PrimitiveTypes.Float64, values...)
		for _, keys := range [][]int{nil, {1}} {
			_, err := in.fold(t, fold.Spec{Keys: keys, Aggregates: []fold.Aggregate{{Func: fold.Sum, Filter: -1}}}, 1)
			require.ErrorIs(t, err, fold.ErrEngine, "%v", values)
			requireAsEngine(t, e, in, fold.Spec{Keys: keys, Aggregates: []fold.Aggregate{{Func: fold.Min, Filter: -1}, {Func: fold.Max, Filter: -1}}})
		}
	}
	// One that does not count does no harm.
	content := memory.NewBufferBytes(arrow.Float64Traits.CastToBytes([]float64{1e308, 1, 2}))
	data := array.NewData(arrow.PrimitiveTypes.Float64, 3, []*memory.Buffer{memory.NewBufferBytes([]byte{0b110}), content}, nil, 1, 0)
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: data.DataType(), Nullable: true}}, nil)
	in := input{schema, []arrow.RecordBatch{array.NewRecordBatch(schema, []arrow.Array{array.MakeFromData(data)}, 3)}}
	requireAsEngine(t, e, in, fold.Spec{Aggregates: []fold.Aggregate{{Func: fold.Sum, Filter: -1}}})
}
