// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"context"
	"flag"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/internal/rpc"
	"github.com/lakeplane/lake/services/query"
	"github.com/lakeplane/lake/services/query/engine/duck"
	"github.com/lakeplane/lake/services/query/engine/pool"
	"github.com/lakeplane/lake/services/query/engine/slot"
	"github.com/lakeplane/lake/services/query/engine/slotwire"
	"github.com/lakeplane/lake/services/query/gate"
)

// inProcess runs the tests with the engine in the test's own process, and not
// in slots as replicas do.
var inProcess = flag.Bool("in-process-sql", pool.Supported() != nil, "run statements in the process of the test")

var sharedSQL slot.Engine

// sharedSlots is how many statements it runs at once.
const sharedSlots = 4

func TestMain(m *testing.M) {
	slot.RunIfAsked(func(s slotwire.Setup) (slot.Engine, error) { return duck.OpenSlot(s) })
	flag.Parse()
	var err error
	if sharedSQL, err = openSQL(*inProcess, sharedSlots); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = sharedSQL.Close()
	if err := goleak.Find(); code == 0 && err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		code = 1
	}
	os.Exit(code)
}

func openSQL(inProcess bool, slots int) (slot.Engine, error) {
	if inProcess {
		return duck.New(duck.Options{Slots: slots, Threads: 2})
	}
	return pool.New(pool.Options{Slots: slots, Threads: 2, Log: slog.New(slog.DiscardHandler)})
}

// tokens authenticates by a fixed map; service is the replica itself.
type tokens map[string]access.Principal

func (tokens) LoopbackOnly() bool { return false }

func (ts tokens) Authenticate(_ context.Context, token string) (access.Principal, error) {
	p, ok := ts[token]
	if !ok {
		return p, lake.Errorf(lake.Unauthenticated, "unknown token")
	}
	return p, nil
}

var people = tokens{
	"ann-token": {Name: "ann", Tenant: "red", Role: access.User, Namespaces: []string{"*"}},
	"bob-token": {Name: "bob", Tenant: "blue", Role: access.User, Namespaces: []string{"lab"}},
	"service":   {Name: "query", Tenant: "default", Role: access.QueryService, Namespaces: []string{"*"}},
}

// bearer sends a token with every call.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}
func (bearer) RequireTransportSecurity() bool { return false }

// lakeUnderTest is an authority and replicas on loopback.
type lakeUnderTest struct {
	t         testing.TB
	authority *authority
	metaAddr  string
	copying   bool // replicas serve without the codec of package wire
}

// replica is one running query server.
type replica struct {
	*query.Server
	t    testing.TB
	addr string
	opts query.Options
}

func serve(t testing.TB, s *grpc.Server) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
	return l.Addr().String()
}

func newLake(t testing.TB) *lakeUnderTest {
	a := newAuthority()
	s := rpc.NewServer(rpc.Options{Name: "meta", Auth: people, Logger: slog.New(slog.DiscardHandler)})
	lakepb.RegisterCatalogServer(s, a)
	lakepb.RegisterProceduresServer(s, a)
	pb.RegisterFlightServiceServer(s, a)
	return &lakeUnderTest{t: t, authority: a, metaAddr: serve(t, s)}
}

// replica starts a query server; tune may change its options.
func (l *lakeUnderTest) replica(tune ...func(*query.Options)) *replica {
	l.t.Helper()
	conn, err := grpc.NewClient(l.metaAddr, dialInsecure("service")...)
	require.NoError(l.t, err)
	l.t.Cleanup(func() { _ = conn.Close() })
	opts := query.Options{Authority: conn, Storage: l.authority.engine, SQL: sharedSQL, Gate: gate.New(sharedSQL, gate.DefaultLimits()), Version: "1.2.3", Log: slog.New(slog.DiscardHandler)}
	for _, f := range tune {
		f(&opts)
	}
	q, err := query.New(opts)
	require.NoError(l.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- q.Run(ctx) }()
	serving := rpc.Options{Name: "query", Auth: people, Logger: slog.New(slog.DiscardHandler)}
	if !l.copying {
		serving.Extra = q.GRPCOptions()
	}
	s := rpc.NewServer(serving)
	q.Register(s)
	r := &replica{Server: q, t: l.t, opts: opts}
	l.t.Cleanup(func() {
		cancel()
		require.NoError(l.t, <-done)
		require.NoError(l.t, q.Close())
	})
	r.addr = serve(l.t, s) // stops before the replica closes
	require.Eventually(l.t, q.Ready, 20*time.Second, time.Millisecond)
	return r
}

func dialInsecure(token string) []grpc.DialOption {
	opts := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	if token != "" {
		opts = append(opts, grpc.WithPerRPCCredentials(bearer(token)))
	}
	return opts
}

func ipcSchema(rec arrow.RecordBatch) ipc.Option { return ipc.WithSchema(rec.Schema()) }

// client connects as the owner of a token.
func (r *replica) client(token string) *flightsql.Client {
	r.t.Helper()
	c, err := flightsql.NewClient(r.addr, nil, nil, dialInsecure(token)...)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// conn is a plain connection for the other services.
func (r *replica) conn(token string) *grpc.ClientConn {
	r.t.Helper()
	c, err := grpc.NewClient(r.addr, dialInsecure(token)...)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// result is everything a query returned.
type result struct {
	info    *flight.FlightInfo
	schema  *arrow.Schema
	batches []arrow.RecordBatch
}

func (r *result) rows() (n int64) {
	for _, b := range r.batches {
		n += b.NumRows()
	}
	return n
}

// json renders the rows, one JSON object a line.
func (r *result) json(t testing.TB) string {
	var b strings.Builder
	for _, rec := range r.batches {
		require.NoError(t, array.RecordToJSON(rec, &b))
	}
	return b.String()
}

// fetch redeems every endpoint of an info.
func fetch(t testing.TB, ctx context.Context, c *flightsql.Client, info *flight.FlightInfo) (*result, error) {
	t.Helper()
	out := &result{info: info}
	for _, e := range info.GetEndpoint() {
		r, err := c.DoGet(ctx, e.GetTicket())
		if err != nil {
			return nil, err
		}
		out.schema = r.Schema()
		for r.Next() {
			rec := r.RecordBatch()
			rec.Retain()
			t.Cleanup(rec.Release)
			out.batches = append(out.batches, rec)
		}
		err = r.Err()
		r.Release()
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func run(t testing.TB, c *flightsql.Client, sql string) (*result, error) {
	t.Helper()
	info, err := c.Execute(t.Context(), sql)
	if err != nil {
		return nil, err
	}
	return fetch(t, t.Context(), c, info)
}

func mustRun(t testing.TB, c *flightsql.Client, sql string) *result {
	t.Helper()
	r, err := run(t, c, sql)
	require.NoError(t, err, sql)
	return r
}

func withHeader(ctx context.Context, key, value string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, key, value)
}
