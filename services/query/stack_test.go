// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	lanceengine "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	metamemory "github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/metasrv"
	"github.com/lakeplane/lake/services/query"
	"github.com/lakeplane/lake/services/query/gate"
)

// stack is a whole Lake of one process: the real authority over an in-memory
// metastore, Lance tables on local files, DuckDB, and one replica.
type stack struct {
	addr    string
	objects *local.Store
	meta    *grpc.ClientConn
	engine  *lanceengine.Engine
}

func background(t testing.TB, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-done) })
}

func newStack(t testing.TB, tune ...func(*lanceengine.Options)) *stack {
	quiet := slog.New(slog.DiscardHandler)
	objects, err := local.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = objects.Close() })
	storage := lanceengine.Options{Store: objects}
	for _, f := range tune {
		f(&storage)
	}
	eng, err := lanceengine.New(storage)
	require.NoError(t, err)
	t.Cleanup(func() { _ = eng.Close() })
	store := metamemory.New()
	t.Cleanup(func() { _ = store.Close() })
	meta, err := metasrv.New(metasrv.Options{Store: store, Engine: eng, Logger: quiet, Election: catalog.ElectionOptions{Exclusive: true}})
	require.NoError(t, err)
	metaLis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	background(t, func(ctx context.Context) error {
		return meta.Serve(ctx, metaLis, metasrv.ListenOptions{Auth: access.Development(), Logger: quiet})
	})
	require.Eventually(t, meta.Leading, 10*time.Second, time.Millisecond)
	conn, err := grpc.NewClient(metaLis.Addr().String(), dialInsecure("")...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	s := &stack{objects: objects, meta: conn, engine: eng}
	s.addr = s.replica(t)
	return s
}

// replica adds a query replica and returns its address.
func (s *stack) replica(t testing.TB, tune ...func(*query.Options)) string {
	opts := query.Options{
		Authority: s.meta, Storage: s.engine, SQL: sharedSQL, Gate: gate.New(sharedSQL, gate.DefaultLimits()), Log: slog.New(slog.DiscardHandler),
	}
	for _, f := range tune {
		f(&opts)
	}
	q, err := query.New(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, q.Close()) })
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	background(t, func(ctx context.Context) error {
		return q.Serve(ctx, lis, query.ListenOptions{Auth: access.Development()}, time.Second)
	})
	require.Eventually(t, q.Ready, 10*time.Second, time.Millisecond)
	return lis.Addr().String()
}

func (s *stack) client(t testing.TB) *flightsql.Client {
	c, err := flightsql.NewClient(s.addr, nil, nil, dialInsecure("")...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *stack) catalog(t testing.TB) lakepb.CatalogClient {
	c, err := grpc.NewClient(s.addr, dialInsecure("")...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.Eventually(t, func() bool {
		h, err := grpc_health_v1.NewHealthClient(c).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "arrow.flight.protocol.FlightService"})
		return err == nil && h.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING
	}, 20*time.Second, 10*time.Millisecond)
	return lakepb.NewCatalogClient(c)
}

func create(t testing.TB, c lakepb.CatalogClient, name string, schema *arrow.Schema) lake.TableName {
	t.Helper()
	n, err := lake.ParseTableName(name)
	require.NoError(t, err)
	_, err = c.CreateTable(t.Context(), &lakepb.CreateTableRequest{Name: &lakepb.TableName{Namespace: n.Namespace, Name: n.Name}, Schema: flight.SerializeSchema(schema, memory.DefaultAllocator)})
	require.NoError(t, err)
	return n
}

func TestTheWholeStackThroughOneAddress(t *testing.T) {
	s := newStack(t)
	c, tables := s.client(t), s.catalog(t)
	name := create(t, tables, "lab.types", everyType())
	rec := rows(t, everyType(), "["+fmt.Sprintf(everyValue, 1)+","+fmt.Sprintf(everyValue, 2)+"]")
	for i := range 3 {
		res, err := appendRows(t, c, name, rec, false)
		require.NoError(t, err)
		require.EqualValues(t, i+2, res.GetVersion())
		require.Equal(t, fmt.Sprintf("{\"n\":%d}\n", 2*(i+1)), mustRun(t, c, "SELECT count(*) AS n FROM lab.types").json(t), "a client reads its write at once")
	}
	got := mustRun(t, c, "SELECT * FROM lab.types LIMIT 2")
	for i, f := range everyType().Fields() {
		require.True(t, f.Equal(got.schema.Field(i)), "field %s: %s", f.Name, got.schema.Field(i))
	}
	got = mustRun(t, c, "SELECT * FROM lab.types ORDER BY key LIMIT 1")
	require.Len(t, got.batches, 1)
	first := rec.NewSlice(0, 1)
	defer first.Release()
	require.True(t, array.RecordEqual(first, got.batches[0]), "sent %v\ngot  %v", first, got.batches[0])

	info, err := c.Execute(t.Context(), "SELECT count(*) AS n FROM lab.types")
	require.NoError(t, err)
	dropped, err := tables.DropTable(t.Context(), &lakepb.DropTableRequest{Name: &lakepb.TableName{Namespace: "lab", Name: "types"}})
	require.NoError(t, err)
	conn, err := grpc.NewClient(s.addr, dialInsecure("")...)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	procedure, err := lakepb.NewProceduresClient(conn).GetProcedure(t.Context(), &lakepb.GetProcedureRequest{Kind: "drop-table", Id: dropped.GetProcedureId()})
	require.NoError(t, err)
	require.Equal(t, lakepb.ProcedureState_PROCEDURE_STATE_PENDING, procedure.GetState())
	_, err = run(t, c, "SELECT * FROM lab.types")
	require.Equal(t, codes.NotFound, status.Code(err))
	create(t, tables, "lab.types", simple)
	require.Zero(t, mustRun(t, c, "SELECT id FROM lab.types").rows())
	pinned, err := fetch(t, t.Context(), c, info)
	require.NoError(t, err, "the dropped table's objects are there until they are purged")
	require.Equal(t, "{\"n\":6}\n", pinned.json(t))
}

// A table that comes back is read at once, also by a replica that has seen the
// table, its drop and nothing of the undrop.
func TestUndropIsSeenAtOnceByEveryReplica(t *testing.T) {
	here := newStack(t)
	there := &stack{addr: here.replica(t)}
	c, other := here.client(t), there.client(t)
	tables := here.catalog(t)
	there.catalog(t) // is ready
	name := create(t, tables, "lab.back", simple)
	_, err := appendRows(t, c, name, rows(t, simple, `[{"id":1},{"id":2}]`), false)
	require.NoError(t, err)
	before, err := tables.GetTable(t.Context(), &lakepb.GetTableRequest{Name: &lakepb.TableName{Namespace: "lab", Name: "back"}})
	require.NoError(t, err)
	const sum = "SELECT sum(id)::BIGINT AS s FROM lab.back"
	for range 3 {
		for _, c := range []*flightsql.Client{c, other} {
			require.Equal(t, "{\"s\":3}\n", mustRun(t, c, sum).json(t))
			require.Len(t, column(mustRun(t, c, "SHOW TABLES"), 0), 1)
		}
		dropped, err := tables.DropTable(t.Context(), &lakepb.DropTableRequest{Name: before.GetName()})
		require.NoError(t, err)
		for _, c := range []*flightsql.Client{c, other} {
			require.Eventually(t, func() bool { _, err := run(t, c, sum); return status.Code(err) == codes.NotFound }, 20*time.Second, 10*time.Millisecond)
		}
		back, err := tables.UndropTable(t.Context(), &lakepb.UndropTableRequest{Name: before.GetName(), Incarnation: dropped.GetDropped().GetSnapshot().GetIncarnation()})
		require.NoError(t, err)
		require.Equal(t, before.String(), back.String())
	}
	for _, c := range []*flightsql.Client{other, c} {
		require.Equal(t, "{\"s\":3}\n", mustRun(t, c, sum).json(t))
	}
}

func TestBulkIngestionThroughTheRealAuthority(t *testing.T) {
	s := newStack(t)
	c := s.client(t)
	opts := ingestOptions(flightsql.TableDefinitionOptionsTableNotExistOptionCreate, flightsql.TableDefinitionOptionsTableExistsOptionAppend)
	n, err := c.ExecuteIngest(t.Context(), many(t, 25_000), opts)
	require.NoError(t, err)
	require.EqualValues(t, 25_000, n)
	require.Equal(t, `{"d":25000,"n":25000}`+"\n", mustRun(t, c, "SELECT count(*) AS n, count(DISTINCT id) AS d FROM lab.bulk").json(t))
	create(t, s.catalog(t), "lab.other", simple)
	_, err = s.catalog(t).CreateTable(t.Context(), &lakepb.CreateTableRequest{Name: &lakepb.TableName{Namespace: "lab", Name: "other"}, Schema: flight.SerializeSchema(simple, memory.DefaultAllocator)})
	require.Equal(t, codes.AlreadyExists, status.Code(err))
	got := mustRun(t, c, "SELECT a.id FROM lab.bulk a JOIN lab.bulk b ON a.id = b.id + 1 WHERE a.id < 4 ORDER BY 1")
	require.Equal(t, []string{"1", "2", "3"}, column(got, 0))
}
