// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/services/query/engine"
)

func TestGroupedBy(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT k, count(*) FROM t GROUP BY k":                          "k",
		"select count(*) from t group\n by t.K order by 1":              "k",
		`SELECT count(*) FROM t GROUP BY "a"."k v" HAVING count(*) > 1`: "k v",
		"SELECT * FROM (SELECT k FROM t GROUP BY k) GROUP BY j;":        "k j",
		"SELECT DISTINCT k FROM t":                                      "k",
		"SELECT count(DISTINCT t.k), sum(x) FROM t":                     "k",
		"SELECT k, count(*) FROM t GROUP BY 1":                          "k j x",
		"SELECT k, j FROM t GROUP BY k, j":                              "",
		"SELECT k, j FROM t GROUP BY ALL":                               "",
		"SELECT k FROM t GROUP BY k + 1":                                "",
		"SELECT k FROM t GROUP BY lower(k)":                             "",
		"SELECT DISTINCT k, j FROM t":                                   "",
		"SELECT k FROM t ORDER BY k":                                    "",
	} {
		grouped := groupedBy(sql)
		var got []string
		for _, c := range []string{"k", "K v", "j", "x"} {
			if grouped(c) {
				got = append(got, strings.ToLower(c))
			}
		}
		if strings.Contains(want, "k j x") {
			want = "k k v j x"
		}
		require.Equal(t, want, strings.Join(got, " "), sql)
	}
}

// keysOf makes the rows of a table with a column k to group by.
type keysOf struct {
	dt  arrow.DataType
	put func(b array.Builder, i int)
}

func integers[T any, B interface{ Append(T) }](dt arrow.DataType, key func(int) T) keysOf {
	return keysOf{dt, func(b array.Builder, i int) { b.(B).Append(key(i)) }}
}

func words(key func(int) string) keysOf {
	return keysOf{arrow.BinaryTypes.String, func(b array.Builder, i int) { b.(*array.StringBuilder).Append(key(i)) }}
}

// TestGroupsAreTheSameInEveryForm groups by columns that are given to DuckDB
// with a dictionary, and asks the same in a way that leaves them without.
func TestGroupsAreTheSameInEveryForm(t *testing.T) {
	e := newEngine(t, Options{Threads: 2})
	for name, keys := range map[string]keysOf{
		"words":             words(func(i int) string { return fmt.Sprintf("arm-%02d", i%64) }),
		"all short lengths": words(func(i int) string { return "abcdefghijklm"[:i%13] }),
		"zero bytes":        words(func(i int) string { return strings.Repeat("\x00", i%5) }),
		"letters":           words(func(i int) string { return []string{"ä", "€", "\U0001F980", "", "z"}[i%5] }),
		"later a long one":  words(func(i int) string { return fmt.Sprintf("%d", i%10+i/15_000*1_000_000_000_000) }),
		"later many":        words(func(i int) string { return fmt.Sprint(i % (10 + i/10_000*4_000)) }),
		"a thousand":        words(func(i int) string { return fmt.Sprint(i % 1_000) }),
		"one more":          words(func(i int) string { return fmt.Sprint(i % 1_001) }),
		"int16":             integers[int16, *array.Int16Builder](arrow.PrimitiveTypes.Int16, func(i int) int16 { return int16(i%300 - 150) }),
		"int32":             integers[int32, *array.Int32Builder](arrow.PrimitiveTypes.Int32, func(i int) int32 { return int32(i % 100) }),
		"int32 extremes":    integers[int32, *array.Int32Builder](arrow.PrimitiveTypes.Int32, func(i int) int32 { return math.MinInt32 + int32(i%2)*-1 }),
		"int64":             integers[int64, *array.Int64Builder](arrow.PrimitiveTypes.Int64, func(i int) int64 { return math.MaxInt64 - int64(i%7) }),
		"int64 at zero":     integers[int64, *array.Int64Builder](arrow.PrimitiveTypes.Int64, func(i int) int64 { return int64(i%2047) - 1_000 }),
		"later far":         integers[int64, *array.Int64Builder](arrow.PrimitiveTypes.Int64, func(i int) int64 { return int64(i%10 + i/12_000*1_000_000) }),
		"many integers":     integers[int64, *array.Int64Builder](arrow.PrimitiveTypes.Int64, func(i int) int64 { return int64(i % 1_500) }),
		"uint32":            integers[uint32, *array.Uint32Builder](arrow.PrimitiveTypes.Uint32, func(i int) uint32 { return math.MaxUint32/2 + uint32(i%9) }),
		"uint64":            integers[uint64, *array.Uint64Builder](arrow.PrimitiveTypes.Uint64, func(i int) uint64 { return math.MaxUint64 - uint64(i%9) }),
		"dates":             integers[arrow.Date32, *array.Date32Builder](arrow.FixedWidthTypes.Date32, func(i int) arrow.Date32 { return arrow.Date32(i%400 - 200) }),
		"reals":             integers[float64, *array.Float64Builder](arrow.PrimitiveTypes.Float64, func(i int) float64 { return float64(i % 5) }),
	} {
		for _, nulls := range []int{0, 7} {
			table := groupable(t, keys, 30_000, nulls)
			for _, form := range []string{
				"SELECT k, count(*) AS n, sum(x) AS s FROM ns.t GROUP BY k%s ORDER BY ALL",
				"SELECT k, min(x) AS s FROM ns.t WHERE x %% 3 = 1 GROUP BY k%s HAVING count(*) > 1 ORDER BY ALL",
				"SELECT max(k) AS m, min(k), count(k), count(DISTINCT k), any_value(k) IS NULL FROM ns.t GROUP BY x %% 2%s ORDER BY ALL",
				"SELECT a.k, count(*) FROM ns.t a JOIN (SELECT DISTINCT k FROM ns.t) b ON a.k = b.k GROUP BY a.k%s ORDER BY ALL",
				"SELECT k::VARCHAR || '!' AS v, count(*) FROM (SELECT k FROM ns.t GROUP BY k, x %% 5) GROUP BY k%s ORDER BY ALL",
			} {
				// A second group, which all rows share, leaves the first without a dictionary.
				with, _ := ask(t, e, fmt.Sprintf(form, ""), "t", table)
				without, _ := ask(t, e, strings.ReplaceAll(fmt.Sprintf(form, ", 1 < 0"), "DISTINCT k FROM", "DISTINCT k, 1 FROM"), "t", table)
				require.Equal(t, rowsJSON(t, without), rowsJSON(t, with), "%s, nulls %d: %s", name, nulls, form)
			}
		}
	}
}

// groupable has a null every so many rows, never for 0.
func groupable(t *testing.T, keys keysOf, rows, nulls int) *memTable {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: keys.dt, Nullable: true}, {Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	var batches []arrow.RecordBatch
	for i := range rows {
		if nulls > 0 && i%nulls == 3 {
			b.Field(0).AppendNull()
		} else {
			keys.put(b.Field(0), i)
		}
		b.Field(1).(*array.Int64Builder).Append(int64(i))
		if i%9_000 == 8_999 || i == rows-1 {
			batch := b.NewRecordBatch()
			batches = append(batches, batch.NewSlice(3, batch.NumRows()))
		}
	}
	return newTable(schema, batches...)
}

// What is wrong with text is found with a dictionary, too.
func TestDamagedGroupsAreErrors(t *testing.T) {
	e := newEngine(t, Options{Threads: 1})
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	for name, c := range map[string]struct {
		offsets []int32
		bytes   string
		want    string
	}{
		"not UTF-8":     {[]int32{0, 1, 2}, "a\xff", "not UTF-8"},
		"falling":       {[]int32{0, 2, 1, 2}, "ab", "outside a buffer"},
		"beyond":        {[]int32{0, 1, 9}, "ab", "outside a buffer"},
		"negative":      {[]int32{-5, 1, 2}, "ab", "outside a buffer"},
		"beyond within": {[]int32{0, 9, 2}, "ab", "outside a buffer"},
	} {
		data := array.NewData(arrow.BinaryTypes.String, len(c.offsets)-1, []*memory.Buffer{nil, buffer(c.offsets...), buffer([]byte(c.bytes)...)}, nil, 0, 0)
		table := newTable(schema)
		table.forged, table.rows = forgedBatch{column: forged{data: data}}, 2
		err := e.Execute(t.Context(), engine.Request{SQL: "SELECT k, count(*) FROM ns.t GROUP BY k", Tables: tables("t", table)}, func(arrow.RecordBatch) error { return nil })
		require.ErrorContains(t, err, c.want, name)
	}
}
