// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine/duck"
	"github.com/lakeplane/lake/services/query/gate"
)

// parser is the engine's own: what matters is how it reads a text.
var parser = sync.OnceValue(func() *duck.Engine {
	e, err := duck.New(duck.Options{})
	if err != nil {
		panic(err)
	}
	return e
})

func check(sql string) (gate.Parsed, error) {
	return gate.New(parser(), gate.DefaultLimits()).Check(context.Background(), sql)
}

func names(refs []gate.Ref) string {
	var out []string
	for _, r := range refs {
		out = append(out, strings.TrimLeft(r.Catalog+"."+r.Schema+"."+r.Table, "."))
	}
	return strings.Join(out, " ")
}

func TestReferences(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT 1", ""},
		{"VALUES (1), (2)", ""},
		{"SELECT * FROM ns.t", "ns.t"},
		{"FROM ns.t", "ns.t"},
		{"TABLE ns.t", "ns.t"},
		{"SELECT * FROM lake.ns.t", "lake.ns.t"},
		{`SELECT * FROM "Odd.ns"."t-1"`, "Odd.ns.t-1"},
		{"SELECT * FROM t", "t"},
		{"SELECT * FROM ns.b JOIN ns.a USING (id), ns.b x", "ns.b ns.a"},
		{"SELECT * FROM ns.a NATURAL JOIN ns.b ASOF JOIN ns.c ON a.t >= c.t", "ns.a ns.b ns.c"},
		{"SELECT (SELECT max(x) FROM ns.a) FROM ns.b WHERE EXISTS (FROM ns.c) AND x IN (FROM ns.d) AND y > ALL (FROM ns.e)", "ns.a ns.b ns.c ns.d ns.e"},
		{"SELECT * FROM ns.a ORDER BY (SELECT x FROM ns.b) LIMIT (SELECT 1 FROM ns.c) OFFSET (SELECT 1 FROM ns.d)", "ns.a ns.b ns.c ns.d"},
		{"SELECT sum(x) FILTER (WHERE x IN (FROM ns.a)) OVER (PARTITION BY (SELECT 1 FROM ns.b) ORDER BY (SELECT 1 FROM ns.c)) FROM ns.d", "ns.a ns.b ns.c ns.d"},
		{"SELECT x FROM ns.a GROUP BY x HAVING count(*) > (SELECT 1 FROM ns.b) QUALIFY row_number() OVER () > (SELECT 1 FROM ns.c)", "ns.a ns.b ns.c"},
		{"SELECT list_transform(l, lambda x: x + (SELECT 1 FROM ns.b)) FROM ns.a", "ns.b ns.a"},
		{"SELECT [x FOR x IN (SELECT l FROM ns.a)]", "ns.a"},
		{"SELECT * FROM ns.a UNION ALL SELECT * FROM ns.b EXCEPT SELECT * FROM ns.c", "ns.a ns.b ns.c"},
		{"SELECT * FROM unnest((SELECT l FROM ns.a)), range((SELECT n FROM ns.b))", "ns.a ns.b"},
		{"PIVOT ns.a ON x IN (1, 2) USING sum(y)", "ns.a"},
		{"UNPIVOT ns.a ON x, y", "ns.a"},
		{"SELECT * FROM ns.a, LATERAL (SELECT * FROM ns.b WHERE b.x = a.x)", "ns.a ns.b"},
		{"SELECT * FROM ns.a TABLESAMPLE 10%", "ns.a"},
		{"SELECT * FROM information_schema.tables", "information_schema.tables"},
		{"SELECT CASE WHEN x THEN (SELECT 1 FROM ns.a) ELSE (SELECT 1 FROM ns.b) END FROM ns.c", "ns.a ns.b ns.c"},
		{"SELECT * REPLACE ((SELECT 1 FROM ns.a) AS x) FROM ns.b", "ns.a ns.b"},
		{"SELECT COLUMNS(lambda c: c LIKE 'a%') FROM ns.a", "ns.a"},
		{"VALUES ((SELECT 1 FROM ns.a))", "ns.a"},
		{"-- c\nSELECT /* ns.z */ '; FROM ns.y', \"ns.x\" FROM ns.a -- ns.b", "ns.a"},
		{"SELECT * FROM ns.été", "ns.été"},
		{"SELECT 1;", ""},
	} {
		p, err := check(c.sql)
		require.NoError(t, err, c.sql)
		require.Equal(t, gate.Select, p.Kind)
		require.Equal(t, c.want, names(p.References), c.sql)
	}
}

func TestCommonTableExpressions(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"WITH c AS (SELECT * FROM ns.a) SELECT * FROM c, C, \"c\"", "ns.a"},
		{"WITH c AS (SELECT 1) SELECT * FROM ns.c", "ns.c"},
		{"WITH c AS (SELECT 1), d AS (SELECT * FROM c) SELECT * FROM d", ""},
		{"WITH d AS (SELECT * FROM c), c AS (SELECT 1) SELECT * FROM d", "c"},
		{"WITH t AS (SELECT * FROM t) SELECT * FROM t", "t"},
		{"WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r WHERE x < 3) SELECT * FROM r", ""},
		{"WITH RECURSIVE r AS (SELECT x FROM ns.a UNION ALL SELECT x FROM r JOIN ns.b USING (x)) SELECT * FROM r", "ns.a ns.b"},
		{"SELECT * FROM (WITH c AS (SELECT 1) SELECT * FROM c), c", "c"},
		{"WITH c AS (SELECT 1) SELECT * FROM (WITH c AS (SELECT * FROM ns.a) SELECT * FROM c), c", "ns.a"},
		{"WITH c AS (SELECT 1) SELECT (SELECT count(*) FROM c), x FROM ns.a WHERE EXISTS (FROM c)", "ns.a"},
		{"WITH c AS MATERIALIZED (SELECT * FROM ns.a) SELECT * FROM c UNION ALL FROM c", "ns.a"},
		{"WITH c AS (WITH d AS (FROM ns.a) FROM d) SELECT * FROM c, d", "ns.a d"},
	} {
		p, err := check(c.sql)
		require.NoError(t, err, c.sql)
		require.Equal(t, c.want, names(p.References), c.sql)
	}
}

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		sql  string
		want gate.Parsed
	}{
		{"SELECT ?, ? FROM ns.t", gate.Parsed{References: []gate.Ref{{Schema: "ns", Table: "t"}}, Parameters: 2, Divisible: true}},
		{"SELECT $1, $1, $2", gate.Parsed{Parameters: 2}},
		{"SELECT $a, $b, $a", gate.Parsed{Parameters: 2}},
		{"show tables", gate.Parsed{Kind: gate.ShowTables}},
		{"describe ns.t", gate.Parsed{Kind: gate.Describe, References: []gate.Ref{{Schema: "ns", Table: "t"}}, Body: "    FROM ns.t", Divisible: true}},
		{"DESC SELECT 1", gate.Parsed{Kind: gate.Describe, Body: "     SELECT 1"}},
		{"DESCRIBE (SELECT ?)", gate.Parsed{Kind: gate.Describe, Body: "         (SELECT ?)", Parameters: 1}},
		{"explain\nFROM ns.t", gate.Parsed{Kind: gate.Explain, References: []gate.Ref{{Schema: "ns", Table: "t"}}, Body: "       \nFROM ns.t", Divisible: true}},
	} {
		p, err := check(c.sql)
		require.NoError(t, err, c.sql)
		p.Steady = false // TestSteadyStatements in services/query looks at it
		p.Direct = nil   // TestWhichStatementsAreAnsweredDirectly in services/query looks at it
		require.Equal(t, c.want, p, c.sql)
	}
}

// Each refusal says what is wrong; want is part of it.
var refusals = []struct{ sql, want string }{
	{"", "no statement"},
	{"-- only a comment", "no statement"},
	{";;", "no statement"},
	{"SELECT 1; SELECT 2", "2 statements"},
	{"SELECT 1; DROP TABLE t", "not allowed"},
	{"SELEC 1", `syntax error at or near "SELEC": want one SELECT in the dialect of DuckDB (at byte 0`},
	{"SELECT * FROM", "syntax error"},
	{"SELECT 1e999", "too large for a DOUBLE"},
	{"SELECT -1e999 + 1", "too large for a DOUBLE"},
	{"SELECT 'open", "unterminated"},
	{"SELECT '\x00'", "NUL byte: bind such bytes as a parameter (at byte 8"},
	{"SELECT '\xff'", "not UTF-8: bind such bytes as a parameter (at byte 8"},
	{"SELECT '" + strings.Repeat("x", lake.MaxSQLBytes) + "'", "at most 1048576 are allowed"},

	{"INSERT INTO ns.t VALUES (1)", "INSERT is not allowed: add rows with bulk ingest"},
	{"UPDATE ns.t SET a = 1", "UPDATE is not allowed"},
	{"DELETE FROM ns.t", "DELETE is not allowed"},
	{"MERGE INTO ns.t USING ns.u ON true WHEN MATCHED THEN DELETE", "MERGE is not allowed"},
	{"CREATE TABLE x (a INT)", "CREATE is not allowed"},
	{"CREATE MACRO f() AS 1", "CREATE is not allowed"},
	{"DROP TABLE ns.t", "DROP is not allowed"},
	{"ALTER TABLE ns.t ADD COLUMN a INT", "ALTER is not allowed"},
	{"TRUNCATE ns.t", "TRUNCATE is not allowed"},
	{"COPY (SELECT 1) TO '/tmp/x'", "COPY is not allowed"},
	{"COPY ns.t FROM '/etc/passwd'", "COPY is not allowed"},
	{"EXPORT DATABASE '/tmp/x'", "EXPORT is not allowed"},
	{"IMPORT DATABASE '/tmp/x'", "IMPORT is not allowed"},
	{"ATTACH '/tmp/x.db'", "ATTACH is not allowed"},
	{"DETACH lake", "DETACH is not allowed"},
	{"INSTALL httpfs", "INSTALL is not allowed"},
	{"LOAD httpfs", "LOAD is not allowed"},
	{"PRAGMA version", "not allowed"},
	{"SET threads = 1", "SET is not allowed"},
	{"RESET threads", "RESET is not allowed"},
	{"USE ns", "USE is not allowed"},
	{"CALL pragma_version()", "CALL is not allowed"},
	{"BEGIN", "BEGIN is not allowed"},
	{"PREPARE p AS SELECT 1", "PREPARE is not allowed"},
	{"EXECUTE p", "EXECUTE is not allowed"},
	{"VACUUM", "VACUUM is not allowed"},
	{"CHECKPOINT", "not allowed"},
	{"PIVOT ns.t ON x USING sum(y)", "list the values"},
	{"WITH c AS (INSERT INTO t VALUES (1) RETURNING *) FROM c", ""},
	{"/* c */ InSeRt INTO t VALUES (1)", "INSERT is not allowed"},

	{"SHOW ALL TABLES", "only SHOW TABLES"},
	{"SHOW DATABASES", "only SHOW TABLES"},
	{"SUMMARIZE ns.t", "only SHOW TABLES"},
	{"SELECT * FROM (DESCRIBE ns.t)", `"SHOW" is not supported`},
	{"SELECT * FROM (SUMMARIZE ns.t)", `"SHOW" is not supported`},
	{"EXPLAIN ANALYZE SELECT 1", "takes no options"},
	{"EXPLAIN", "EXPLAIN what?"},
	{"EXPLAIN EXPLAIN SELECT 1", "not EXPLAIN"},
	{"EXPLAIN INSERT INTO t VALUES (1)", "INSERT is not allowed"},
	{"DESCRIBE DESCRIBE t", "not DESCRIBE"},
	{"DESCRIBE (INSERT INTO t VALUES (1))", ""},
	{"DESCRIBE t; SELECT 1", "2 statements"},
	{"EXPLAIN SELECT 1; SELECT 2", "2 statements"},

	{"SELECT * FROM read_text('/etc/passwd')", `table function "read_text" is not allowed`},
	{"SELECT * FROM read_csv('/etc/passwd')", "not allowed"},
	{"SELECT * FROM read_parquet(['a.parquet'])", "not allowed"},
	{"SELECT * FROM read_json_auto('x')", "not allowed"},
	{"SELECT * FROM read_blob('x')", "not allowed"},
	{"SELECT * FROM parquet_metadata('x')", "not allowed"},
	{"SELECT * FROM glob('/*')", "not allowed"},
	{"SELECT * FROM sniff_csv('x')", "not allowed"},
	{"SELECT * FROM query('SELECT 1')", "not allowed"},
	{"SELECT * FROM query_table('t')", "not allowed"},
	{"SELECT * FROM json_execute_serialized_sql('{}')", "not allowed"},
	{"SELECT * FROM duckdb_settings()", "not allowed"},
	{"SELECT * FROM pragma_version()", "not allowed"},
	{"SELECT * FROM lake_scan(1::UBIGINT)", "not allowed"},
	{"SELECT * FROM seq_scan('t')", "not allowed"},
	{"SELECT * FROM arrow_scan(1, 2, 3)", "not allowed"},
	{"SELECT * FROM system.main.range(3)", "range"},
	{"SELECT * FROM 'file.parquet'", "looks like a file"},
	{"SELECT * FROM '/etc/passwd'", "looks like a file"},
	{"SELECT * FROM 's3://bucket/x.csv'", "looks like a file"},
	{`SELECT * FROM "data.json"`, "looks like a file"},
	{"SELECT * FROM duckdb_tables", "engine's own tables"},
	{"SELECT * FROM sqlite_master", "engine's own tables"},
	{"SELECT * FROM pg_catalog.pg_class", "engine's own tables"},
	{"SELECT * FROM system.information_schema.tables", "engine's own tables"},
	{"SELECT * FROM temp.main.x", "engine's own tables"},
	{"SELECT * FROM ns.t AT (VERSION => 3)", "AT is not supported"},

	{"SELECT getenv('HOME')", "function getenv is not allowed: it reads the server's environment"},
	{"SELECT current_setting('threads')", "reads the server's settings; "},
	{"SELECT getvariable('x')", "not allowed"},
	{"SELECT json_serialize_plan('SELECT 1')", "plans SQL text"},
	{"SELECT json_execute_serialized_sql('{}')", "runs SQL text"},
	{"SELECT nextval('s')", "changes a sequence"},
	{"SELECT setseed(0.5)", "changes the session"},
	{"SELECT pg_sleep(1)", "pg_catalog"},
	{"SELECT sleep_ms(1)", "without working"},
	{"SELECT write_log('x')", "log"},
	{"SELECT reservoir_quantile(x, 0.5) FROM ns.t", "can hang"},
	{"SELECT pg_catalog.upper('x')", "called in a schema"},
	{"SELECT ns.f(1)", "not known"},
	{"SELECT s.repeat(2000000) FROM ns.t", "at most 1000000"},
	{"SELECT t.s.lpad(n, 'x') FROM ns.t", "write least"},
	{"SELECT n.range(5) FROM ns.t", "bounded integers"},
	{"SELECT main.repeat('x', 2000000)", "at most 1000000"},
	{"SELECT no_such_function(1)", "not known"},
	{"SELECT x.getenv() FROM ns.t", ""},
	{"SELECT 1 " + strings.Repeat("/*", 100_000), "comments lie inside comments: at most 64 deep are allowed (at byte 9 "},
	{"SELECT 1 " + strings.Repeat("/*", 100_000) + strings.Repeat("*/", 100_000), "comments lie inside comments"},
	{"SELECT 1::" + strings.Repeat("STRUCT(a ", 250) + "INTEGER" + strings.Repeat(")", 250), "nests too deep"},
	{"SELECT * FROM " + strings.Repeat("a.", 1000) + "a", "too many parts"},
	{"SELECT 1; SELECT 2", "(at byte 10 of"},
	{" DESC\n SELECT getenv('x')", "getenv is not allowed: it reads the server's environment; SELECT routine_name FROM information_schema.routines lists those that are (at byte 14 of"},
	{"explain  SELECT getenv('x')", "(at byte 16 of"},
	{"DESC getenv('x')", "(at byte 5 of"},
	{"explain describe ns.t", "not DESCRIBE: write what that is about (at byte 8 of"},
	{"  SELECT 1 + ", "syntax error at end of input: want one SELECT in the dialect of DuckDB (at byte"},
	{"SELECT list_aggregate([1], 'reservoir_quantile')", "can hang"},
	{"SELECT list_aggregate([1], lower('SUM'))", "must be named in the text"},
	{"SELECT arg_max(a, b) OVER () FROM ns.t", "arg_max OVER is not supported"},
	{"SELECT sum(x) FILTER (getenv('A') = 'b') FROM ns.t", "getenv"},
	{"SELECT * FROM range(getenv('A')::INT)", "getenv"},
	{"SELECT 1 ORDER BY getenv('A')", "getenv"},
	{"SELECT 1 LIMIT (SELECT getenv('A')::INT)", "getenv"},
	{"SELECT list_transform([1], lambda x: getenv('A'))", "getenv"},
	{"SELECT * FROM ns.t POSITIONAL JOIN query('x')", "query"},
	{"WITH c AS (SELECT getenv('A')) SELECT 1", "getenv"},
	{"SELECT CASE WHEN false THEN getenv('A') END", "getenv"},
	{"SELECT (SELECT getenv('A'))", "getenv"},
	{"SELECT COLUMNS(lambda c: getenv(c) = 'x') FROM ns.t", "getenv"},
	{"SELECT x FROM ns.t GROUP BY GROUPING SETS ((getenv('A')))", "getenv"},
	{"SELECT string_agg(x ORDER BY getenv('A')) FROM ns.t", "getenv"},
	{"VALUES (getenv('A'))", "getenv"},

	{"SELECT repeat('x', 1000001)", "at most 1000000"},
	{"SELECT repeat('x', n) FROM ns.t", "write least(count, 1000000)"},
	{"SELECT repeat('x', ?)", "write least"},
	{"SELECT repeat('x', (SELECT 1000000000))", "write least"},
	{"SELECT repeat(repeat('x', 1000000), 1000000)", "too large"},
	{"SELECT lpad(repeat(lpad(s, 1000), 100), 11) FROM ns.t", "multiplied may be at most 1000000"},
	{"SELECT list_transform(range(1000000), lambda x: repeat('a', 1000))", "repeat inside a list of many elements could make a value too large"},
	{"SELECT [repeat('a', 1000) FOR x IN range(1000000)]", "too large"},
	{"SELECT list_transform(range(1000), lambda x: list_transform(range(1000), lambda y: list_transform(range(1000), lambda z: x)))", "range inside"},
	{"SELECT replace(repeat('a', 1000000), 'a', repeat('b', 1000000))", "replace could make a value too large"},
	{"SELECT array_to_string(list_transform(range(1000000), lambda x: 'x'), repeat('b', 1000000))", "array_to_string could make"},
	{"SELECT concat(" + strings.Repeat("repeat('x', 1000000), ", 70) + "'')", "add up to at most 64000000"},
	{"SELECT ('x').repeat(2000000)", "at most 1000000"},
	{"SELECT repeat('x', 1000 * 1000 * 1000)", "at most"},
	{"SELECT repeat('x', 9223372036854775807 + 9223372036854775807)", "at most"},
	{"SELECT repeat('x', 10 - n) FROM ns.t", "write least"},
	{"SELECT repeat('x', 1000000 // 0.001)", "write least"},
	{"SELECT repeat('x', len(s) * 1000000) FROM ns.t", "write least"},
	{"SELECT lpad('x', 2000000, 'y')", "at most 1000000"},
	{"SELECT rpad('x', n, 'y') FROM ns.t", "write least"},
	{"SELECT range(10000000)", "at most 1000000 elements"},
	{"SELECT range(-5000000, 5000000)", "at most 1000000 elements"},
	{"SELECT generate_series(n, 5) FROM ns.t", "bounded integers"},
	{"SELECT range(DATE '2020-01-01', DATE '2021-01-01', INTERVAL 1 DAY)", "bounded integers"},
	{"SELECT unnest(range(100000000))", "at most 1000000 elements"},
	{"SELECT list_resize([1], 100000000)", "at most 1000000"},
	{"SELECT format('{:>100000000}', 1)", "at most 4 digits"},
	{"SELECT printf('%100000000d', 1)", "at most 4 digits"},
	{"SELECT printf('%*d', 100000000, 1)", "at most 4 digits"},
	{"SELECT format('{:{}}', 1, 100000000)", "at most 4 digits"},
	{"SELECT format(x, 1) FROM ns.t", "given in the text"},
	{"SELECT max(x, 100000000) FROM ns.t", "at most 10000"},

	{"SELECT " + strings.Repeat("(", 600_000), ""},
	{"SELECT " + strings.Repeat("abs(", 300) + "1" + strings.Repeat(")", 300), "nests too deep: at most 200"},
	{"SELECT " + strings.Repeat("NOT ", 5000) + "true", ""},
	{"SELECT 1" + strings.Repeat("+1", 300), "nests too deep"},
	{"SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 14_000), "at most 256"},
	{"SELECT 1" + strings.Repeat(" UNION SELECT 1 EXCEPT SELECT 2", 120), "nests too deep"},
	{"SELECT [" + strings.Repeat("1,", 25_000) + "1]", "more than 20000 nodes"},
	{"SELECT [" + strings.Repeat("1,", 50_000) + "1]", "words and signs"},
	{"SELECT true" + strings.Repeat(" AND true", 9000), "ANDs and ORs"},
	{"SELECT * FROM a" + strings.Repeat(", a", 33), "at most 32 joins"},
	{"WITH c AS (SELECT * FROM a, a b, a d, a e, a f) SELECT * FROM c, c c2, c c3, c c4, c c5, c c6, c c7, c c8", "at most 32 joins"},
	{"SELECT " + strings.Repeat("list_transform([1], lambda x: ", 4) + "1" + strings.Repeat(")", 4), "at most 3 deep"},
}

func TestRefusals(t *testing.T) {
	for _, c := range refusals {
		t.Run(c.sql[:min(len(c.sql), 60)], func(t *testing.T) {
			start := time.Now()
			_, err := check(c.sql)
			require.Error(t, err)
			require.Equal(t, lake.Invalid, lake.KindOf(err), "%v", err)
			require.ErrorContains(t, err, c.want)
			require.Less(t, len(err.Error()), 400)
			require.Regexp(t, `\(at byte \d+ of the statement\)$`, err.Error(), "where")
			require.Regexp(t, `[:;?] |at most`, err.Error(), "what instead")
			require.Less(t, time.Since(start), 30*time.Second) // a minute and more without the limits
		})
	}
}

// Exponential expansion through WITH queries is caught before it is planned.
func TestCTEExpansion(t *testing.T) {
	doubling := func(n int) string {
		sql := "WITH c0 AS (SELECT 1)"
		for i := range n {
			sql += fmt.Sprintf(", c%d AS (SELECT * FROM c%d UNION ALL SELECT * FROM c%d)", i+1, i, i)
		}
		return sql + fmt.Sprintf(" SELECT * FROM c%d", n)
	}
	_, err := check(doubling(10))
	require.ErrorContains(t, err, "expand to more than 64")
	_, err = check(doubling(4))
	require.NoError(t, err)
}

// What people and BI tools write must pass.
func TestAllowed(t *testing.T) {
	for _, sql := range []string{
		"SELECT a, b::DECIMAL(10,2), TRY_CAST(c AS INTEGER[]), d::JSON, e::STRUCT(x INT), f::TIMESTAMPTZ FROM ns.t",
		"SELECT count(*), count(DISTINCT a), sum(b) FILTER (WHERE b > 0), string_agg(c, ',' ORDER BY c), quantile_cont(b, 0.5) FROM ns.t",
		"SELECT date_trunc('day', ts), extract(year FROM ts), ts + INTERVAL 1 DAY, ts AT TIME ZONE 'UTC', now(), current_date FROM ns.t",
		"SELECT CASE a WHEN 1 THEN 'x' ELSE 'y' END, coalesce(a, b), nullif(a, b), ifnull(a, 1), a IS NULL, a IS DISTINCT FROM b FROM ns.t",
		"SELECT a LIKE 'x%', a ILIKE 'x', a SIMILAR TO 'x', a GLOB 'x*', regexp_matches(a, 'b'), a ^@ 'x' FROM ns.t",
		"SELECT a IN (1,2,3), a NOT IN (SELECT 1), a BETWEEN 1 AND 2, NOT a, -a, a ** 2, a % 3, a // 2, ~a, a & 1, a << 2 FROM ns.t",
		"SELECT l[1], l[1:2], l[-1], s.x, s['x'], m['k'], {'a': 1}, [1,2], MAP {'a': 1}, len(l), list_contains(l, 1) FROM ns.t",
		"SELECT list_transform(l, lambda x, i: x + i), [x + 1 FOR x IN l IF x > 2], list_filter(l, lambda x: x > 1), list_reduce(l, lambda a, b: a + b) FROM ns.t",
		"SELECT list_aggregate(l, 'sum'), list_sum(l), array_cosine_similarity(v, v), list_distance(l, l) FROM ns.t",
		"SELECT row_number() OVER (PARTITION BY a ORDER BY b DESC NULLS LAST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), lag(a, 1, 0) OVER w, first_value(a) OVER w FROM ns.t WINDOW w AS (ORDER BY a)",
		"SELECT a, grouping(a) FROM ns.t GROUP BY CUBE (a, b), ROLLUP (c), GROUPING SETS ((a), ()) HAVING count(*) > 1",
		"SELECT * EXCLUDE (a) RENAME (b AS c) FROM ns.t", "SELECT t.* FROM ns.t", "SELECT COLUMNS('a.*') FROM ns.t",
		"SELECT DISTINCT ON (a) a, b FROM ns.t ORDER BY ALL LIMIT 10 OFFSET 5", "SELECT a FROM ns.t GROUP BY ALL", "SELECT a FROM ns.t LIMIT 10%",
		"SELECT unnest([1,2]), unnest(s, recursive := true) FROM ns.t", "SELECT * FROM range(10) r(i), generate_series(1, 100000000)",
		"SELECT * FROM unnest([1,2]) WITH ORDINALITY", "SELECT repeat('x', 3), lpad(a, 5, '0'), repeat('-', least(n, 10)), range(len(l)), range(0, len(l) + 1) FROM ns.t",
		"SELECT list_transform(range(1000), lambda x: repeat('a', 1000)), list_transform(l, lambda x: lpad(x, 1000)), replace(repeat('a', 1000), 'a', repeat('b', 1000)), [l[i] || lpad(s, 20) FOR i IN range(1, len(l) + 1)] FROM ns.t",
		"SELECT lpad(lpad(s, 12, '*'), 12, '*'), rpad(repeat('-', 1000), 1000), list_resize(list_resize(l, 1000), 1000) FROM ns.t",
		"SELECT repeat('x', 1000 * 1000), repeat('x', n % 10), repeat('x', 10 - len(s)), printf('%05d', a), format('{:>8.2f} {{}}', b) FROM ns.t",
		"SELECT 'a' COLLATE NOCASE, E'\\n', $$x$$, 0x10, 1e5, 1_000, '\\x01'::BLOB", "SELECT try(1 / a), a.upper(), a->'$.x', a->>'x' FROM ns.t",
		"SELECT max(a, 3), arg_max(a, b), any_value(a), mode(a), histogram(a), approx_count_distinct(a) FROM ns.t",
		"SELECT * FROM ns.a SEMI JOIN ns.b USING (x) ANTI JOIN ns.c USING (x) POSITIONAL JOIN ns.d",
		"FROM ns.t SELECT a WHERE a > 1", "(SELECT 1) UNION (SELECT 2) ORDER BY 1", "SELECT version(), current_schema(), current_database()",
		"SELECT #1 FROM ns.t", "SELECT a FROM ns.t USING SAMPLE 10 ROWS", "SELECT uuid(), random(), hash(a), md5(a) FROM ns.t",
		"SELECT " + strings.Repeat("a,", 5000) + "a FROM ns.t", "SELECT '" + strings.Repeat("and or ", 100_000) + "'",
		"SELECT 1" + strings.Repeat("+1", 90), "SELECT * FROM ns.t WHERE a IN (" + strings.Repeat("1,", 9000) + "1)",
	} {
		_, err := check(sql)
		require.NoError(t, err, sql[:min(len(sql), 200)])
	}
}

func BenchmarkCheck(b *testing.B) {
	sql := "SELECT a, count(*), sum(b) FROM ns.t JOIN ns.u USING (id) WHERE a > 1 AND b LIKE 'x%' GROUP BY a ORDER BY 2 DESC LIMIT 10"
	for b.Loop() {
		if _, err := check(sql); err != nil {
			b.Fatal(err)
		}
	}
}
