// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"fmt"
	"slices"
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
	"google.golang.org/grpc/status"

	lanceengine "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/services/query"
	"github.com/lakeplane/lake/services/query/gate"
)

// TestWhichStatementsComeInParts: what looks at one row does, and nothing else.
func TestWhichStatementsComeInParts(t *testing.T) {
	g := gate.New(sharedSQL, gate.DefaultLimits())
	for _, c := range []struct {
		want bool
		sql  []string
	}{
		{true, []string{
			"SELECT * FROM lab.t", "FROM lab.t", "TABLE lab.t", "select id + 1 AS x, upper(note) FROM lake.lab.t u WHERE u.id > 3 AND note LIKE 'a%'",
			"SELECT * EXCLUDE (id) FROM lab.t", "SELECT * REPLACE (id + 1 AS id) FROM lab.t", "SELECT 1 FROM lab.t",
			"SELECT id FROM lab.t WHERE id IN (1, 2) OR id BETWEEN ? AND $2", "SELECT CASE WHEN id > 1 THEN 'a' END, id::VARCHAR, TRY_CAST(note AS INT) FROM lab.t",
			"SELECT list_transform([id], x -> x + 1)[1], list_aggregate([id], 'sum') FROM lab.t", "SELECT date_trunc('hour', ts), extract(year FROM ts) FROM lab.t",
			"SELECT coalesce(note, ''), note IS NULL, NOT (id = 1) FROM lab.t", "SELECT COLUMNS('i.*') FROM lab.t", "SELECT t.note FROM lab.t",
			"SELECT 'current_timestamp' FROM lab.t", "SELECT ? FROM lab.t",
		}},
		{false, []string{
			"SELECT * FROM lab.t ORDER BY id", "SELECT * FROM lab.t LIMIT 3", "SELECT * FROM lab.t OFFSET 3", "SELECT DISTINCT id FROM lab.t", "SELECT DISTINCT ON (id) * FROM lab.t",
			"SELECT count(*) FROM lab.t", "SELECT sum(id) FROM lab.t", "SELECT max(COLUMNS(*)) FROM lab.t", "SELECT id FROM lab.t GROUP BY id", "SELECT id FROM lab.t GROUP BY ALL", "SELECT 1 FROM lab.t HAVING true",
			"SELECT any_value(id) FROM lab.t", "SELECT list(id) FROM lab.t", "SELECT id + sum(id) FROM lab.t GROUP BY id",
			"SELECT row_number() OVER () FROM lab.t", "SELECT lag(id) OVER (ORDER BY id) FROM lab.t", "SELECT id FROM lab.t QUALIFY row_number() OVER (ORDER BY id) = 1",
			"SELECT * FROM lab.t USING SAMPLE 3", "SELECT * FROM lab.t TABLESAMPLE 10%", "SELECT random() FROM lab.t", "SELECT * FROM lab.t WHERE random() < 0.5", "SELECT uuid() FROM lab.t",
			"SELECT now() FROM lab.t", "SELECT id FROM lab.t WHERE ts > now() - INTERVAL 1 DAY", "SELECT current_timestamp FROM lab.t", "SELECT current_date FROM lab.t", "SELECT today() FROM lab.t",
			"SELECT localtimestamp FROM lab.t", "SELECT age(ts) FROM lab.t",
			"SELECT * FROM lab.t a JOIN lab.t b USING (id)", "SELECT * FROM lab.t, lab.u", "SELECT * FROM lab.t WHERE id IN (SELECT id FROM lab.t)", "SELECT (SELECT max(id) FROM lab.t) FROM lab.t",
			"SELECT * FROM (SELECT * FROM lab.t)", "WITH x AS (SELECT 1) SELECT * FROM lab.t", "SELECT * FROM lab.t UNION ALL SELECT * FROM lab.t", "SELECT * FROM lab.t EXCEPT SELECT * FROM lab.t",
			"SELECT unnest([id, id]) FROM lab.t", "SELECT * FROM range(10)", "SELECT 1", "VALUES (1)", "SELECT * FROM information_schema.tables",
			"PIVOT lab.t ON id IN (1) USING sum(id)", "UNPIVOT lab.t ON id INTO NAME n VALUE v", "DESCRIBE lab.t", "SHOW TABLES",
		}},
	} {
		for _, sql := range c.sql {
			parsed, err := g.Check(t.Context(), sql)
			require.NoError(t, err, sql)
			require.Equal(t, c.want, parsed.Divisible && parsed.Kind == gate.Select, sql)
		}
	}
}

const (
	dividedEach   = 10
	dividedPieces = 12
)

// divided is a stack with a table of twelve fragments of ten rows in order, and
// two replicas with the same keys that give it in up to four parts.
func divided(t *testing.T, tune ...func(*query.Options)) (here, there *stack) {
	t.Helper()
	s := newStack(t, func(o *lanceengine.Options) { o.HoldBytes, o.StatsBytes = -1, 1 })
	replica := func() *stack {
		return &stack{addr: s.replica(t, append([]func(*query.Options){keys(t, 1), func(o *query.Options) {
			o.Endpoints, o.MaxEndpoints, o.EndpointRows = 4, 6, dividedEach
		}}, tune...)...)}
	}
	here, there = replica(), replica()
	there.catalog(t)
	name := create(t, here.catalog(t), "lab.long", simple)
	c := here.client(t)
	for i := range dividedPieces {
		var text []string
		for j := range dividedEach {
			text = append(text, fmt.Sprintf(`{"id":%d,"note":"n%03d"}`, i*dividedEach+j, i*dividedEach+j))
		}
		_, err := appendRows(t, c, name, rows(t, simple, "["+strings.Join(text, ",")+"]"), false)
		require.NoError(t, err)
	}
	return here, there
}

// ids are the first column of batches, sorted.
func ids(batches []arrow.RecordBatch) (out []int64) {
	for _, b := range batches {
		out = append(out, b.Column(0).(*array.Int64).Int64Values()...)
	}
	slices.Sort(out)
	return out
}

func upTo(from, to int64) (out []int64) {
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// onePart is an info of one of its endpoints.
func onePart(info *flight.FlightInfo, i int) *flight.FlightInfo {
	return &flight.FlightInfo{Endpoint: info.GetEndpoint()[i : i+1]}
}

func TestALargeScanComesInPartsThatAnyReplicaRedeems(t *testing.T) {
	here, there := divided(t)
	replicas := []*flightsql.Client{here.client(t), there.client(t)}
	for _, c := range []struct {
		sql       string
		endpoints int
		from, to  int64
	}{
		{"SELECT * FROM lab.long", 4, 0, 120},
		{"SELECT id FROM lab.long WHERE note IS NOT NULL", 4, 0, 120},
		{"SELECT id * 1 AS id FROM lab.long WHERE id >= 50 AND id < 70", 2, 50, 70},
		{"SELECT id FROM lab.long WHERE id < 30", 3, 0, 30},
		{"SELECT id FROM lab.long WHERE id = 77", 1, 77, 78},
		{"SELECT id FROM lab.long WHERE id > 1000", 1, 0, 0},
		{"SELECT id FROM lab.long ORDER BY id", 1, 0, 120},
		{"SELECT id FROM lab.long LIMIT 1000", 1, 0, 120},
	} {
		info, err := replicas[0].Execute(t.Context(), c.sql)
		require.NoError(t, err, c.sql)
		require.Len(t, info.GetEndpoint(), c.endpoints, c.sql)
		require.False(t, info.GetOrdered())
		var all []arrow.RecordBatch
		for i, e := range info.GetEndpoint() {
			require.Empty(t, e.GetLocation(), "the server that was asked, or any other")
			require.NotNil(t, e.GetExpirationTime())
			part, err := fetch(t, t.Context(), replicas[i%2], onePart(info, i))
			require.NoError(t, err, c.sql)
			require.Equal(t, info.GetSchema(), flight.SerializeSchema(part.schema, memory.DefaultAllocator), "%s: part %d", c.sql, i)
			require.True(t, c.endpoints == 1 || part.rows() > 0, "part %d of %s is empty", i, c.sql)
			all = append(all, part.batches...)
		}
		require.Equal(t, upTo(c.from, c.to), ids(all), c.sql)
	}
}

// TestPartsReadTheVersionThatWasPlanned whatever is appended before they are read,
// and read what their conditions leave of them.
func TestPartsReadTheVersionThatWasPlanned(t *testing.T) {
	metrics := prometheus.NewRegistry()
	s := newStack(t, func(o *lanceengine.Options) { o.HoldBytes, o.StatsBytes = -1, 1 })
	r := &stack{addr: s.replica(t, func(o *query.Options) { o.Endpoints, o.EndpointRows, o.Metrics = 4, 1, metrics })}
	name := create(t, r.catalog(t), "lab.more", simple)
	c := r.client(t)
	for i := range 8 {
		_, err := appendRows(t, c, name, rows(t, simple, fmt.Sprintf(`[{"id":%d}]`, i)), false)
		require.NoError(t, err)
	}
	prepared, err := c.Prepare(t.Context(), "SELECT id FROM lab.more WHERE id < ?")
	require.NoError(t, err)
	defer func() { require.NoError(t, prepared.Close(t.Context())) }()
	prepared.SetParameters(rows(t, one("1", arrow.PrimitiveTypes.Int64), `[{"1":4}]`))
	info, err := prepared.Execute(t.Context())
	require.NoError(t, err)
	require.Len(t, info.GetEndpoint(), 4)
	_, err = appendRows(t, c, name, rows(t, simple, `[{"id":-1}]`), false)
	require.NoError(t, err)
	got, err := fetch(t, t.Context(), c, info)
	require.NoError(t, err)
	require.Equal(t, upTo(0, 4), ids(got.batches))
	read, _ := fragments(t, metrics)
	require.EqualValues(t, 4, read, "each fragment once, and those left out by the condition not at all")
}

func TestAClientSaysHowManyEndpointsItWants(t *testing.T) {
	here, _ := divided(t)
	c := here.client(t)
	const sql = "SELECT id FROM lab.long"
	for said, want := range map[string]int{"1": 1, "2": 2, "4": 4, "6": 6, "7": 6, "1000000": 6} {
		info, err := c.Execute(withHeader(t.Context(), query.EndpointsHeader, said), sql)
		require.NoError(t, err)
		require.Len(t, info.GetEndpoint(), want, said)
		got, err := fetch(t, t.Context(), c, info)
		require.NoError(t, err)
		require.Equal(t, upTo(0, 120), ids(got.batches))
	}
	for _, said := range []string{"0", "-1", "many", "1.5", ""} {
		_, err := c.Execute(withHeader(t.Context(), query.EndpointsHeader, said), sql)
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%q: %v", said, err)
		require.ErrorContains(t, err, "header x-lake-endpoints")
		require.ErrorContains(t, err, "want a number from 1")
	}
	alone := newStack(t)
	create(t, alone.catalog(t), "lab.none", simple)
	info, err := alone.client(t).Execute(withHeader(t.Context(), query.EndpointsHeader, "4"), "SELECT * FROM lab.none")
	require.NoError(t, err)
	require.Len(t, info.GetEndpoint(), 1, "a table without rows")
}

func TestAPartIsRenewedAsThatPart(t *testing.T) {
	here, there := divided(t)
	c := here.client(t)
	info, err := c.Execute(t.Context(), "SELECT id FROM lab.long")
	require.NoError(t, err)
	for i := range info.GetEndpoint() {
		want, err := fetch(t, t.Context(), c, onePart(info, i))
		require.NoError(t, err)
		renewed, err := there.client(t).RenewFlightEndpoint(t.Context(), &flight.RenewFlightEndpointRequest{Endpoint: info.GetEndpoint()[i]})
		require.NoError(t, err)
		require.NotEqual(t, info.GetEndpoint()[i].GetTicket(), renewed.GetTicket())
		require.False(t, renewed.GetExpirationTime().AsTime().Before(info.GetEndpoint()[i].GetExpirationTime().AsTime()))
		got, err := fetch(t, t.Context(), c, &flight.FlightInfo{Endpoint: []*flight.FlightEndpoint{renewed}})
		require.NoError(t, err)
		require.Equal(t, ids(want.batches), ids(got.batches))
	}
}

// TestCancelEndsAllParts, also those that nobody has begun.
func TestCancelEndsAllParts(t *testing.T) {
	here, there := divided(t)
	c, other := here.client(t), there.client(t)
	for _, only := range []bool{false, true} {
		info, err := c.Execute(t.Context(), "SELECT id FROM lab.long")
		require.NoError(t, err)
		cancelled := info
		if only {
			cancelled = onePart(info, 2)
		}
		res, err := c.CancelFlightInfo(t.Context(), &flight.CancelFlightInfoRequest{Info: cancelled})
		require.NoError(t, err)
		require.Equal(t, flight.CancelStatusCancelling, res.GetStatus(), "other replicas may read other parts")
		for i := range info.GetEndpoint() {
			_, err := fetch(t, t.Context(), c, onePart(info, i))
			require.Equal(t, codes.Canceled, status.Code(err), "part %d: %v", i, err)
			require.Eventually(t, func() bool {
				_, err := fetch(t, t.Context(), other, onePart(info, i))
				return status.Code(err) == codes.Canceled
			}, 20*time.Second, time.Millisecond)
		}
	}
}

// TestATicketOfAPartIsRefusedLikeAnyOther: changed, or called what it is not.
func TestATicketOfAPartIsRefusedLikeAnyOther(t *testing.T) {
	here, _ := divided(t)
	c := here.client(t)
	info, err := c.Execute(t.Context(), "SELECT id FROM lab.long")
	require.NoError(t, err)
	tk := string(info.GetEndpoint()[1].GetTicket().GetTicket())
	require.Contains(t, tk, "LQPT")
	requireInvalidTicket(t, c, []byte(strings.Replace(tk, "LQPT", "LQTK", 1)), "a part that says it is the whole")
	requireInvalidTicket(t, c, []byte(tk[:len(tk)-1]), "cut")
	whole, err := c.Execute(t.Context(), "SELECT count(*) FROM lab.long")
	require.NoError(t, err)
	tk = string(whole.GetEndpoint()[0].GetTicket().GetTicket())
	requireInvalidTicket(t, c, []byte(strings.Replace(tk, "LQTK", "LQPT", 1)), "a whole that says it is a part")
}

// TestEachPartIsAdmittedAlone: parts count as statements.
func TestEachPartIsAdmittedAlone(t *testing.T) {
	l := newLake(t)
	name := l.authority.create(t, "lab.notes", simple)
	for i := range 4 {
		l.authority.insert(t, name, rows(t, simple, fmt.Sprintf(`[{"id":%d}]`, i)))
	}
	metrics := prometheus.NewRegistry()
	c := l.replica(func(o *query.Options) { o.Endpoints, o.EndpointRows, o.Metrics = 4, 1, metrics }).client("ann-token")
	info, err := c.Execute(t.Context(), "SELECT id FROM lab.notes")
	require.NoError(t, err)
	require.Len(t, info.GetEndpoint(), 4)
	before := gauge(t, metrics, "lake_query_admission_total")
	got, err := fetch(t, t.Context(), c, info)
	require.NoError(t, err)
	require.Equal(t, upTo(0, 4), ids(got.batches))
	require.EqualValues(t, 4, gauge(t, metrics, "lake_query_admission_total")-before)
}
