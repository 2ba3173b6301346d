// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	lanceengine "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/services/query"
)

// grafana makes the calls that the backend of the Grafana data source
// influxdata-flightsql-datasource makes, in their order and with its metadata.
type grafana struct {
	t    *testing.T
	c    *flightsql.Client
	sent metadata.MD
}

// newGrafana opens a data source whose authentication is a token or, with a user,
// a password.
func newGrafana(t *testing.T, r *replica, user, secret string, more ...string) *grafana {
	t.Helper()
	g := &grafana{t: t, c: r.client(""), sent: metadata.Pairs(more...)}
	if user == "" {
		g.sent.Set("Authorization", "Bearer "+secret)
		return g
	}
	ctx, err := g.c.Client.AuthenticateBasicToken(t.Context(), user, secret)
	require.NoError(t, err)
	answered, _ := metadata.FromOutgoingContext(ctx)
	g.sent = metadata.Join(g.sent, answered)
	return g
}

func (g *grafana) ctx() context.Context { return metadata.NewOutgoingContext(g.t.Context(), g.sent) }

// first redeems the first endpoint, as all its calls do.
func (g *grafana) first(info *flight.FlightInfo, err error) *result {
	g.t.Helper()
	require.NoError(g.t, err)
	got, err := fetch(g.t, g.ctx(), g.c, onePart(info, 0))
	require.NoError(g.t, err)
	return got
}

// query runs a statement of a panel, whose answer must have one endpoint.
func (g *grafana) query(sql string) (*result, error) {
	info, err := g.c.Execute(g.ctx(), sql)
	if err != nil {
		return nil, err
	}
	if len(info.GetEndpoint()) != 1 {
		return nil, fmt.Errorf("unsupported endpoint count in response: %d", len(info.GetEndpoint()))
	}
	return fetch(g.t, g.ctx(), g.c, info)
}

// macros expands those of the data source over a range of time, in steps of a minute.
func macros(sql string, from, to time.Time) string {
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	for _, m := range []struct{ macro, sql string }{
		{`timeRangeFrom\((\w+)\)`, "$1 >= '" + at(from) + "'"},
		{`timeRangeTo\((\w+)\)`, "$1 <= '" + at(to) + "'"},
		{`timeRange\((\w+)\)`, "$1 >= '" + at(from) + "' AND $1 <= '" + at(to) + "'"},
		{`timeFrom`, "cast('" + at(from) + "' as timestamp)"},
		{`timeTo`, "cast('" + at(to) + "' as timestamp)"},
		{`interval`, "interval '60 second'"},
		{`timeGroupAlias\((\w+),day\)`, "datepart('day', $1) as ${1}_day,datepart('month', $1) as ${1}_month,datepart('year', $1) as ${1}_year"},
		{`timeGroup\((\w+),hour\)`, "datepart('hour', $1),datepart('day', $1),datepart('month', $1),datepart('year', $1)"},
		{`dateBin\((\w+)\)`, "date_bin(interval '60 second', $1, timestamp '1970-01-01T00:00:00Z')"},
	} {
		sql = regexp.MustCompile(`\$__`+m.macro).ReplaceAllString(sql, m.sql)
	}
	return sql
}

// frame turns a result into values as the data source does: it knows these types,
// takes every timestamp for nanoseconds, and leaves all others empty.
func frame(t *testing.T, r *result) (out []map[string]any) {
	t.Helper()
	for _, b := range r.batches {
		for row := range int(b.NumRows()) {
			values := map[string]any{}
			for i, c := range b.Columns() {
				switch c := c.(type) {
				case *array.Timestamp:
					values[b.ColumnName(i)] = c.Value(row).ToTime(arrow.Nanosecond).UTC().Format(time.RFC3339Nano)
				case *array.String, *array.Boolean, *array.Float32, *array.Float64, *array.Int8, *array.Int16, *array.Int32, *array.Int64,
					*array.Uint8, *array.Uint16, *array.Uint32, *array.Uint64:
					values[b.ColumnName(i)] = c.ValueStr(row)
				default:
					require.Fail(t, "a column that the data source leaves empty", "%s %s", b.ColumnName(i), c.DataType())
				}
			}
			out = append(out, values)
		}
	}
	return out
}

var telemetry = arrow.NewSchema([]arrow.Field{
	{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
	{Name: "robot", Type: arrow.BinaryTypes.String},
	{Name: "speed", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "steps", Type: arrow.PrimitiveTypes.Int64},
	{Name: "cost", Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}},
	{Name: "day", Type: arrow.FixedWidthTypes.Date32},
}, nil)

// newTelemetry is a table of two robots at 12:00:10, 12:00:40 and 12:01:10, and a
// row a day later.
func newTelemetry(t *testing.T) *replica {
	t.Helper()
	l := newLake(t)
	name := l.authority.create(t, "robots.telemetry", telemetry)
	var text []string
	for i, at := range []string{"2024-02-29 12:00:10Z", "2024-02-29 12:00:40Z", "2024-02-29 12:01:10Z", "2024-03-01 12:00:00Z"} {
		for _, robot := range []string{"r1", "r2"} {
			text = append(text, fmt.Sprintf(`{"ts":%q,"robot":%q,"speed":%d,"steps":%d,"cost":"1.25","day":%q}`, at, robot, i, 10*i, at[:10]))
		}
	}
	l.authority.insert(t, name, rows(t, telemetry, "["+strings.Join(text, ",")+"]"))
	return l.replica(func(o *query.Options) { o.Endpoints, o.EndpointRows = 4, 1 })
}

var (
	grafanaFrom = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	grafanaTo   = grafanaFrom.Add(time.Hour)
)

func TestTheCallsOfTheGrafanaDataSource(t *testing.T) {
	r := newTelemetry(t)
	for how, g := range map[string]*grafana{"token": newGrafana(t, r, "", "ann-token"), "password": newGrafana(t, r, "ann", "ann-token")} {
		t.Run(how, func(t *testing.T) {
			g.t = t
			healthy, err := g.query("select 1")
			require.NoError(t, err)
			require.Equal(t, []map[string]any{{"1": "1"}}, frame(t, healthy))

			info := g.first(g.c.GetSqlInfo(g.ctx(), []flightsql.SqlInfo{}))
			require.Greater(t, info.rows(), int64(50), "every code")
			require.Equal(t, arrow.DENSE_UNION, info.schema.Field(1).Type.ID())

			tables := g.first(g.c.GetTables(g.ctx(), &flightsql.GetTablesOpts{TableTypes: []string{"BASE TABLE", "table"}}))
			require.Equal(t, []string{"robots"}, column(tables, 1), "the builder writes db_schema_name.table_name")
			require.Equal(t, []string{"telemetry"}, column(tables, 2))

			name := "telemetry"
			columns := g.first(g.c.GetTables(g.ctx(), &flightsql.GetTablesOpts{TableNameFilterPattern: &name, IncludeSchema: true}))
			at := columns.schema.FieldIndices("table_schema")
			require.Len(t, at, 1)
			schema, err := flight.DeserializeSchema(columns.batches[0].Column(at[0]).(*array.Binary).Value(0), memory.DefaultAllocator)
			require.NoError(t, err)
			require.True(t, schema.Equal(telemetry), "%s", schema)
		})
	}
	_, err := newGrafana(t, r, "", "wrong").query("select 1")
	require.Equal(t, codes.Unauthenticated, status.Code(err))
}

// TestTheStatementsOfTheGrafanaRecipe runs those of docs/clients.md.
func TestTheStatementsOfTheGrafanaRecipe(t *testing.T) {
	page, err := os.ReadFile("../../docs/clients.md")
	require.NoError(t, err)
	var recipes []string
	for _, block := range strings.Split(string(page), "```sql grafana\n")[1:] {
		sql, _, _ := strings.Cut(block, "```")
		recipes = append(recipes, macros(sql, grafanaFrom, grafanaTo))
	}
	row := func(pairs ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i].(string)] = pairs[i+1]
		}
		return out
	}
	want := [][]map[string]any{
		{
			row("time", "2024-02-29T12:00:00Z", "robot", "r1", "speed", "0.5", "n", "2"), row("time", "2024-02-29T12:00:00Z", "robot", "r2", "speed", "0.5", "n", "2"),
			row("time", "2024-02-29T12:01:00Z", "robot", "r1", "speed", "2", "n", "1"), row("time", "2024-02-29T12:01:00Z", "robot", "r2", "speed", "2", "n", "1"),
		},
		{
			row("time", "2024-02-29T12:00:10Z", "speed", "0"), row("time", "2024-02-29T12:00:40Z", "speed", "1"), row("time", "2024-02-29T12:01:10Z", "speed", "2"),
		},
		{
			row("robot", "r1", "seen", "2024-03-01T12:00:00Z", "steps", "60", "cost", "5", "day", "2024-03-01"),
			row("robot", "r2", "seen", "2024-03-01T12:00:00Z", "steps", "60", "cost", "5", "day", "2024-03-01"),
		},
		{row("robot", "r1"), row("robot", "r2")},
	}
	require.Len(t, recipes, len(want))
	g := newGrafana(t, newTelemetry(t), "", "ann-token", query.EndpointsHeader, "1")
	for i, sql := range recipes {
		require.NotContains(t, sql, "$__", "a macro that is not known")
		got, err := g.query(sql)
		require.NoError(t, err, sql)
		require.ElementsMatch(t, want[i], frame(t, got), sql)
	}
}

// TestTheMacrosOfTheGrafanaDataSource: those that the page says work, and the one
// that does not, with the reason.
func TestTheMacrosOfTheGrafanaDataSource(t *testing.T) {
	g := newGrafana(t, newTelemetry(t), "", "ann-token")
	for sql, n := range map[string]string{
		"SELECT count(*) AS n FROM robots.telemetry WHERE $__timeRangeFrom(ts) AND $__timeRangeTo(ts)":    "6",
		"SELECT count(*) AS n FROM (SELECT 1 FROM robots.telemetry GROUP BY $__timeGroup(ts,hour))":       "2",
		"SELECT count(*) AS n FROM (SELECT $__timeGroupAlias(ts,day) FROM robots.telemetry GROUP BY ALL)": "2",
	} {
		got, err := g.query(macros(sql, grafanaFrom, grafanaTo))
		require.NoError(t, err, sql)
		require.Equal(t, []map[string]any{{"n": n}}, frame(t, got), sql)
	}
	_, err := g.query(macros("SELECT $__dateBin(ts) FROM robots.telemetry", grafanaFrom, grafanaTo))
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.ErrorContains(t, err, `function "date_bin" is not known`)
}

// TestTheTimeRangeOfGrafanaSkipsWhatLiesOutside: three of the macros let fragments
// be left out.
func TestTheTimeRangeOfGrafanaSkipsWhatLiesOutside(t *testing.T) {
	s := newStack(t, func(o *lanceengine.Options) { o.HoldBytes, o.StatsBytes = -1, 1 })
	metrics := prometheus.NewRegistry()
	r := &stack{addr: s.replica(t, func(o *query.Options) { o.Metrics = metrics })}
	c := r.client(t)
	name := create(t, r.catalog(t), "robots.telemetry", telemetry)
	for i := range 6 {
		at := grafanaFrom.Add(time.Duration(i) * time.Hour).Format("2006-01-02 15:04:05Z")
		row := fmt.Sprintf(`[{"ts":%q,"robot":"r","speed":1,"steps":1,"cost":"1","day":%q}]`, at, at[:10])
		_, err := appendRows(t, c, name, rows(t, telemetry, row), false)
		require.NoError(t, err)
	}
	for where, left := range map[string]float64{"$__timeRange(ts)": 2, "$__timeRangeFrom(ts)": 4, "$__timeRangeTo(ts)": 4} {
		_, before := fragments(t, metrics)
		sql := macros("SELECT * FROM robots.telemetry WHERE "+where, grafanaFrom.Add(2*time.Hour), grafanaTo.Add(2*time.Hour))
		require.EqualValues(t, left, mustRun(t, c, sql).rows(), sql)
		_, after := fragments(t, metrics)
		require.Equal(t, 6-left, after-before, sql)
	}
}
