// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/services/query"
)

var simple = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

func TestSelectReturnsTheRowsOfATable(t *testing.T) {
	l := newLake(t)
	name := l.authority.create(t, "lab.notes", simple)
	l.authority.insert(t, name, rows(t, simple, `[{"id":1,"note":"a"},{"id":2},{"id":3,"note":"c"}]`))
	c := l.replica().client("ann-token")
	for _, sql := range []string{
		`SELECT * FROM lab.notes ORDER BY id`,
		`SELECT * FROM lake.lab.notes ORDER BY id`,
		`SELECT * FROM "lab"."notes" ORDER BY id`,
		`SELECT * FROM LAB.Notes ORDER BY id`,
	} {
		got := mustRun(t, c, sql)
		require.Equal(t, `{"id":1,"note":"a"}`+"\n"+`{"id":2,"note":null}`+"\n"+`{"id":3,"note":"c"}`+"\n", got.json(t), sql)
		require.True(t, got.schema.Equal(simple), sql)
	}
}

func TestAReferenceMustNameAVisibleTable(t *testing.T) {
	l := newLake(t)
	l.authority.create(t, "lab.notes", simple)
	l.authority.create(t, "secret.notes", simple)
	r := l.replica()
	for _, c := range []struct {
		token, sql string
		code       codes.Code
		want       string
	}{
		{"ann-token", "SELECT * FROM notes", codes.InvalidArgument, "want namespace.table or lake.namespace.table"},
		{"ann-token", "SELECT * FROM other.lab.notes", codes.InvalidArgument, `no catalog "other"`},
		{"ann-token", "SELECT * FROM lab.nothing", codes.NotFound, "table lab.nothing does not exist"},
		{"bob-token", "SELECT * FROM secret.notes", codes.NotFound, "table secret.notes does not exist"},
		{"bob-token", "SELECT * FROM secret.nothing", codes.NotFound, "table secret.nothing does not exist"},
		{"ann-token", "SELECT missing FROM lab.notes", codes.InvalidArgument, "missing"},
		{"ann-token", "DROP TABLE lab.notes", codes.InvalidArgument, "DROP is not allowed"},
		{"", "SELECT * FROM lab.notes", codes.Unauthenticated, "unknown token"},
	} {
		_, err := run(t, r.client(c.token), c.sql)
		require.Equal(t, c.code, status.Code(err), "%s: %v", c.sql, err)
		require.ErrorContains(t, err, c.want, c.sql)
	}
	mustRun(t, r.client("ann-token"), "SELECT * FROM secret.notes")
	_, err := run(t, r.client("bob-token"), "SELECT * FROM secret.notes")
	require.Equal(t, codes.NotFound, status.Code(err), "what ann's query cached must not show it to bob")
}

func TestATicketReadsItsSnapshotWhateverIsWritten(t *testing.T) {
	l := newLake(t)
	name := l.authority.create(t, "lab.notes", simple)
	l.authority.insert(t, name, rows(t, simple, `[{"id":1}]`))
	c := l.replica().client("ann-token")
	info, err := c.Execute(t.Context(), "SELECT count(*) AS n FROM lab.notes")
	require.NoError(t, err)
	l.authority.insert(t, name, rows(t, simple, `[{"id":2},{"id":3}]`))
	got, err := fetch(t, t.Context(), c, info)
	require.NoError(t, err)
	require.Equal(t, "{\"n\":1}\n", got.json(t), "the pinned version")
	got, err = fetch(t, t.Context(), c, info)
	require.NoError(t, err)
	require.Equal(t, "{\"n\":1}\n", got.json(t), "and again")

	require.Eventually(t, func() bool {
		return mustRun(t, c, "SELECT count(*) AS n FROM lab.notes").json(t) == "{\"n\":3}\n"
	}, 20*time.Second, 50*time.Millisecond, "a new plan sees the append after the registration's time")

	inc := decodeSnapshot(l.authority.tables[name].GetSnapshot())
	require.NoError(t, l.authority.engine.Erase(t.Context(), inc.Location))
	_, err = fetch(t, t.Context(), l.replica().client("ann-token"), info)
	require.Equal(t, codes.Unauthenticated, status.Code(err), "another replica has another ephemeral key")
	c2 := l.replica().client("ann-token")
	info, err = c2.Execute(t.Context(), "SELECT count(*) AS n FROM lab.notes")
	require.NoError(t, err, "planning touches no storage")
	_, err = fetch(t, t.Context(), c2, info)
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	require.ErrorContains(t, err, "the pinned table snapshot is unavailable")
}

func TestGetSchemaAnswersAsGetFlightInfo(t *testing.T) {
	l := newLake(t)
	l.authority.create(t, "lab.notes", simple)
	c := l.replica().client("ann-token")
	res, err := c.GetExecuteSchema(t.Context(), "SELECT note, id FROM lab.notes")
	require.NoError(t, err)
	got, err := flight.DeserializeSchema(res.GetSchema(), memory.DefaultAllocator)
	require.NoError(t, err)
	require.Equal(t, []string{"note", "id"}, []string{got.Field(0).Name, got.Field(1).Name})
	info, err := c.Execute(t.Context(), "SELECT note, id FROM lab.notes")
	require.NoError(t, err)
	require.Equal(t, info.GetSchema(), res.GetSchema())
	require.WithinDuration(t, time.Now().Add(300*time.Second), info.GetEndpoint()[0].GetExpirationTime().AsTime(), 5*time.Second)
}

func TestMissingOptionsAreRefused(t *testing.T) {
	_, err := query.New(query.Options{})
	require.ErrorContains(t, err, "Options.Authority is missing")
}
