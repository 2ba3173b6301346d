// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

var mem = memory.DefaultAllocator

func TestConnectRefusesWhatCannotWork(t *testing.T) {
	for addr, want := range map[string]string{
		"":                 "want host:port",
		"127.0.0.1":        "want host:port",
		":50051":           "want host:port",
		"127.0.0.1:0":      "want host:port",
		"127.0.0.1:70000":  "want host:port",
		"grpc://127.0.0.1": "want host:port",
	} {
		_, err := sdk.Connect(t.Context(), addr)
		require.True(t, lake.Is(err, lake.Invalid), "%s: %v", addr, err)
		require.ErrorContains(t, err, want)
	}
	_, err := sdk.Connect(t.Context(), "127.0.0.1:1", sdk.WithToken("a\nb"))
	require.ErrorContains(t, err, "line break")
}

func TestConnectSaysThatNobodyAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	_, err = sdk.Connect(t.Context(), addr)
	require.True(t, lake.Is(err, lake.Unavailable), "%v", err)
	require.ErrorContains(t, err, "connect to "+addr)
	require.ErrorContains(t, err, "connection refused")
}

func TestConnectGivesUpOnASilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts in the kernel and says nothing
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = sdk.Connect(ctx, l.Addr().String())
	require.True(t, lake.Is(err, lake.Unavailable), "%v", err)
}

func TestOtherHostsAreReachedByTLSOnly(t *testing.T) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	hello := make(chan byte, 1)
	go func() {
		defer close(hello)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var first [1]byte
		_, _ = conn.Read(first[:])
		hello <- first[0]
	}()
	addr := fmt.Sprintf("0.0.0.0:%d", l.Addr().(*net.TCPAddr).Port)
	_, err = sdk.Connect(t.Context(), addr, sdk.WithToken("secret"))
	require.Error(t, err)
	require.NoError(t, l.Close())
	require.Equal(t, byte(0x16), <-hello, "a TLS handshake record, not an HTTP/2 preface")
}

func TestTokenGoesWithEveryCall(t *testing.T) {
	s, c := withTable(t, sdk.WithToken("lake_1_secret"))
	_, err := c.Append(t.Context(), episodes, rows(1, "a"))
	require.NoError(t, err)
	tokens := s.Tokens()
	require.NotEmpty(t, tokens)
	for _, token := range tokens {
		require.Equal(t, "Bearer lake_1_secret", token)
	}
}

func TestSeparateMetasrvTakesWritesAndCatalog(t *testing.T) {
	metaserver, _ := connect(t)
	query, c := connect(t, sdk.WithMetasrv(metaserver.Addr()))
	_, err := c.CreateTable(t.Context(), episodes, schema)
	require.NoError(t, err)
	_, err = c.Append(t.Context(), episodes, rows(4, "a"))
	require.NoError(t, err)
	require.Equal(t, int64(4), metaserver.Rows(episodes))
	require.Empty(t, query.Attempts())
}

func TestTablesAreMadeFoundListedAndDropped(t *testing.T) {
	s, c := connect(t)
	s.PageSize = 2
	var want []string
	for i := range 5 {
		name := lake.TableName{Namespace: "robots", Name: fmt.Sprint("t", i)}
		created, err := c.CreateTable(t.Context(), name, schema)
		require.NoError(t, err)
		require.Equal(t, name, created.Name)
		require.Equal(t, lake.Version(1), created.Snapshot.Version)
		require.False(t, created.Snapshot.Incarnation.IsZero())
		want = append(want, name.String())
	}
	found, err := c.Table(t.Context(), lake.TableName{Namespace: "robots", Name: "t3"})
	require.NoError(t, err)
	require.True(t, found.Schema.Equal(schema))
	require.WithinDuration(t, time.Now(), found.CreatedAt, time.Minute)

	var got []string
	for table, err := range c.ListTables(t.Context(), "robots") {
		require.NoError(t, err)
		require.Nil(t, table.Schema)
		got = append(got, table.Name.String())
	}
	require.Equal(t, want, got)
	for range c.ListTables(t.Context(), "") {
		break // a loop may be left at any time
	}

	dropped, err := c.DropTable(t.Context(), found.Name, sdk.DropOptions{Reason: "test"})
	require.NoError(t, err)
	require.Equal(t, found.Snapshot, dropped.Table.Snapshot)
	require.Equal(t, "drop-table/robots/t3/"+found.Snapshot.Incarnation.String(), dropped.Procedure.String())
	p, err := c.Procedure(t.Context(), dropped.Procedure)
	require.NoError(t, err)
	require.Equal(t, sdk.Completed, p.State)
}

func TestADropIsTakenBack(t *testing.T) {
	s, c := withTable(t)
	_, err := c.Append(t.Context(), episodes, rows(4, "a"))
	require.NoError(t, err)
	before, err := c.Table(t.Context(), episodes)
	require.NoError(t, err)
	window := time.Hour
	for _, opts := range []sdk.UndropOptions{{}, {Incarnation: before.Snapshot.Incarnation}} {
		dropped, err := c.DropTable(t.Context(), episodes, sdk.DropOptions{UndropWindow: &window})
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(window), dropped.PurgeAfter, time.Minute)
		_, err = c.UndropTable(t.Context(), episodes, sdk.UndropOptions{Incarnation: lake.NewID()})
		require.True(t, lake.Is(err, lake.NotFound), "the choice is sent: %v", err)
		back, err := c.UndropTable(t.Context(), episodes, opts)
		require.NoError(t, err)
		require.Equal(t, before, back)
		require.Equal(t, int64(4), s.Rows(episodes))
		p, err := c.Procedure(t.Context(), dropped.Procedure)
		require.NoError(t, err)
		require.Equal(t, sdk.Cancelled, p.State)
	}
	for want, err := range map[lake.Kind]error{
		lake.AlreadyExists: second(c.UndropTable(t.Context(), episodes, sdk.UndropOptions{})),
		lake.NotFound:      second(c.UndropTable(t.Context(), lake.TableName{Namespace: "robots", Name: "missing"}, sdk.UndropOptions{})),
		lake.Invalid:       second(c.UndropTable(t.Context(), lake.TableName{Namespace: "robots", Name: "a/b"}, sdk.UndropOptions{})),
	} {
		require.Equal(t, want, lake.KindOf(err), "%v", err)
	}
}

func TestCatalogErrorsAreTyped(t *testing.T) {
	_, c := withTable(t)
	_, err := c.CreateTable(t.Context(), episodes, schema)
	require.True(t, lake.Is(err, lake.AlreadyExists), "%v", err)
	require.ErrorContains(t, err, "robots.episodes")
	_, err = c.CreateTable(t.Context(), episodes, arrow.NewSchema(nil, nil))
	require.True(t, lake.Is(err, lake.Invalid), "%v", err)
	missing := lake.TableName{Namespace: "robots", Name: "missing"}
	_, err = c.Table(t.Context(), missing)
	require.True(t, lake.Is(err, lake.NotFound), "%v", err)
	_, err = c.DropTable(t.Context(), missing, sdk.DropOptions{})
	require.True(t, lake.Is(err, lake.NotFound), "%v", err)
	bad := lake.TableName{Namespace: "robots", Name: "a/b"}
	for _, err := range []error{
		second(c.CreateTable(t.Context(), bad, schema)),
		second(c.Table(t.Context(), bad)),
		second(c.DropTable(t.Context(), bad, sdk.DropOptions{})),
	} {
		require.True(t, lake.Is(err, lake.Invalid), "%v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestQueryReadsEveryEndpoint(t *testing.T) {
	s, c := connect(t)
	s.Answer("SELECT 1", schema, nil, rows(2, "a"), rows(3, "b"))
	r, err := c.Query(t.Context(), "SELECT 1")
	require.NoError(t, err)
	require.True(t, r.Schema().Equal(schema))
	var n int64
	for b, err := range r.Batches() {
		require.NoError(t, err)
		n += b.NumRows()
	}
	require.Equal(t, int64(5), n)
	r.Release() // again is harmless
	require.False(t, r.Next())
}

func TestQueryErrorsAreTypedWhereverTheyHappen(t *testing.T) {
	s, c := connect(t)
	_, err := c.Query(t.Context(), "SELEC 1")
	require.True(t, lake.Is(err, lake.Invalid), "%v", err)
	require.ErrorContains(t, err, "not taught")

	s.Answer("SELECT 2", schema, lake.Errorf(lake.Precondition, "the pinned table snapshot is unavailable"), rows(2, "a"))
	r, err := c.Query(t.Context(), "SELECT 2")
	require.NoError(t, err)
	var last error
	var n int64
	for b, err := range r.Batches() {
		if last = err; err == nil {
			n += b.NumRows()
		}
	}
	require.Equal(t, int64(2), n)
	require.True(t, lake.Is(last, lake.Precondition), "%v", last)
	require.Equal(t, "the pinned table snapshot is unavailable", last.Error())

	s.Answer("SELECT 3", schema, nil)
	r, err = c.Query(t.Context(), "SELECT 3")
	require.NoError(t, err)
	defer r.Release()
	require.False(t, r.Next())
	require.NoError(t, r.Err())
}

func TestQueryBindsParametersByPosition(t *testing.T) {
	s, c := connect(t)
	s.Answer("SELECT ?", schema, nil, rows(1, "a"))
	when := time.Date(2026, 11, 29, 1, 2, 3, 4000, time.UTC)
	r, err := c.Query(t.Context(), "SELECT ?", nil, true, -7, uint64(1<<63), float32(0.5), "x", []byte{0, 1}, when)
	require.NoError(t, err)
	r.Release()
	bound := s.Bound()
	require.Equal(t, int64(1), bound.NumRows())
	var got []string
	for i, column := range bound.Columns() {
		got = append(got, fmt.Sprint(bound.ColumnName(i), " ", column.DataType(), " ", column.ValueStr(0)))
	}
	require.Equal(t, []string{
		"1 utf8 (null)", "2 bool true", "3 int64 -7", "4 uint64 9223372036854775808", "5 float64 0.5",
		"6 utf8 x", "7 binary AAE=", "8 timestamp[us, tz=UTC] 2026-11-29T01:02:03.000004Z",
	}, got)
	_, err = c.Query(t.Context(), "SELECT ?", struct{}{})
	require.True(t, lake.Is(err, lake.Invalid), "%v", err)
	require.ErrorContains(t, err, "parameter 1: type struct {} cannot be a parameter")
}

func TestWatchYieldsChangesUntilTheEnd(t *testing.T) {
	s, c := connect(t)
	id := sdk.ProcedureID{Kind: "drop-table", ID: "robots/episodes/x"}
	put := func(state lakepb.ProcedureState, deleted int64) {
		s.PutProcedure(&lakepb.Procedure{Kind: id.Kind, Id: id.ID, State: state, Counters: map[string]int64{"objects_deleted": deleted}})
	}
	put(lakepb.ProcedureState_PROCEDURE_STATE_PENDING, 0)
	var got []string
	for p, err := range c.WatchProcedure(t.Context(), id, time.Millisecond) {
		require.NoError(t, err)
		got = append(got, fmt.Sprint(p.State, " ", p.Counters["objects_deleted"]))
		switch len(got) {
		case 1:
			put(lakepb.ProcedureState_PROCEDURE_STATE_RUNNING, 5)
		case 2:
			put(lakepb.ProcedureState_PROCEDURE_STATE_COMPLETED, 9)
		}
	}
	require.Equal(t, []string{"pending 0", "running 5", "completed 9"}, got)

	for _, err := range c.WatchProcedure(t.Context(), sdk.ProcedureID{Kind: "drop-table", ID: "none"}, 0) {
		require.True(t, lake.Is(err, lake.NotFound), "%v", err)
	}
	var listed int
	for p, err := range c.ListProcedures(t.Context(), "") {
		require.NoError(t, err)
		require.Equal(t, id, p.ProcedureID)
		listed++
	}
	require.Equal(t, 1, listed)
}

func TestWatchEndsWithItsContext(t *testing.T) {
	s, c := connect(t)
	s.PutProcedure(&lakepb.Procedure{Kind: "k", Id: "i", State: lakepb.ProcedureState_PROCEDURE_STATE_RUNNING})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ended error
	for _, err := range c.WatchProcedure(ctx, sdk.ProcedureID{Kind: "k", ID: "i"}, time.Hour) {
		if ended = err; err == nil {
			cancel()
		}
	}
	require.ErrorIs(t, ended, context.Canceled)
}

func TestProcedureIDReadsAndWrites(t *testing.T) {
	id, err := sdk.ParseProcedureID("drop-table/robots/episodes/x")
	require.NoError(t, err)
	require.Equal(t, sdk.ProcedureID{Kind: "drop-table", ID: "robots/episodes/x"}, id)
	require.Equal(t, "drop-table/robots/episodes/x", id.String())
	for _, bad := range []string{"", "drop-table", "/x", "drop-table/"} {
		_, err := sdk.ParseProcedureID(bad)
		require.True(t, lake.Is(err, lake.Invalid), bad)
	}
}

var _ array.RecordReader = (*sdk.Result)(nil)
