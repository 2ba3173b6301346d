// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/engine/enginetest"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/hookstore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/metasrv"
	"github.com/lakeplane/lake/workflows"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// people are the principals of the tests, by token.
type people map[string]access.Principal

func (people) LoopbackOnly() bool { return false }

func (p people) Authenticate(_ context.Context, token string) (access.Principal, error) {
	if token == "" {
		token = "root"
	}
	who, ok := p[token]
	if !ok {
		return who, lake.Errorf(lake.Unauthenticated, "unknown token")
	}
	return who, nil
}

var everybody = people{
	"root":    {Name: "root", Tenant: "default", Role: access.Admin, Namespaces: []string{"*"}},
	"red":     {Name: "red", Tenant: "red", Role: access.User, Namespaces: []string{"r", "shared"}},
	"blue":    {Name: "blue", Tenant: "blue", Role: access.User, Namespaces: []string{"b", "shared"}},
	"other":   {Name: "other", Tenant: "other", Role: access.User},
	"member":  {Name: "member", Tenant: "default", Role: access.MetadataPeer},
	"replica": {Name: "replica", Tenant: "default", Role: access.QueryService, Namespaces: []string{"*"}},
}

func as(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

// disturbed is an engine whose calls a test may disturb.
type disturbed struct {
	engine.Engine
	mu        sync.Mutex
	stageData func(ctx context.Context) error
	publish   func(lake.Snapshot) error
	published []lake.Version
	staged    int
}

func (d *disturbed) set(f func(*disturbed)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(d)
}

func (d *disturbed) StageData(ctx context.Context, loc lake.Location, schema *arrow.Schema, rows array.RecordReader) (engine.Data, error) {
	d.mu.Lock()
	d.staged++
	f := d.stageData
	d.mu.Unlock()
	if f != nil {
		if err := f(ctx); err != nil {
			return nil, err
		}
	}
	return d.Engine.StageData(ctx, loc, schema, rows)
}

func (d *disturbed) Publish(ctx context.Context, s lake.Snapshot) error {
	d.mu.Lock()
	f := d.publish
	d.mu.Unlock()
	if f != nil {
		if err := f(s); err != nil {
			return err
		}
	}
	err := d.Engine.Publish(ctx, s)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.published = append(d.published, s.Version)
	return err
}

// starter records what was started and what was told to look again.
type starter struct {
	mu        sync.Mutex
	started   []string
	rechecked []string
	fail      error
}

func (s *starter) Start(_ context.Context, kind, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = append(s.started, kind+"/"+id)
	return s.fail
}

func (s *starter) Resume(_ context.Context, ref workflows.Ref) error {
	return s.tell("resume " + ref.String())
}

func (s *starter) Cancel(_ context.Context, ref workflows.Ref) error {
	return s.tell("cancel " + ref.String())
}

func (s *starter) Recheck(_ context.Context, ref workflows.Ref) error { return s.tell(ref.String()) }

func (s *starter) tell(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rechecked = append(s.rechecked, what)
	return s.fail
}

// refuse makes the starter fail from now on; what a server began in the
// background may be asking it.
func (s *starter) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

func (s *starter) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.rechecked...)
}

func (s *starter) UIURL(id string) string { return "http://ui/" + id }

func (s *starter) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.started...)
}

// authority is a running server with its clients and what it stands on.
type authority struct {
	*metasrv.Server
	catalog       lakepb.CatalogClient
	procedures    lakepb.ProceduresClient
	flight        flight.FlightServiceClient
	cancellations lakepb.CancellationsClient
	records       *catalog.Catalog
	store         *hookstore.Store
	engine        *disturbed
	starter       *starter
	stop          func()
	shutdown      func() // stop, while its clients are still connected
}

var quiet = slog.New(slog.DiscardHandler)

// start runs a server on its own memory store and engine.
func start(t testing.TB, change ...func(*metasrv.Options)) *authority {
	t.Helper()
	store := memory.New()
	t.Cleanup(func() { _ = store.Close() })
	return startOn(t, store, enginetest.NewMemory(), change...)
}

func startOn(t testing.TB, store metastore.Store, storage engine.Engine, change ...func(*metasrv.Options)) *authority {
	t.Helper()
	return startAt(t, store, storage, bufconn.Listen(1<<20), change...)
}

// startAt runs a server on a listener, which others may reach too.
func startAt(t testing.TB, store metastore.Store, storage engine.Engine, lis net.Listener, change ...func(*metasrv.Options)) *authority {
	t.Helper()
	a := &authority{store: hookstore.New(store), engine: &disturbed{Engine: storage}, starter: new(starter)}
	opts := metasrv.Options{
		Store: a.store, Engine: a.engine, Starter: a.starter, Logger: quiet,
		Election: catalog.ElectionOptions{Exclusive: true},
		Append:   metasrv.AppendOptions{Wait: 10 * time.Second},
	}
	for _, f := range change {
		f(&opts)
	}
	var err error
	a.Server, err = metasrv.New(opts)
	require.NoError(t, err)
	a.records = catalog.New(store, catalog.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx, lis, metasrv.ListenOptions{Auth: everybody, Logger: quiet}) }()
	conn, err := grpc.NewClient("passthrough:///", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if local, ok := lis.(*bufconn.Listener); ok {
				return local.DialContext(ctx)
			}
			return new(net.Dialer).DialContext(ctx, "tcp", lis.Addr().String())
		}))
	require.NoError(t, err)
	a.catalog, a.procedures = lakepb.NewCatalogClient(conn), lakepb.NewProceduresClient(conn)
	a.flight, a.cancellations = flight.NewFlightServiceClient(conn), lakepb.NewCancellationsClient(conn)
	a.shutdown = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-served)
	})
	a.stop = sync.OnceFunc(func() {
		_ = conn.Close()
		a.shutdown()
	})
	t.Cleanup(a.stop)
	if opts.Election.Exclusive {
		require.Eventually(t, a.Leading, 20*time.Second, time.Millisecond)
	}
	return a
}

var ints = arrow.NewSchema([]arrow.Field{
	{Name: "n", Type: arrow.PrimitiveTypes.Int64},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

func schemaBytes(s *arrow.Schema) []byte { return flight.SerializeSchema(s, arrowmem.DefaultAllocator) }

func nameOf(ns, n string) *lakepb.TableName { return &lakepb.TableName{Namespace: ns, Name: n} }

func (a *authority) create(t testing.TB, ns, n string) *lakepb.Table {
	t.Helper()
	table, err := a.catalog.CreateTable(t.Context(), &lakepb.CreateTableRequest{Name: nameOf(ns, n), Schema: schemaBytes(ints)})
	require.NoError(t, err)
	return table
}

// rowsOf makes a batch of ints with the given numbers.
func rowsOf(numbers ...int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(arrowmem.DefaultAllocator, ints)
	b.Field(0).(*array.Int64Builder).AppendValues(numbers, nil)
	for i := range numbers {
		if i%2 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append("odd")
		}
	}
	return b.NewRecordBatch()
}

// collected keeps the messages that a flight writer sends.
type collected struct{ messages []*flight.FlightData }

func (c *collected) Send(m *flight.FlightData) error {
	c.messages = append(c.messages, &flight.FlightData{DataHeader: m.DataHeader, DataBody: append([]byte{}, m.DataBody...)})
	return nil
}

func encode(t testing.TB, schema *arrow.Schema, batches []arrow.RecordBatch, opts ...ipc.Option) []*flight.FlightData {
	t.Helper()
	var c collected
	w := flight.NewRecordWriter(&c, append(opts, ipc.WithSchema(schema))...)
	for _, b := range batches {
		require.NoError(t, w.Write(b))
	}
	require.NoError(t, w.Close())
	return c.messages
}

// op is an append that may be sent any number of times.
type op struct {
	command  appendwire.Command
	messages []*flight.FlightData
}

func newOp(t testing.TB, ns, n string, numbers ...int64) op {
	t.Helper()
	return opOf(ns, n, encode(t, ints, []arrow.RecordBatch{rowsOf(numbers...)}))
}

func opOf(ns, n string, messages []*flight.FlightData) op {
	return op{appendwire.Command{Table: lake.TableName{Namespace: ns, Name: n}, Operation: lake.NewID(), Digest: appendwire.DigestOf(messages...)}, messages}
}

func (a *authority) put(ctx context.Context, o op) (*lakepb.AppendResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := a.flight.DoPut(ctx)
	if err != nil {
		return nil, err
	}
	descriptor, err := o.command.Descriptor()
	if err != nil {
		return nil, err
	}
	for i, m := range o.messages {
		if i == 0 {
			m = &flight.FlightData{FlightDescriptor: descriptor, DataHeader: m.DataHeader, DataBody: m.DataBody, AppMetadata: m.AppMetadata}
		}
		if err := stream.Send(m); err != nil {
			break // the reason is received
		}
	}
	_ = stream.CloseSend()
	ack, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one answer")
	}
	result := new(lakepb.AppendResult)
	return result, proto.Unmarshal(ack.GetAppMetadata(), result)
}

// numbers returns the first column of the table's current version.
func (a *authority) numbers(t testing.TB, ns, n string) []int64 {
	t.Helper()
	table, err := a.records.Get(t.Context(), lake.TableName{Namespace: ns, Name: n})
	require.NoError(t, err)
	data, err := a.engine.Open(t.Context(), table.Snapshot)
	require.NoError(t, err)
	defer data.Close()
	scan, err := data.Scan(t.Context(), engine.ScanOptions{Columns: []int{0}})
	require.NoError(t, err)
	defer scan.Close()
	var out []int64
	for {
		batch, err := scan.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		out = append(out, batch.Column(0).(*array.Int64).Int64Values()...)
		batch.Release()
	}
}

func requireCode(t testing.TB, want codes.Code, err error, contains ...string) {
	t.Helper()
	require.Equal(t, want, status.Code(err), "%v", err)
	for _, c := range contains {
		require.ErrorContains(t, err, c)
	}
}
