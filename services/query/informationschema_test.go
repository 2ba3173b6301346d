// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestTheServiceAnswersWhatAsksAboutTables(t *testing.T) {
	l := newLake(t)
	l.authority.create(t, "lab.notes", simple)
	l.authority.create(t, "secret.types", everyType())
	r := l.replica()
	for _, tc := range []struct{ token, sql, want string }{
		{"ann-token", "SHOW TABLES", `{"name":"notes","namespace":"lab"} {"name":"types","namespace":"secret"}`},
		{"bob-token", "show tables", `{"name":"notes","namespace":"lab"}`},
		{"ann-token", "DESCRIBE lab.notes", `{"column_name":"id","column_type":"BIGINT","default":null,"extra":null,"key":null,"null":"NO"} {"column_name":"note","column_type":"VARCHAR","default":null,"extra":null,"key":null,"null":"YES"}`},
		{"ann-token", "DESCRIBE SELECT pose, vec, dec, ns, berlin FROM secret.types", `"pose","column_type":"STRUCT(x DOUBLE, frame VARCHAR)"`},
		{"ann-token", "SELECT schema_name FROM information_schema.schemata ORDER BY 1", `{"schema_name":"lab"} {"schema_name":"secret"}`},
		{"bob-token", "SELECT schema_name FROM information_schema.schemata ORDER BY 1", `{"schema_name":"lab"}`},
		{"ann-token", "SELECT count(*) AS n FROM lake.information_schema.tables", `{"n":2}`},
		{"bob-token", "SELECT count(*) AS n FROM INFORMATION_SCHEMA.Tables", `{"n":1}`},
		{"ann-token", `SELECT c.column_name, c.data_type, 'information_schema.x' AS text FROM "information_schema".columns AS c JOIN information_schema . tables AS t USING (table_schema, table_name) WHERE information_schema.columns.column_name IS NULL OR table_schema = 'lab' ORDER BY ordinal_position`, ""},
		{
			"ann-token", `SELECT c.column_name, c.is_nullable, c.data_type, 'information_schema.x' AS text FROM "information_schema".columns AS c /* information_schema.y */ JOIN information_schema . tables AS t USING (table_schema, table_name) WHERE table_schema = 'lab' ORDER BY ordinal_position`,
			`{"column_name":"id","data_type":"BIGINT","is_nullable":"NO","text":"information_schema.x"} {"column_name":"note","data_type":"VARCHAR","is_nullable":"YES","text":"information_schema.x"}`,
		},
		{
			"bob-token", "SELECT routine_name, routine_type FROM information_schema.routines WHERE routine_name IN ('sum', 'getenv', 'range', 'read_csv') ORDER BY ALL",
			`{"routine_name":"range","routine_type":"FUNCTION"} {"routine_name":"range","routine_type":"TABLE FUNCTION"} {"routine_name":"sum","routine_type":"FUNCTION"}`,
		},
		{"ann-token", "SELECT data_type, numeric_precision, numeric_scale FROM information_schema.columns WHERE column_name = 'dec'", `{"data_type":"DECIMAL(38,9)","numeric_precision":38,"numeric_scale":9}`},
	} {
		got, err := run(t, r.client(tc.token), tc.sql)
		if tc.want == "" {
			require.Equal(t, codes.InvalidArgument, status.Code(err), "%s: %v", tc.sql, err)
			continue
		}
		require.NoError(t, err, tc.sql)
		require.Contains(t, strings.Join(strings.Split(strings.TrimSpace(got.json(t)), "\n"), " "), tc.want, tc.sql)
	}
	for sql, want := range map[string]codes.Code{
		"SELECT * FROM information_schema.views":        codes.NotFound,
		"SELECT * FROM other.information_schema.tables": codes.InvalidArgument,
		"DESCRIBE secret.types":                         codes.NotFound,
		"SELECT * FROM duckdb_tables()":                 codes.InvalidArgument,
		"SELECT * FROM pg_catalog.pg_class":             codes.InvalidArgument,
	} {
		_, err := run(t, r.client("bob-token"), sql)
		require.Equal(t, want, status.Code(err), "%s: %v", sql, err)
	}
}

func TestExplainShowsAPlanWithoutRunningTheQuery(t *testing.T) {
	l := newLake(t)
	l.authority.create(t, "lab.notes", simple)
	l.authority.create(t, "lab.types", everyType())
	c := l.replica().client("ann-token")
	got, err := run(t, c, "EXPLAIN SELECT count(*) FROM lab.notes WHERE id > 5")
	require.NoError(t, err)
	require.Equal(t, []string{"explain_key", "explain_value"}, []string{got.schema.Field(0).Name, got.schema.Field(1).Name})
	require.Positive(t, got.rows())
	for sql, want := range map[string]string{
		"SELECT id FROM lab.notes WHERE id = 5": "Read from the table", "SELECT count(*) FROM lab.notes": "Folded while the table is read", "SELECT id + 1 FROM lab.notes": "",
		"SELECT key, dec FROM lab.types": "Read from the table", "SELECT dec + 1 FROM lab.types": "", "SELECT dec, dec FROM lab.types": "",
	} {
		got = mustRun(t, c, "EXPLAIN "+sql)
		key, value := got.batches[0].Column(0).(*array.String).Value(0), got.batches[0].Column(1).(*array.String).Value(0)
		require.Equal(t, want != "", key == "lake", sql)
		require.Contains(t, value, want, sql)
	}
	_, err = run(t, c, "EXPLAIN SELECT sum(range) FROM range(1000000000000)")
	require.NoError(t, err)
}

// What hostile text does through the wire: it is refused, and the server lives.
func TestHostileSQLIsRefused(t *testing.T) {
	l := newLake(t)
	l.authority.create(t, "lab.notes", simple)
	c := l.replica().client("ann-token")
	for _, sql := range []string{
		"", ";", "SELECT 1; SELECT 2", "SELECT 1; DROP TABLE lab.notes",
		"COPY lab.notes TO '/tmp/x'", "ATTACH '/tmp/x.db'", "INSTALL httpfs", "LOAD httpfs", "PRAGMA version", "SET threads = 1",
		"INSERT INTO lab.notes VALUES (1, 'a')", "UPDATE lab.notes SET id = 1", "DELETE FROM lab.notes", "CREATE TABLE x (a INT)", "EXPORT DATABASE '/tmp/x'",
		"SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM '/etc/passwd'", "SELECT * FROM 'a.parquet'", "SELECT * FROM glob('/*')",
		"SELECT getenv('HOME')", "SELECT current_setting('threads')", "SELECT * FROM query('SELECT 1')", "SELECT * FROM query_table('lab.notes')",
		"SELECT * FROM duckdb_settings()", "SELECT * FROM pragma_version()", "SELECT json_execute_serialized_sql('{}')", "SELECT * FROM lake_scan(1)", "SELECT * FROM lake_scan(1::UBIGINT)",
		"SELECT repeat('x', 10000000000)", "SELECT 'a' || chr(0)\x00", "SELECT '\xff\xfe'", "SELECT " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000),
		"EXPLAIN ANALYZE SELECT 1", "DESCRIBE DROP TABLE lab.notes", "SHOW ALL TABLES", "CALL pragma_version()", "BEGIN", "VACUUM", "CHECKPOINT", "USE lab",
		strings.Repeat("SELECT 1 UNION ALL ", 100_000) + "SELECT 1",
		"SELECT '" + strings.Repeat("x", 1<<20) + "'",
	} {
		info, err := c.Execute(t.Context(), sql)
		require.Nil(t, info, "%.100s", sql)
		// Text that is not UTF-8 cannot even be sent as a protobuf string.
		if utf8.ValidString(sql) {
			require.Equal(t, codes.InvalidArgument, status.Code(err), "%.100s: %v", sql, err)
		} else {
			require.ErrorContains(t, err, "UTF-8")
		}
	}
	mustRun(t, c, "SELECT 1")
}
