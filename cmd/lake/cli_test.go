// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/sdk/sdktest"
)

func TestRowsGoInAndComeOutInEveryFormat(t *testing.T) {
	r := lakeRun(t, "table", "create", "robots.episodes", "--column", "robot_id:utf8", "--column", "episode:i64", "--column", "reward:f64?")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stdout)
	file := put(t, "e.csv", "robot_id,episode,reward\narm-1,1,0.5\n\"arm, \"\"2\"\"\",2,\n")
	r = lakeRun(t, "ingest", "robots.episodes", file)
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stdout)
	require.Contains(t, r.stderr, "e.csv: 2 rows in 1 append appended to robots.episodes, version 2")

	query := "SELECT robot_id, episode, reward, '' AS e FROM robots.episodes ORDER BY episode"
	require.Equal(t, ""+
		" robot_id │ episode │ reward │ e\n"+
		" utf8     │ i64     │ f64    │ utf8\n"+
		"──────────┼─────────┼────────┼──────\n"+
		" arm-1    │       1 │    0.5 │\n"+
		" arm, \"2\" │       2 │ NULL   │\n", must(t, "sql", query))
	require.Equal(t, "robot_id,episode,reward,e\narm-1,1,0.5,\"\"\n\"arm, \"\"2\"\"\",2,,\"\"\n", must(t, "sql", query, "--format", "csv"))
	require.Equal(t, `{"robot_id":"arm-1","episode":1,"reward":0.5,"e":""}`+"\n"+`{"robot_id":"arm, \"2\"","episode":2,"reward":null,"e":""}`+"\n",
		must(t, "sql", query, "--format", "json"))
	require.Contains(t, lakeRun(t, "sql", query).stderr, "2 rows in ")

	require.Contains(t, must(t, "table", "list"), " robots.episodes │       2 │ ")
	require.Contains(t, must(t, "table", "list", "robots", "--format", "csv"), "robots.episodes,2,")
	require.Equal(t, "table,version,created,updated,incarnation\n", must(t, "table", "list", "nothing", "--format", "csv"))
	require.Contains(t, must(t, "table", "describe", "robots.episodes"), " reward   │ f64  │ true\n")
	var described struct {
		Table   string
		Version int
		Columns []describedColumn
	}
	require.NoError(t, json.Unmarshal([]byte(must(t, "table", "describe", "robots.episodes", "--format", "json")), &described))
	require.Equal(t, describedColumn{"reward", "f64", true}, described.Columns[2])
	require.Equal(t, 2, described.Version)
}

func TestQueryMayComeFromStandardInput(t *testing.T) {
	var out, errs strings.Builder
	code := run(t.Context(), []string{"sql", "-", "--format", "csv", "--addr", served.State().Query}, strings.NewReader("SELECT 1 AS x"), &out, &errs)
	require.Zero(t, code, errs.String())
	require.Equal(t, "x\n1\n", out.String())
}

// parquetFile writes n rows.
func parquetFile(t *testing.T, name string, n int) string {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append(strings.Repeat("x", i%7))
	}
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	require.NoError(t, err)
	w, err := pqarrow.NewFileWriter(schema, f, nil, pqarrow.DefaultWriterProps())
	require.NoError(t, err)
	require.NoError(t, w.Write(b.NewRecordBatch()))
	require.NoError(t, w.Close())
	return path
}

func TestIngestCreatesTheTableAndAppendsInParts(t *testing.T) {
	file := parquetFile(t, "big.parquet", 25_000)
	r := lakeRun(t, "ingest", "demo.big", file, file)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "created table demo.big with the 2 columns of big.parquet\n")
	require.Contains(t, r.stderr, "25,000 rows in 3 appends appended to demo.big, version 4")
	require.Contains(t, r.stderr, "version 7")
	require.Equal(t, "c,d,t\n50000,25000,624975000\n", must(t, "sql", "SELECT count(*) AS c, count(DISTINCT n) AS d, sum(n)::BIGINT AS t FROM demo.big", "--format", "csv"))
}

func TestBadInputGivesOneErrorAndLeavesNothing(t *testing.T) {
	good := parquetFile(t, "good.parquet", 1000)
	whole, err := os.ReadFile(good)
	require.NoError(t, err)
	must(t, "table", "create", "bad.t", "--column", "a:i64", "--column", "b:utf8?")
	before := must(t, "table", "list", "--format", "csv")

	for name, test := range map[string]struct {
		code int
		says string
		args []string
	}{
		"unknown type":        {2, `unknown type "int99": want one of bool i8`, []string{"table", "create", "bad.x", "--column", "a:int99"}},
		"position":            {2, "at byte 13: the scale", []string{"table", "create", "bad.x", "--column", "a:decimal(4,9)"}},
		"duplicate column":    {2, `column "a" occurs twice`, []string{"table", "create", "bad.x", "--column", "a:i8", "--column", "a:i8"}},
		"no column":           {2, "at least one column", []string{"table", "create", "bad.x"}},
		"dots":                {2, `namespace`, []string{"table", "create", "...", "--column", "a:i8"}},
		"parent":              {2, `table name ".." is reserved`, []string{"table", "create", "bad...", "--column", "a:i8"}},
		"slash":               {2, "'/' at byte 1", []string{"table", "create", "bad.a/b", "--column", "a:i8"}},
		"empty":               {2, "table name is empty", []string{"table", "create", "bad.", "--column", "a:i8"}},
		"no namespace":        {2, "want namespace.name", []string{"table", "create", "bad", "--column", "a:i8"}},
		"long":                {2, "at most 128", []string{"table", "create", "bad." + strings.Repeat("x", 129), "--column", "a:i8"}},
		"look-alike":          {2, "'е'", []string{"table", "create", "bad.е", "--column", "a:i8"}},
		"taken":               {1, "bad.t", []string{"table", "create", "bad.t", "--column", "a:i8"}},
		"refused column name": {1, "x.y", []string{"table", "create", "bad.x", "--column", "x.y:i8"}},
		"unknown table":       {1, "bad.missing", []string{"sql", "SELECT * FROM bad.missing"}},
		"no select":           {1, "DROP is not allowed", []string{"sql", "DROP TABLE bad.t"}},
		"two statements":      {1, "one at a time", []string{"sql", "SELECT 1; SELECT 2"}},
		"syntax":              {1, "syntax error", []string{"sql", "SELEC 1"}},
		"describe":            {1, "bad.missing", []string{"table", "describe", "bad.missing"}},
		"drop":                {1, "bad.missing", []string{"table", "drop", "bad.missing", "--yes"}},
		"undrop":              {1, "no drop of table bad.missing", []string{"table", "undrop", "bad.missing"}},
		"undrop live":         {1, "a table carries the name", []string{"table", "undrop", "bad.t"}},
		"undrop incarnation":  {2, "UUID", []string{"table", "undrop", "bad.t", "--incarnation", "x"}},
		"undrop nothing":      {2, "lake table undrop NAMESPACE.TABLE", []string{"table", "undrop"}},
		"drop unasked":        {2, "--yes", []string{"table", "drop", "bad.t"}},
		"not parquet":         {1, "file t.parquet: not a Parquet", []string{"ingest", "bad.x", put(t, "t.parquet", "text")}},
		"truncated parquet":   {1, "file cut.parquet: not a whole Parquet file", []string{"ingest", "bad.x", put(t, "cut.parquet", string(whole[:len(whole)/2]))}},
		"damaged parquet":     {1, "file hurt.parquet: column", []string{"ingest", "bad.x", put(t, "hurt.parquet", "PAR1"+strings.Repeat("\xff", 3000)+string(whole[3004:]))}},
		"missing file":        {1, "does not exist", []string{"ingest", "bad.x", "/nonexistent/file.parquet"}},
		"no create":           {1, "bad.x", []string{"ingest", "bad.x", good, "--create=false"}},
		"other columns":       {1, `column "c" is not in the table`, []string{"ingest", "bad.t", put(t, "o.csv", "a,c\n1,x\n")}},
		"other type":          {1, `"x" is not a value of type int64`, []string{"ingest", "bad.t", put(t, "o.csv", "a,b\nx,x\n")}},
		"second file":         {1, "file s.csv: ", []string{"ingest", "bad.t", put(t, "f.csv", "a,b\n1,x\n"), put(t, "s.csv", "zz\n1\n")}},
		"delimiter":           {2, "want one character", []string{"ingest", "bad.t", good, "--delimiter", ";;"}},
		"no file":             {2, "lake ingest NAMESPACE.TABLE FILE", []string{"ingest", "bad.t"}},
		"format":              {2, `format "xml": want table, json or csv`, []string{"table", "list", "--format", "xml"}},
		"flag":                {2, "unknown flag: --frob", []string{"table", "list", "--frob"}},
		"command":             {2, `unknown command "frob"`, []string{"frob"}},
		"subcommand":          {2, `unknown command "frob" for "lake table"`, []string{"table", "frob"}},
		"procedure":           {2, "want kind/id", []string{"procedure", "show", "x"}},
		"no procedure":        {1, "drop-table/a/b/", []string{"procedure", "watch", "a/b/01a22921-067c-7000-a0cd-65bfbd63450d"}},
		"token file":          {1, "token file", []string{"table", "list", "--token-file", "/nonexistent"}},
	} {
		t.Run(name, func(t *testing.T) { fails(t, test.code, test.says, test.args...) })
	}
	require.Equal(t, before, must(t, "table", "list", "--format", "csv"), "no table was made or changed")
	require.Empty(t, objectsOf(t, "bad/x"), "no object was left")
}

// objectsOf lists the objects whose key begins with a prefix.
func objectsOf(t *testing.T, prefix string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(served.State().DataDir, "objects", prefix, "*", "*"))
	require.NoError(t, err)
	return found
}

func TestUnreachableServerIsNamedWithAHint(t *testing.T) {
	r := lakeAt(t, "127.0.0.1:1", "table", "list")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "connect to 127.0.0.1:1")
	require.Contains(t, r.stderr, "`lake dev` starts one")
}

func TestDropWaitsForAWorkerWithoutTemporal(t *testing.T) {
	must(t, "table", "create", "gone.t", "--column", "a:i8")
	require.Contains(t, must(t, "table", "drop", "gone.t", "--dry-run", "--format", "json"), `"dry_run":true`)
	require.Contains(t, must(t, "table", "list", "gone"), "gone.t")
	out := must(t, "table", "drop", "gone.t", "--yes", "--reason", "test", "--format", "csv")
	id := strings.Split(strings.Split(out, "\n")[1], ",")[2]
	require.True(t, strings.HasPrefix(id, "drop-table/gone/t/"), id)
	fails(t, 1, "gone.t", "table", "describe", "gone.t")
	require.Contains(t, must(t, "procedure", "show", id), "pending")
	require.Contains(t, must(t, "procedure", "list", "--kind", "drop-table", "--format", "json"), `"state":"pending"`)
}

func TestCompactWaitsForAWorkerWithoutTemporal(t *testing.T) {
	must(t, "table", "create", "small.t", "--column", "a:i8")
	for range 3 {
		must(t, "ingest", "small.t", put(t, "a.csv", "a\n1\n"))
	}
	out := must(t, "table", "compact", "small.t", "--dry-run", "--format", "json")
	require.Contains(t, out, `"dry_run":true`)
	require.Contains(t, out, `"parts_before":3`)
	require.NotContains(t, must(t, "procedure", "list", "--format", "csv"), "table-maintenance/small")
	out = must(t, "table", "compact", "small.t", "--format", "csv")
	id := strings.Split(strings.Split(out, "\n")[1], ",")[2]
	require.True(t, strings.HasPrefix(id, "table-maintenance/small/t/"), id)
	require.Contains(t, must(t, "procedure", "show", id), "pending")
	require.Contains(t, must(t, "procedure", "list", "--kind", "table-maintenance", "--format", "json"), `"state":"pending"`)
	fails(t, 1, "small.none", "table", "compact", "small.none")
}

func TestDropSaysHowToUndoItAndUndropDoes(t *testing.T) {
	must(t, "table", "create", "back.t", "--column", "a:i8")
	must(t, "ingest", "back.t", put(t, "a.csv", "a\n1\n2\n"))
	before := must(t, "table", "describe", "back.t")
	const sum = "SELECT sum(a)::BIGINT AS s FROM back.t"
	require.Equal(t, "s\n3\n", must(t, "sql", sum, "--format", "csv"))

	r := lakeRun(t, "table", "drop", "back.t", "--dry-run", "--undrop-window", "1h")
	require.Contains(t, r.stderr, "it could be undone until ")
	r = lakeRun(t, "table", "drop", "back.t", "--yes", "--undrop-window", "1h", "--format", "csv")
	require.Zero(t, r.code, r.stderr)
	said := regexp.MustCompile(`^it can be undone until (\S+) \(\S+\): lake (table undrop back\.t --incarnation \S+)\n$`).FindStringSubmatch(r.stderr)
	require.NotNil(t, said, r.stderr)
	require.Contains(t, r.stdout, ","+said[1]+",", "the row has the time, too")
	fails(t, 1, "back.t", "sql", sum)

	require.Regexp(t, `^table,version,incarnation\nback\.t,2,[-0-9a-f]{36}\n$`, must(t, append(strings.Fields(said[2]), "--format", "csv")...))
	require.Equal(t, "s\n3\n", must(t, "sql", sum, "--format", "csv"), "at once")
	require.Equal(t, before, must(t, "table", "describe", "back.t"))
	require.Contains(t, must(t, "procedure", "list", "--format", "csv"), "cancelled")

	r = lakeRun(t, "table", "drop", "back.t", "--yes", "--undrop-window", "0")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr, "nothing can be promised")
	must(t, "table", "create", "back.t", "--column", "b:i8")
	must(t, "table", "drop", "back.t", "--yes", "--undrop-window", "1h")
	fails(t, 1, "2 dropped tables had the name, choose an incarnation", "table", "undrop", "back.t")
}

func TestWatchEndsWithTheProcedure(t *testing.T) {
	s := sdktest.New(t)
	put := func(id string, state lakepb.ProcedureState, failure string) {
		s.PutProcedure(&lakepb.Procedure{
			Kind: "drop-table", Id: id, State: state, Phase: "done", Counters: map[string]int64{"objects_deleted": 7}, LastError: failure, UiUrl: "http://ui/" + id,
		})
	}
	put("a/b/c", lakepb.ProcedureState_PROCEDURE_STATE_COMPLETED, "")
	r := lakeAt(t, s.Addr(), "procedure", "watch", "a/b/c")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "drop-table/a/b/c completed, done, objects_deleted=7\n", r.stdout)
	require.Contains(t, r.stderr, "Temporal UI: http://ui/a/b/c\n")

	put("a/b/d", lakepb.ProcedureState_PROCEDURE_STATE_FAILED, "disk on fire")
	r = lakeAt(t, s.Addr(), "procedure", "watch", "drop-table/a/b/d", "--format", "json")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stdout, `"state":"failed"`)
	require.Contains(t, r.stderr, "lake: procedure drop-table/a/b/d failed: disk on fire\n")
}

func TestVersionIsPrinted(t *testing.T) {
	require.Contains(t, must(t, "version"), "lake dev (go")
}

func TestTableOutputIsSafeAndAligned(t *testing.T) {
	var out strings.Builder
	w := rowsTo(&out, "table", []heading{{name: "a"}, {name: "b"}})
	w.(*tableWriter).clip = true
	for i := range widthRows + 1 {
		require.NoError(t, w.Row([]cell{{text: "x\x1b[31m\n", null: false}, {text: strings.Repeat("y", i%100), right: true}}))
	}
	require.NoError(t, w.Close())
	lines := strings.Split(out.String(), "\n")
	require.Len(t, lines, widthRows+4)
	require.Equal(t, " x\uFFFD[31m⏎ │ "+strings.Repeat("y", 60)+"…", lines[2+99])
	require.NotContains(t, out.String(), "\x1b")
}
