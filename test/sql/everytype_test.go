// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sqltest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// everyStatement is how many statements are made over columns of every type.
const everyStatement = 240

// typed is a column of one of the types, the values that its rows have, which are
// easily mistaken for each other or lie at the ends of the type, and constants that
// it is compared with, beside the values.
type typed struct {
	name, typ         string
	values, constants []string
}

var everyColumn = []typed{
	{"i8", "TINYINT", []string{"-128", "-1", "0", "127"}, []string{"128", "0.5", "1e0", "-129"}},
	{"u8", "UTINYINT", []string{"0", "1", "255"}, []string{"256", "-1", "254.5"}},
	{"i16", "SMALLINT", []string{"-32768", "0", "32767"}, []string{"7.0", "32768"}},
	{"u16", "USMALLINT", []string{"0", "9", "65535"}, []string{"9.5", "65536"}},
	{"i32", "INTEGER", []string{"-2147483648", "-5", "16777217", "2147483647"}, []string{"16777216.5", "2147483648", "1e10"}},
	{"u32", "UINTEGER", []string{"0", "3", "4294967295"}, []string{"4294967296", "-1"}},
	{"i64", "BIGINT", []string{"-9223372036854775808", "0", "9007199254740993", "9223372036854775807"}, []string{"9007199254740992.0", "9007199254740992e0", "'0'"}},
	{"u64", "UBIGINT", []string{"0", "42", "9223372036854775808", "18446744073709551615"}, []string{"42.5", "1.8446744073709552e19"}},
	{"f32", "FLOAT", []string{"'-inf'", "-1.5", "-0.0", "0.0", "1e-45", "0.1", "16777216", "'inf'", "'nan'"}, []string{"0.1", "0.1::DOUBLE", "0", "1e39", "16777217"}},
	{"f64", "DOUBLE", []string{"'-inf'", "-0.0", "0.0", "5e-324", "0.1", "9007199254740992", "1e300", "'inf'", "'nan'"}, []string{"0.1", "0.1::FLOAT", "0", "9007199254740993"}},
	{"d4", "DECIMAL(4,1)", []string{"-999.9", "0", "0.1", "999.9"}, []string{"0.05", "0.1::FLOAT", "1000"}},
	{"d9", "DECIMAL(9,0)", []string{"-999999999", "7"}, []string{"6.5", "7.5"}},
	{"d18", "DECIMAL(18,6)", []string{"-1.5", "0.000001", "999999999999.999999"}, []string{"0.0000001", "1e-6"}},
	{"d38", "DECIMAL(38,10)", []string{"-9999999999999999999999999999.9999999999", "0.0000000001", "12345678901234567890.5"}, []string{"0", "1e-10"}},
	{"ok", "BOOLEAN", []string{"true", "false"}, nil},
	{"s", "VARCHAR", []string{"''", "'a'", "'A'", "'ab'", "'a%b'", "'naïve'", "'nai\u0308ve'", "'\U0001F600'", "'a' || chr(0)", "'it''s'", "repeat('x', 13)", "'\U0010ffff'"}, []string{"'zz'", "$$a$$"}},
	{"y", "BLOB", []string{"''", "'a'", `'\x00'`, `'\xFF\x00'`, `'a\x00'`}, []string{"'b'", `'\xFF'`}},
	{"day", "DATE", []string{"'1970-01-01'", "'1969-12-31'", "'2024-02-29'", "'0001-01-01'", "'9999-12-31'"}, []string{"TIMESTAMP '2024-02-29 12:00:00'", "'2024-02-29'", "'infinity'"}},
	{"tm", "TIME", []string{"'00:00:00'", "'12:34:56.789012'", "'23:59:59.999999'"}, []string{"'24:00:00'"}},
	{"tms", "TIMESTAMP_MS", []string{"'1970-01-01'", "'1969-12-31 23:59:59.999'", "'2024-02-29 12:00:00.001'"}, []string{"TIMESTAMP '2024-02-29 12:00:00.0015'", "DATE '1970-01-01'"}},
	{"tus", "TIMESTAMP", []string{"'1970-01-01'", "'1969-12-31 23:59:59.999999'", "'2024-02-29 12:00:00.000001'", "'0001-01-01'", "'infinity'", "'-infinity'"}, []string{"'2024-02-29'", "DATE '2024-02-29'"}},
	{"tns", "TIMESTAMP_NS", []string{"'1970-01-01'", "'2024-02-29 12:00:00.000000001'", "'1677-09-22'", "'2262-04-11 23:47:16.854775806'"}, []string{"TIMESTAMP '2024-02-29 12:00:00'", "'2024-02-29'"}},
	{"tz", "TIMESTAMPTZ", []string{"'1970-01-01 00:00:00+00'", "'2024-03-31 01:30:00+01'", "'infinity'"}, []string{"'2024-03-31 00:30:00+00'", "'2024-03-31 01:30:00+01:00'", "TIMESTAMP '1970-01-01'"}},
	{"l", "INTEGER[]", []string{"[]", "[1]", "[1, NULL]", "[3, 2, 1]"}, nil},
	{"st", "STRUCT(a INTEGER, b VARCHAR, c STRUCT(d DOUBLE, e DATE[]))", []string{"{'a': 1, 'b': 'x', 'c': {'d': 1.5, 'e': ['2024-01-01'::DATE, NULL]}}", "{'a': NULL, 'b': '', 'c': NULL}"}, nil},
}

func (c typed) nested() bool { return c.name == "l" || c.name == "st" }

// everyRow makes rows: k is their number, g one of seven, and fk may be a k of
// the other table.
func everyRow(from, to int) string {
	var b strings.Builder
	b.WriteString("SELECT i AS k, (i % 7)::INTEGER AS g, CASE WHEN i % 3 = 0 THEN NULL ELSE h(i + 31) % 300 END AS fk")
	for n, c := range everyColumn {
		fmt.Fprintf(&b, ", CASE WHEN h(i * 101 + %d) %% 6 > 0 THEN [%s][1 + h(i * 37 + %d) %% %d] END::%s AS %s",
			n, strings.Join(c.cast(), ", "), 13*n, len(c.values), c.typ, c.name)
	}
	fmt.Fprintf(&b, " FROM range(%d, %d) t(i)", from, to)
	return b.String()
}

func (c typed) cast() []string {
	out := make([]string, len(c.values))
	for i, v := range c.values {
		out[i] = "(" + v + ")::" + c.typ
	}
	return out
}

// every makes statements over the tables of every type.
type every struct{ *generator }

func (e every) column() typed { return everyColumn[e.IntN(len(everyColumn))] }

func (e every) constant(c typed) string {
	return e.oneOf(append(c.cast(), c.constants...)...)
}

// table is one of the two, in one of the ways to spell it.
func (e every) table() string {
	return e.oneOf("odd.big", "odd.big", "odd.small", "Odd.SMALL", "lake.odd.small")
}

// where is a condition on columns that q qualifies.
func (e every) where(q string, depth int) string {
	if depth > 0 && e.IntN(2) == 0 {
		return e.oneOf("", "", "NOT ") + "(" + e.where(q, depth-1) + e.oneOf(" AND ", " OR ") + e.where(q, depth-1) + ")"
	}
	c := e.column()
	name, op := q+c.name, e.oneOf(" = ", " <> ", " < ", " <= ", " > ", " >= ", " IS DISTINCT FROM ")
	switch n := e.IntN(10); {
	case n == 0:
		return name + " IS " + e.oneOf("", "NOT ") + "NULL"
	case n == 1 && !c.nested():
		return name + e.oneOf("", " NOT") + " BETWEEN " + e.constant(c) + " AND " + e.constant(c)
	case n == 2:
		return name + e.oneOf("", " NOT") + " IN (" + e.constant(c) + ", " + e.constant(c) + e.oneOf("", "", ", NULL") + ")"
	case n == 3:
		return e.constant(c) + op + name
	case n == 4:
		return "CASE WHEN " + e.where(q, 0) + " THEN " + name + " IS NULL ELSE " + q + "ok END"
	case n == 5:
		return e.oneOf(q+"s LIKE 'a%'", q+"s NOT LIKE '%a'", q+`s LIKE 'a!%%' ESCAPE '!'`, "starts_with("+q+"s, 'na')", q+"ok", "NOT "+q+"ok", q+"st.a = 1", q+"k < 500", q+"k BETWEEN 90 AND 4100", q+"g = 3")
	}
	return name + op + e.constant(c)
}

// call is an aggregate function that does not depend on the order of rows.
func (e every) call(q string) string {
	c, n := q+e.column().name, q+e.oneOf("i8", "u16", "i32", "u32", "i64", "d4", "d9", "d18", "fk")
	call := e.oneOf("count(*)", "count("+c+")", "min("+c+")", "max("+c+")", "sum("+n+")", "avg("+n+")", "count(DISTINCT "+c+")", "arg_min("+c+", "+q+"k)")
	return call + e.oneOf("", "", " FILTER (WHERE "+q+"ok)", " FILTER (WHERE "+e.where(q, 1)+")")
}

func (e every) statement() string {
	c, where := e.column().name, " WHERE "+e.where("", 2)
	switch e.IntN(10) {
	case 0, 1:
		return fmt.Sprintf("SELECT %s FROM %s%s", e.oneOf("*", "k, "+c, c+" AS x, k AS y"), e.table(), where)
	case 2:
		return fmt.Sprintf("SELECT %s, k FROM %s%s ORDER BY 1%s, 2 LIMIT %d OFFSET %d", c, e.table(), e.oneOf("", where), e.oneOf("", " DESC", " NULLS FIRST"), 1+e.IntN(50), e.IntN(9))
	case 3:
		return fmt.Sprintf("SELECT %s AS a, %s AS b FROM %s%s", e.call(""), e.call(""), e.table(), e.oneOf("", where))
	case 4:
		return fmt.Sprintf("SELECT %s, %s AS a, %s AS b FROM %s%s GROUP BY %s", c, e.call(""), e.call(""), e.table(), e.oneOf("", where), e.oneOf("ALL", "1", c))
	case 5:
		how := e.oneOf("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
		return fmt.Sprintf("SELECT a.k, a.%s, b.k, b.%s FROM %s a %s %s b ON a.fk = b.k AND %s WHERE %s", c, e.column().name, e.table(), how, e.table(), e.where(e.oneOf("a.", "b."), 0), e.where(e.oneOf("a.", "b."), 1))
	case 6:
		return fmt.Sprintf("SELECT a.k FROM %s a WHERE %sEXISTS (SELECT 1 FROM %s b WHERE b.k = a.fk AND %s) AND %s", e.table(), e.oneOf("", "NOT "), e.table(), e.where("b.", 1), e.where("a.", 1))
	case 7:
		return fmt.Sprintf("SELECT %[1]s, g FROM %[2]s%[3]s %[4]s SELECT %[1]s, g FROM %[5]s WHERE %[6]s", c, e.table(), where, e.oneOf("UNION", "EXCEPT", "INTERSECT", "UNION ALL"), e.table(), e.where("", 1))
	case 8:
		return fmt.Sprintf("SELECT k, %s OVER (%sORDER BY k) FROM odd.small%s", e.oneOf("lag("+c+")", "max("+c+")", "first_value("+c+")"), e.oneOf("", "PARTITION BY g "), where)
	}
	return fmt.Sprintf("SELECT DISTINCT %s, ok FROM %s%s", c, e.table(), where)
}

// TestEveryTypeAnswersAsDuckDBDoes compares statements over columns of every type
// that both know, in tables of several appends, under all the names of a table.
func TestEveryTypeAnswersAsDuckDBDoes(t *testing.T) {
	p, l := newPeer(t), startLake(t)
	server := l.query(t)
	c := client(t, server)
	p.must(t, "ATTACH ':memory:' AS lake; USE lake; CREATE SCHEMA odd; CREATE MACRO h(x) AS (hash(x) >> 8)::BIGINT")
	for table, ends := range map[string][]int{"odd.small": {0, 60, 299, 300}, "odd.big": {0, 4000, 4005, 8000}} {
		p.must(t, "CREATE TABLE "+table+" AS "+everyRow(0, 0))
		for i := range len(ends) - 1 {
			rows := everyRow(ends[i], ends[i+1])
			p.must(t, "INSERT INTO "+table+" "+rows)
			p.ingest(t, server, table, rows)
		}
	}
	seed, count := setting(t, "LAKE_SQL_SEED", 1), int(setting(t, "LAKE_SQL_COUNT", everyStatement))
	some, failed := 0, 0
	for i := range count {
		sql := every{&generator{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}}.statement()
		n, err := compare(t.Context(), p, c, sql)
		require.NoError(t, err, "seed %d, statement %d:\n%s", seed, i, sql)
		if n > 0 {
			some++
		}
		if n < 0 {
			failed++
		}
	}
	t.Logf("%d statements: %d with rows, %d refused by both engines", count, some, failed)
	require.Greater(t, some, count/2, "too many statements prove nothing")
	require.Less(t, failed, count/10, "too many statements are wrong in themselves")
	require.Greater(t, server.gauge(t, "lake_query_direct_total"), float64(count/20), "what is answered directly has to be compared too")
}
