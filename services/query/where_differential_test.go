// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	lanceengine "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/services/query"
)

// testedColumn is a column of the table of the conditions.
type testedColumn struct {
	name   string
	typ    arrow.DataType
	values []any
	// sure are constants of which it is certain what SQL makes, others are left to
	// the engine.
	sure, others []string
	// apart are sure, too, but not in one list with others.
	apart []string
}

func days(n int64) int64 { return n * 86_400 }

var negativeZero = math.Copysign(0, -1)

// testedColumns hold values that are easily mistaken for each other, and some at
// the ends of their types. Times are around 2024-01-01, which is day 19723.
var testedColumns = []testedColumn{
	{
		"i8", arrow.PrimitiveTypes.Int8,
		[]any{int64(-128), int64(-1), int64(0), int64(1), int64(2), int64(127)},
		[]string{"-129", "-128", "0", "1", "127", "128", "300", "1.0", "0.5", "-0.5", "127.5", "5000000000", "0.00000000000000001"},
		[]string{"1::TINYINT", "'1'", "0.1::FLOAT", "12345678901234567890", "9e18", "true"},
		[]string{"1e0", "0.5e0", "-1.5e0", "1e10"},
	},
	{"u16", arrow.PrimitiveTypes.Uint16, []any{int64(0), int64(1), int64(65535)}, []string{"-1", "0", "1", "65535", "65536", "0.5", "1.0"}, []string{"'1'"}, []string{"1e0", "6.55355e4"}},
	{"i32", arrow.PrimitiveTypes.Int32, []any{int64(math.MinInt32), int64(-1), int64(0), int64(16777217), int64(math.MaxInt32)}, []string{"-2147483648", "16777217", "16777216.5", "2147483647", "2147483648"}, nil, []string{"16777217e0", "2147483647.5e0"}},
	{
		"i64", arrow.PrimitiveTypes.Int64,
		[]any{int64(math.MinInt64), int64(-9007199254740993), int64(-1), int64(0), int64(1), int64(9007199254740992), int64(9007199254740993), int64(math.MaxInt64)},
		[]string{"-9223372036854775808", "9223372036854775807", "-1", "0", "1", "0.25", "-0.25", "1.0", "9007199254740993", "9007199254740992.5", "-9007199254740993.5", "9007199254740992.0"},
		[]string{"9007199254740992e0", "9.007199254740993e15", "1e19", "9223372036854775808", "123456789012345678901234.5", "'1'", "1::BIGINT"},
		[]string{"1e0", "0.5e0", "9007199254740991e0", "-1e15"},
	},
	{"u64", arrow.PrimitiveTypes.Uint64, []any{uint64(0), uint64(1), uint64(1 << 63), uint64(math.MaxUint64)}, []string{"0", "1", "0.5", "9223372036854775807", "1.0"}, []string{"-1", "18446744073709551615", "1.8446744073709552e19"}, []string{"1e0", "1.5e0"}},
	{
		"f32", arrow.PrimitiveTypes.Float32,
		[]any{math.Inf(-1), -1.5, negativeZero, 0.0, math.SmallestNonzeroFloat32, 0.1, 0.25, 16777216.0, math.MaxFloat32, math.Inf(1), math.NaN()},
		[]string{"0", "0.0", "-0.0", "0.1", "0.25", "-1.5", "1.5", "0.10000", "16777217", "16777216", "1677721.6", "9223372036854775807", "0.1e0", "0.25e0", "1e-45", "0.10000000149011612e0", "3.4028234663852886e38", "1e300", "16777217e0"},
		[]string{"0.10000000149011612", "3.14159265", "0.00000000001", "0.1::FLOAT", "'0.1'", "'NaN'::FLOAT", "12345678901234567890", "1e400"},
		nil,
	},
	{
		"f64", arrow.PrimitiveTypes.Float64,
		[]any{math.Inf(-1), -1.5, negativeZero, 0.0, math.SmallestNonzeroFloat64, 0.1, 0.3, 0.1 + 0.2, 9007199254740992.0, 1e300, math.MaxFloat64, math.Inf(1), math.NaN(), -math.NaN()},
		[]string{"0", "0.0", "-0.0", "0.1", "0.3", "0.30000", "-1.5", "50", "9007199254740993", "9223372036854775807", "0.9007199254740992", "0.1e0", "0.30000000000000004e0", "5e-324", "1e300", "1.7976931348623157e308", "-0e0"},
		[]string{"0.30000000000000004", "0.1::FLOAT", "'0.1'", "'NaN'::DOUBLE", "'inf'::DOUBLE", "1e400", "12345678901234567890.5"},
		nil,
	},
	{
		"dec", &arrow.Decimal128Type{Precision: 10, Scale: 2},
		[]any{int64(-150), int64(0), int64(100), int64(150), int64(151), int64(9999999999)},
		[]string{"1.5", "1.505", "1", "-1.50", "0", "99999999.99", "1.51", "100000000000"},
		[]string{"1.5e0", "'1.5'", "123456789012345678901234567890.5", "1::DECIMAL(3,1)"},
		nil,
	},
	{"ok", arrow.FixedWidthTypes.Boolean, []any{true, false}, []string{"true", "false", "TRUE"}, []string{"'t'", "1", "0"}, nil},
	{
		"txt", arrow.BinaryTypes.String,
		[]any{"", "a", "ab", "a\x00", "b", "grüße", "zz", "\U0010ffff"},
		[]string{"''", "'a'", "'ab'", "'grüße'", "'zz'", "'m'", "'a'::VARCHAR", "'\U0010ffff'"},
		[]string{"1", "DATE '2024-01-01'", "'a' COLLATE NOCASE", "chr(0)", "'a'::BLOB"},
		nil,
	},
	{"wide", arrow.BinaryTypes.LargeString, []any{"", "a", "b"}, []string{"''", "'a'", "'b'", "'aa'"}, nil, nil},
	{
		"day", arrow.FixedWidthTypes.Date32,
		[]any{int64(-1), int64(0), int64(19722), int64(19723), int64(19724), int64(math.MaxInt32), int64(-math.MaxInt32)},
		[]string{"'2024-01-01'", "DATE '2024-01-01'", "'2024-01-02'::DATE", "TIMESTAMP '2024-01-01 00:00:00'", "TIMESTAMP '2024-01-01 12:00:00'", "TIMESTAMP_S '2024-01-01 23:59:59'", "'0001-01-01'", "'9999-12-31'", "TIMESTAMP '2024-01-01'"},
		[]string{"'2024-01-01 12:00:00'", "'20240101'", "'2024-1-1'", "TIMESTAMP_NS '2024-01-01'", "DATE '2024-01-01 12:00:00'", "19723", "'10000-01-01'", "TIMESTAMPTZ '2024-01-01 12:00:00+02'"},
		nil,
	},
	{
		"s", &arrow.TimestampType{Unit: arrow.Second},
		[]any{int64(-1), int64(0), days(19723) - 1, days(19723), days(19723) + 1, days(19723) + 43200},
		[]string{"TIMESTAMP '2024-01-01 00:00:00'", "TIMESTAMP '2024-01-01 00:00:00.5'", "'2024-01-01'", "'2024-01-01 00:00:01'", "DATE '2024-01-01'", "TIMESTAMP_S '2024-01-01 12:00:00'", "TIMESTAMP_MS '2023-12-31 23:59:59.999'", "'2024-01-01T00:00:00Z'"},
		[]string{"'2024-01-01 00:00:00.6'", "TIMESTAMP_S '2024-01-01 00:00:00.6'", "TIMESTAMP_NS '2024-01-01'", "'2024-01-01 02:00:00+02'"},
		nil,
	},
	{
		"ms", &arrow.TimestampType{Unit: arrow.Millisecond},
		[]any{int64(-1), int64(0), days(19723)*1000 - 1, days(19723) * 1000, days(19723)*1000 + 1},
		[]string{"TIMESTAMP '2024-01-01 00:00:00'", "TIMESTAMP '2024-01-01 00:00:00.0005'", "'2024-01-01'", "'2024-01-01 00:00:00.001'", "TIMESTAMP_S '2024-01-01'", "TIMESTAMP_MS '2024-01-01 00:00:00.001'", "DATE '2024-01-01'", "TIMESTAMP_MS '2024-01-01T00:00:00Z'"},
		[]string{"'2024-01-01 00:00:00.0006'", "TIMESTAMP(3) '2024-01-01 00:00:00.0006'", "now()"},
		nil,
	},
	{
		"us", &arrow.TimestampType{Unit: arrow.Microsecond},
		[]any{int64(-1), int64(0), days(19723)*1_000_000 - 1, days(19723) * 1_000_000, days(19723)*1_000_000 + 1, int64(math.MaxInt64), int64(-math.MaxInt64)},
		[]string{"TIMESTAMP '2024-01-01 00:00:00'", "TIMESTAMP '2024-01-01 00:00:00.000001'", "'2024-01-01'", "'2024-01-01 00:00:00.000001'", "DATE '2024-01-01'", "'1969-12-31 23:59:59.999999'", "'2024-01-01T00:00:00Z'", "TIMESTAMP '2024-01-01T00:00:00+00'", "TIMESTAMP_S '2024-01-01'", "'2024-01-01 00:00:00'::TIMESTAMP", "'2024-01-01 00:00:00.000001000'"},
		[]string{"'2024-01-01 00:00:00.0000006'", "TIMESTAMP '2024-01-01 00:00:00.0000006'", "TIMESTAMP_NS '2024-01-01 00:00:00'", "'2024-01-01 02:00:00+02'", "'2024-01-01 00:00'", "'infinity'", "'epoch'", "make_timestamp(0)"},
		nil,
	},
	{
		"ns", &arrow.TimestampType{Unit: arrow.Nanosecond},
		[]any{int64(-1), int64(0), days(19723)*1_000_000_000 - 1, days(19723) * 1_000_000_000, days(19723)*1_000_000_000 + 1, int64(math.MaxInt64), int64(math.MaxInt64 - 1), int64(-math.MaxInt64)},
		[]string{"TIMESTAMP '2024-01-01 00:00:00'", "TIMESTAMP_NS '2024-01-01 00:00:00.000000001'", "'2024-01-01 00:00:00.000000001'", "'2024-01-01'", "DATE '2024-01-01'", "TIMESTAMP '2023-12-31 23:59:59.999999'", "TIMESTAMP_S '2024-01-01'", "'2024-01-01T00:00:00Z'"},
		[]string{"TIMESTAMP '2500-01-01 00:00:00'", "TIMESTAMPTZ '2024-01-01'"},
		nil,
	},
	{
		"utc", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
		[]any{int64(-1), days(19723)*1_000_000 - 1, days(19723) * 1_000_000, days(19723)*1_000_000 + 1, int64(math.MaxInt64)},
		[]string{"TIMESTAMPTZ '2024-01-01 00:00:00'", "TIMESTAMPTZ '2024-01-01 00:00:00Z'", "'2024-01-01'", "'2024-01-01T00:00:00Z'", "'2024-01-01 00:00:00.000001+00:00'", "TIMESTAMP '2024-01-01 00:00:00'", "DATE '2024-01-01'"},
		[]string{"'2024-01-01 02:00:00+02'", "TIMESTAMP_MS '2024-01-01 00:00:00.001'", "TIMESTAMP_NS '2024-01-01'", "now()"},
		nil,
	},
	{
		"berlin", &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Berlin"},
		[]any{int64(-1), days(19723)*1000 - 1, days(19723) * 1000, days(19723)*1000 + 1},
		[]string{"TIMESTAMPTZ '2024-01-01 00:00:00'", "'2024-01-01T00:00:00.0005Z'", "'2024-01-01'", "TIMESTAMP '2024-01-01 00:00:00'", "DATE '2024-01-01'"},
		[]string{"'2024-01-01 01:00:00+01'"},
		nil,
	},
	{"nsz", &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, []any{int64(-1), days(19723) * 1_000_000_000, days(19723)*1_000_000_000 + 1}, []string{"'2024-01-01'", "TIMESTAMP '2024-01-01'", "'2024-01-01 00:00:00.000000001Z'"}, []string{"TIMESTAMPTZ '2024-01-01'"}, nil},
}

// appendAny appends a value of testedColumn, nil for null.
func appendAny(b array.Builder, v any) {
	n, _ := v.(int64)
	f, _ := v.(float64)
	if v == nil {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(n))
	case *array.Uint16Builder:
		b.Append(uint16(n))
	case *array.Int32Builder:
		b.Append(int32(n))
	case *array.Int64Builder:
		b.Append(n)
	case *array.Uint64Builder:
		b.Append(v.(uint64))
	case *array.Float32Builder:
		b.Append(float32(f))
	case *array.Float64Builder:
		b.Append(f)
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(n))
	case *array.BooleanBuilder:
		b.Append(v.(bool))
	case *array.StringBuilder:
		b.Append(v.(string))
	case *array.LargeStringBuilder:
		b.Append(v.(string))
	case *array.Date32Builder:
		b.Append(arrow.Date32(n))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(n))
	default:
		panic(fmt.Sprintf("%T", b))
	}
}

// conditionStack is a table of the tested columns in fragments with statistics,
// and a replica whose direct answers are counted.
func conditionStack(t *testing.T) (c *flightsql.Client, answered func() float64) {
	t.Helper()
	s := newStack(t, func(o *lanceengine.Options) { o.HoldBytes, o.StatsBytes = -1, 1 })
	metrics := prometheus.NewRegistry()
	s.addr = s.replica(t, func(o *query.Options) { o.Metrics, o.AnswerBytes = metrics, -1 })
	fields := []arrow.Field{{Name: "key", Type: arrow.PrimitiveTypes.Int64}}
	for _, column := range testedColumns {
		fields = append(fields, arrow.Field{Name: column.name, Type: column.typ, Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	name := create(t, s.catalog(t), "lab.conditions", schema)
	c = s.client(t)
	rng := rand.New(rand.NewPCG(3, 4))
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for fragment := range 6 {
		for i := range 40 {
			appendAny(b.Field(0), int64(40*fragment+i))
			for j, column := range testedColumns {
				at := rng.IntN(len(column.values) + 1)
				if fragment == 5 { // one that statistics say much about
					at = i / 30
				}
				if at == len(column.values) {
					appendAny(b.Field(j+1), nil)
				} else {
					appendAny(b.Field(j+1), column.values[at])
				}
			}
		}
		rec := b.NewRecordBatch()
		_, err := appendRows(t, c, name, rec, false)
		require.NoError(t, err)
		rec.Release()
	}
	return c, func() float64 { return gauge(t, metrics, "lake_query_direct_total") }
}

// whereMaker makes conditions.
type whereMaker struct{ *rand.Rand }

func (r whereMaker) one(of ...string) string { return of[r.IntN(len(of))] }

// constants are some that may stand in one list, and whether it is certain what
// SQL makes of them.
func (r whereMaker) constants(c testedColumn, n int) (out []string, sure bool) {
	from := c.sure
	if len(c.apart) > 0 && r.IntN(4) == 0 {
		from = c.apart
	}
	for range n {
		out = append(out, r.one(from...))
	}
	if sure = len(c.others) == 0 || r.IntN(12) > 0; !sure {
		out[r.IntN(n)] = r.one(c.others...)
	}
	return out, sure
}

// condition makes one, and says whether it is answered directly.
func (r whereMaker) condition(depth int) (text string, direct bool) {
	c := testedColumns[r.IntN(len(testedColumns))]
	not := r.one("", "NOT ")
	switch r.IntN(10 + 3*depth) {
	case 0:
		return c.name + " IS " + not + "NULL", true
	case 1:
		return not + "ok", true
	case 2:
		v, sure := r.constants(c, 2)
		return fmt.Sprintf("%s %sBETWEEN %s AND %s", c.name, not, v[0], v[1]), sure
	case 3:
		v, sure := r.constants(c, 1+r.IntN(4))
		return fmt.Sprintf("%s %sIN (%s)", c.name, not, strings.Join(v, ", ")), sure
	case 4:
		v, sure := r.constants(c, 1)
		return fmt.Sprintf("%s %s %s", v[0], r.one("=", "<>", "<", "<=", ">", ">="), c.name), sure
	case 10, 13:
		a, first := r.condition(depth - 1)
		b, second := r.condition(depth - 1)
		return "(" + a + " OR " + b + ")", first && second
	case 11, 14:
		a, first := r.condition(depth - 1)
		b, second := r.condition(depth - 1)
		return "(" + a + " AND " + b + ")", first && second
	case 12, 15:
		a, direct := r.condition(depth - 1)
		return "NOT (" + a + ")", direct
	}
	v, sure := r.constants(c, 1)
	return fmt.Sprintf("%s %s %s", c.name, r.one("=", "<>", "!=", "<", "<=", ">", ">="), v[0]), sure
}

var conditionsAsked = flag.Int("conditions", 400, "how many random conditions are answered directly and by the engine")

// TestRandomConditionsAreTheEngines answers conditions directly, and has the
// engine look at every row for the same ones, where nothing else understands them.
func TestRandomConditionsAreTheEngines(t *testing.T) {
	c, answered := conditionStack(t)
	r := whereMaker{rand.New(rand.NewPCG(11, 12))}
	rows, directly, some := int64(0), 0, 0
	for i := range *conditionsAsked {
		where, direct := r.condition(2)
		before := answered()
		got, failed := run(t, c, "SELECT key FROM lab.conditions WHERE "+where)
		if direct {
			require.NoError(t, failed, where)
			require.InDelta(t, before+1, answered(), 0, where)
			directly++
		}
		before = answered()
		want, err := run(t, c, "SELECT key FROM lab.conditions WHERE CASE WHEN "+where+" THEN true ELSE false END")
		require.InDelta(t, before, answered(), 0, "the comparison is the engine's")
		require.Equal(t, err == nil, failed == nil, "%s\nthe engine says %v", where, err)
		if err != nil {
			continue
		}
		require.Equal(t, ids(want.batches), ids(got.batches), where)
		if i%3 == 0 { // what is left out before the engine sees it
			kept := mustRun(t, c, "SELECT key FROM lab.conditions WHERE ("+where+") AND key + 0 >= 0")
			require.Equal(t, ids(want.batches), ids(kept.batches), where)
		}
		if rows += got.rows(); got.rows() > 0 {
			some++
		}
	}
	t.Logf("%d of %d were answered directly, %d had rows, %d in all", directly, *conditionsAsked, some, rows)
	require.Greater(t, directly, *conditionsAsked*3/4)
	require.Greater(t, some, *conditionsAsked/2)
}

// TestEverySureConstantIsTheEngines compares each with its column in every way.
func TestEverySureConstantIsTheEngines(t *testing.T) {
	c, answered := conditionStack(t)
	for _, column := range testedColumns {
		var conditions, selected []string
		for _, constant := range slices.Concat(column.sure, column.apart) {
			for _, op := range []string{"=", "<>", "<", "<=", ">", ">="} {
				where := fmt.Sprintf("%s %s %s", column.name, op, constant)
				conditions = append(conditions, where)
				selected = append(selected, fmt.Sprintf("CASE WHEN %s THEN true ELSE false END AS c%d", where, len(selected)))
			}
		}
		engine := whole(t, mustRun(t, c, "SELECT key, "+strings.Join(selected, ", ")+" FROM lab.conditions"))
		for i, where := range conditions {
			var want []int64
			for row := range int(engine.NumRows()) {
				if engine.Column(i + 1).(*array.Boolean).Value(row) {
					want = append(want, engine.Column(0).(*array.Int64).Value(row))
				}
			}
			slices.Sort(want)
			before := answered()
			got := mustRun(t, c, "SELECT key FROM lab.conditions WHERE "+where)
			require.InDelta(t, before+1, answered(), 0, where)
			require.Equal(t, want, ids(got.batches), where)
		}
		for _, constant := range column.others {
			before := answered()
			_, err := run(t, c, fmt.Sprintf("SELECT key FROM lab.conditions WHERE %s <= %s", column.name, constant))
			require.InDelta(t, before, answered(), 0, "%s: %v", constant, err)
		}
	}
}
