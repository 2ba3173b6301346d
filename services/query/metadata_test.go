// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/services/query"
)

// list redeems a metadata call's info and checks its schema.
func list(t testing.TB, c *flightsql.Client, schema *arrow.Schema) func(*flight.FlightInfo, error) *result {
	return func(info *flight.FlightInfo, err error) *result {
		t.Helper()
		require.NoError(t, err)
		announced, err := flight.DeserializeSchema(info.GetSchema(), memory.DefaultAllocator)
		require.NoError(t, err)
		require.True(t, announced.Equal(schema), "announced %s", announced)
		got, err := fetch(t, t.Context(), c, info)
		require.NoError(t, err)
		require.True(t, got.schema.Equal(schema), "sent %s", got.schema)
		return got
	}
}

// column joins a text column of all batches.
func column(r *result, i int) (out []string) {
	for _, b := range r.batches {
		for row := range int(b.NumRows()) {
			out = append(out, b.Column(i).ValueStr(row))
		}
	}
	return out
}

func threeTables(t testing.TB) (*lakeUnderTest, *replica) {
	l := newLake(t)
	for _, n := range []string{"lab.a_b", "lab.axb", "lab2.notes"} {
		l.authority.create(t, n, simple)
	}
	return l, l.replica()
}

func TestCatalogsAndSchemas(t *testing.T) {
	_, r := threeTables(t)
	c := r.client("ann-token")
	got := list(t, c, schema_ref.Catalogs)(c.GetCatalogs(t.Context()))
	require.Equal(t, []string{"lake"}, column(got, 0))
	got = list(t, c, schema_ref.TableTypes)(c.GetTableTypes(t.Context()))
	require.Equal(t, []string{"TABLE"}, column(got, 0))

	text := func(s string) *string { return &s }
	for _, tc := range []struct {
		catalog, pattern *string
		want             []string
	}{
		{nil, nil, []string{"lab", "lab2"}},
		{text("lake"), nil, []string{"lab", "lab2"}},
		{text(""), nil, nil},
		{text("other"), nil, nil},
		{nil, text(""), nil},
		{nil, text("lab"), []string{"lab"}},
		{nil, text("lab_"), []string{"lab2"}},
		{nil, text("%2"), []string{"lab2"}},
	} {
		got := list(t, c, schema_ref.DBSchemas)(c.GetDBSchemas(t.Context(), &flightsql.GetDBSchemasOpts{Catalog: tc.catalog, DbSchemaFilterPattern: tc.pattern}))
		require.Equal(t, tc.want, column(got, 1))
	}
	bob := r.client("bob-token")
	got = list(t, bob, schema_ref.DBSchemas)(bob.GetDBSchemas(t.Context(), &flightsql.GetDBSchemasOpts{}))
	require.Equal(t, []string{"lab"}, column(got, 1), "only what bob may know of")
}

func TestGetTablesPatterns(t *testing.T) {
	_, r := threeTables(t)
	text := func(s string) *string { return &s }
	all := []string{"lab.a_b", "lab.axb", "lab2.notes"}
	for _, tc := range []struct {
		name                   string
		token                  string
		catalog, schema, table *string
		types                  []string
		want                   []string
	}{
		{name: "nothing given is no filter (not the default schema)", want: all},
		{name: "catalog", catalog: text("lake"), want: all},
		{name: "another catalog", catalog: text("main")},
		{name: "objects without a catalog", catalog: text("")},
		{name: "objects without a schema", schema: text("")},
		{name: "exact schema", schema: text("lab"), want: all[:2]},
		{name: "schema pattern", schema: text("lab%"), want: all},
		{name: "one character", schema: text("lab_"), want: all[2:]},
		{name: "underscore matches any", table: text("a_b"), want: all[:2]},
		{name: "escaped underscore", table: text(`a\_b`), want: all[:1]},
		{name: "percent", table: text("%b"), want: all[:2]},
		{name: "escaped percent", table: text(`\%b`)},
		{name: "case matters", table: text("NOTES")},
		{name: "both", schema: text("lab2"), table: text("n%"), want: all[2:]},
		{name: "table type", types: []string{"VIEW", "TABLE"}, want: all},
		{name: "table type in lower case", types: []string{"table"}, want: all},
		{name: "table type of information_schema", types: []string{"BASE TABLE"}, want: all},
		{name: "other types", types: []string{"VIEW", "SYSTEM TABLE"}},
		{name: "grants", token: "bob-token", want: all[:2]},
		{name: "grants and pattern", token: "bob-token", schema: text("lab2")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.token == "" {
				tc.token = "ann-token"
			}
			c := r.client(tc.token)
			opts := flightsql.GetTablesOpts{Catalog: tc.catalog, DbSchemaFilterPattern: tc.schema, TableNameFilterPattern: tc.table, TableTypes: tc.types}
			got := list(t, c, schema_ref.Tables)(c.GetTables(t.Context(), &opts))
			var names []string
			for i, ns := range column(got, 1) {
				names = append(names, ns+"."+column(got, 2)[i])
			}
			require.Equal(t, tc.want, names)
			opts.IncludeSchema = true
			got = list(t, c, schema_ref.TablesWithIncludedSchema)(c.GetTables(t.Context(), &opts))
			require.EqualValues(t, len(tc.want), got.rows())
			for _, b := range got.batches {
				for row := range int(b.NumRows()) {
					s, err := flight.DeserializeSchema(b.Column(4).(*array.Binary).Value(row), memory.DefaultAllocator)
					require.NoError(t, err)
					require.True(t, s.Equal(simple))
				}
			}
		})
	}
}

func TestATableIsListedAsSoonAsItExists(t *testing.T) {
	l, r := threeTables(t)
	c := r.client("ann-token")
	tables := func() []string {
		return column(list(t, c, schema_ref.Tables)(c.GetTables(t.Context(), &flightsql.GetTablesOpts{})), 2)
	}
	require.Len(t, tables(), 3)
	l.authority.create(t, "lab.new", simple)
	require.Contains(t, tables(), "new")
}

func TestAnAnswerTooLongIsRefused(t *testing.T) {
	l := newLake(t)
	for i := range 11 {
		l.authority.create(t, fmt.Sprintf("lab.t%02d", i), simple)
	}
	c := l.replica(func(o *query.Options) { o.DiscoveryRows = 10 }).client("ann-token")
	info, err := c.GetTables(t.Context(), &flightsql.GetTablesOpts{})
	require.NoError(t, err)
	_, err = fetch(t, t.Context(), c, info)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorContains(t, err, "more than 10 tables match: narrow the patterns")
}

// The report: a JDBC driver crashed on codes a server did not answer.
func TestEverySQLInfoCodeIsAnswered(t *testing.T) {
	c := newLake(t).replica().client("ann-token")
	got := list(t, c, schema_ref.SqlInfo)(c.GetSqlInfo(t.Context(), nil))
	answered := map[int32]any{}
	for _, b := range got.batches {
		union := b.Column(1).(*array.DenseUnion)
		for row := range int(b.NumRows()) {
			answered[int32(b.Column(0).(*array.Uint32).Value(row))] = union.GetOneForMarshal(row)
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(pb.SqlInfo_name)), slices.Collect(maps.Keys(answered)), "every code of the standard")
	for code, want := range map[flightsql.SqlInfo]string{
		flightsql.SqlInfoFlightSqlServerName:        "Lake",
		flightsql.SqlInfoFlightSqlServerVersion:     "1.2.3",
		flightsql.SqlInfoFlightSqlServerReadOnly:    "false",
		flightsql.SqlInfoFlightSqlServerCancel:      "true",
		flightsql.SqlInfoFlightSqlServerTransaction: "0",
		flightsql.SqlInfoIdentifierQuoteChar:        `"`,
		flightsql.SqlInfoSearchStringEscape:         `\`,
	} {
		require.Contains(t, fmt.Sprint(answered[int32(code)]), want, "code %d", code)
	}
	require.Equal(t, []any{arrow.UnionTypeCode(2), int64(0)}, answered[int32(pb.SqlInfo_SQL_DEFAULT_TRANSACTION_ISOLATION)], "the JDBC driver casts it to Long")
	some := list(t, c, schema_ref.SqlInfo)(c.GetSqlInfo(t.Context(), []flightsql.SqlInfo{flightsql.SqlInfoMaxTablesInSelect, 99_999, flightsql.SqlInfoFlightSqlServerName}))
	require.Equal(t, []string{"560", "0"}, column(some, 0), "in the order asked for, without unknown codes")
}

func TestTypeInfoHasARowForEachType(t *testing.T) {
	c := newLake(t).replica().client("ann-token")
	got := list(t, c, schema_ref.XdbcTypeInfo)(c.GetXdbcTypeInfo(t.Context(), nil))
	names := column(got, 0)
	for _, want := range []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
		"FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "BLOB", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS", "LIST", "ARRAY", "STRUCT",
	} {
		require.Contains(t, names, want)
	}
	var codesSeen []int32
	for _, b := range got.batches {
		codesSeen = append(codesSeen, b.Column(1).(*array.Int32).Int32Values()...)
	}
	require.True(t, slices.IsSorted(codesSeen), "ordered by data_type")
	varchar := int32(pb.XdbcDataType_XDBC_VARCHAR)
	got = list(t, c, schema_ref.XdbcTypeInfo)(c.GetXdbcTypeInfo(t.Context(), &varchar))
	require.Equal(t, []string{"VARCHAR"}, column(got, 0))
}

func TestKeysAreEmptyAndWellFormed(t *testing.T) {
	_, r := threeTables(t)
	c := r.client("ann-token")
	ref := flightsql.TableRef{Table: "a_b"}
	require.Zero(t, list(t, c, schema_ref.PrimaryKeys)(c.GetPrimaryKeys(t.Context(), ref)).rows())
	require.Zero(t, list(t, c, schema_ref.ExportedKeys)(c.GetExportedKeys(t.Context(), ref)).rows())
	require.Zero(t, list(t, c, schema_ref.ImportedKeys)(c.GetImportedKeys(t.Context(), ref)).rows())
	require.Zero(t, list(t, c, schema_ref.CrossReference)(c.GetCrossReference(t.Context(), ref, ref)).rows())
}

// The report: listing a thousand tables took half a minute.
func TestTenThousandTablesAreListedFromOneGeneration(t *testing.T) {
	l := newLake(t)
	n := int64(10_000)
	if raceDetector {
		n = 1_000 // the point under the race detector is the code, not the number
	}
	for i := range n {
		l.authority.create(t, fmt.Sprintf("ns%02d.table_%05d", i%50, i), simple)
	}
	c := l.replica().client("ann-token")
	before := l.authority.count("GetTable")
	var times []time.Duration
	for range 20 {
		start := time.Now()
		require.Equal(t, n, list(t, c, schema_ref.Tables)(c.GetTables(t.Context(), &flightsql.GetTablesOpts{})).rows())
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	t.Logf("without schemas: p50 %s, p95 %s", times[10], times[18])
	if !raceDetector {
		require.Less(t, times[18], 500*time.Millisecond, "p95")
	}
	start := time.Now()
	require.Equal(t, n, list(t, c, schema_ref.TablesWithIncludedSchema)(c.GetTables(t.Context(), &flightsql.GetTablesOpts{IncludeSchema: true})).rows())
	t.Logf("with schemas: %s", time.Since(start))
	start = time.Now()
	require.Equal(t, fmt.Sprintf("{\"n\":%d}\n", n), mustRun(t, c, "SELECT count(*) AS n FROM information_schema.tables").json(t))
	t.Logf("information_schema: %s", time.Since(start))
	require.Equal(t, before, l.authority.count("GetTable"), "no call for a single table")
}

func TestUnknownCommandsAndActionsAreRefused(t *testing.T) {
	c := newLake(t).replica().client("ann-token")
	_, err := c.Client.GetFlightInfo(t.Context(), &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: []byte("noise")})
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	_, err = c.Client.GetFlightInfo(t.Context(), &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"lab", "notes"}})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	_, err = c.ExecuteSubstrait(t.Context(), flightsql.SubstraitPlan{Plan: []byte{1}})
	require.Equal(t, codes.Unimplemented, status.Code(err))
	_, err = c.BeginTransaction(t.Context())
	require.Equal(t, codes.Unimplemented, status.Code(err))
	_, err = c.ExecuteUpdate(t.Context(), "DELETE FROM lab.notes")
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.ErrorContains(t, err, "SQL statements only read")
	s, err := c.Client.DoAction(t.Context(), &flight.Action{Type: "Reboot"})
	require.NoError(t, err)
	_, err = s.Recv()
	require.Equal(t, codes.Unimplemented, status.Code(err))
	actions, err := c.Client.ListActions(t.Context(), &flight.Empty{})
	require.NoError(t, err)
	var n int
	for {
		if _, err = actions.Recv(); err != nil {
			break
		}
		n++
	}
	require.Equal(t, 8, n)
	require.False(t, errors.Is(err, t.Context().Err()))
}

func TestSessions(t *testing.T) {
	c := newLake(t).replica().client("ann-token")
	got, err := c.GetSessionOptions(t.Context(), &flight.GetSessionOptionsRequest{})
	require.NoError(t, err)
	require.Equal(t, "lake", got.GetSessionOptions()["catalog"].GetStringValue())
	opts, err := flight.NewSessionOptionValues(map[string]any{"catalog": "lake", "schema": "lab"})
	require.NoError(t, err)
	set, err := c.SetSessionOptions(t.Context(), &flight.SetSessionOptionsRequest{SessionOptions: opts})
	require.NoError(t, err)
	require.Len(t, set.GetErrors(), 1)
	require.Equal(t, flight.SetSessionOptionsResultErrorInvalidName, set.GetErrors()["schema"].GetValue())
	closed, err := c.CloseSession(t.Context(), &flight.CloseSessionRequest{})
	require.NoError(t, err)
	require.Equal(t, flight.CloseSessionResultClosed, closed.GetStatus())
}
