// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/engine/enginetest"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/internal/rpc"
)

// authority is a small metasrv: the same calls over the in-memory engine, with
// counters and faults for the tests.
type authority struct {
	lakepb.UnimplementedCatalogServer
	lakepb.UnimplementedProceduresServer
	pb.UnimplementedFlightServiceServer
	engine *enginetest.Memory

	mu         sync.Mutex
	generation int
	tables     map[lake.TableName]*lakepb.Table
	operations map[lake.ID]*lakepb.AppendResult
	calls      map[string]int
	callers    map[string]access.Principal // the last of each call
	appendFail []error                     // one for each of the next appends, after it applied
	appendHold func()                      // returns when an append may go on
}

func newAuthority() *authority {
	return &authority{
		engine: enginetest.NewMemory(), tables: map[lake.TableName]*lakepb.Table{},
		operations: map[lake.ID]*lakepb.AppendResult{}, calls: map[string]int{}, callers: map[string]access.Principal{},
	}
}

func (a *authority) enter(ctx context.Context, call string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[call]++
	a.callers[call], _ = access.From(ctx)
}

func (a *authority) count(call string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls[call]
}

func (a *authority) lastCaller(call string) access.Principal {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.callers[call]
}

func (a *authority) failAppends(errs ...error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.appendFail = errs
}

// holdAppends has each append wait until hold returns.
func (a *authority) holdAppends(hold func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.appendHold = hold
}

// hold waits until an append may go on.
func (a *authority) hold() {
	a.mu.Lock()
	hold := a.appendHold
	a.mu.Unlock()
	if hold != nil {
		hold()
	}
}

func nameOf(n *lakepb.TableName) lake.TableName {
	return lake.TableName{Namespace: n.GetNamespace(), Name: n.GetName()}
}

func encodeSnapshot(s lake.Snapshot) *lakepb.Snapshot {
	return &lakepb.Snapshot{
		Engine: s.Engine, Location: string(s.Location), Incarnation: s.Incarnation.String(), Version: uint64(s.Version),
		Manifest: &lakepb.Manifest{Path: s.Manifest.Path, Size: s.Manifest.Size, Sha256: s.Manifest.SHA256[:]},
	}
}

func decodeSnapshot(s *lakepb.Snapshot) lake.Snapshot {
	inc, err := lake.ParseID(s.GetIncarnation())
	if err != nil {
		panic(err)
	}
	return lake.Snapshot{
		Engine: s.GetEngine(), Location: lake.Location(s.GetLocation()), Incarnation: inc, Version: lake.Version(s.GetVersion()),
		Manifest: lake.Manifest{Path: s.GetManifest().GetPath(), Size: s.GetManifest().GetSize(), SHA256: lake.Digest(s.GetManifest().GetSha256())},
	}
}

func (a *authority) CreateTable(ctx context.Context, req *lakepb.CreateTableRequest) (*lakepb.Table, error) {
	a.enter(ctx, "CreateTable")
	name := nameOf(req.GetName())
	schema, err := flight.DeserializeSchema(req.GetSchema(), memory.DefaultAllocator)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "schema: %w", err)
	}
	inc := lake.NewID()
	staged, err := a.engine.Create(ctx, lake.Place(name, inc), inc, schema)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tables[name] != nil {
		return nil, lake.Errorf(lake.AlreadyExists, "table %s already exists", name)
	}
	a.generation++
	a.tables[name] = &lakepb.Table{Name: req.GetName(), Snapshot: encodeSnapshot(staged.Snapshot), Schema: req.GetSchema()}
	return a.tables[name], nil
}

func (a *authority) GetTable(ctx context.Context, req *lakepb.GetTableRequest) (*lakepb.Table, error) {
	a.enter(ctx, "GetTable")
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.tables[nameOf(req.GetName())]
	if t == nil {
		return nil, lake.Errorf(lake.NotFound, "table %s does not exist", nameOf(req.GetName()))
	}
	return proto.CloneOf(t), nil
}

func (a *authority) DropTable(ctx context.Context, req *lakepb.DropTableRequest) (*lakepb.DropTableResponse, error) {
	a.enter(ctx, "DropTable")
	a.mu.Lock()
	defer a.mu.Unlock()
	name := nameOf(req.GetName())
	t := a.tables[name]
	if t == nil {
		return nil, lake.Errorf(lake.NotFound, "table %s does not exist", name)
	}
	delete(a.tables, name)
	a.generation++
	return &lakepb.DropTableResponse{ProcedureId: "p", Dropped: t}, nil
}

func (a *authority) UndropTable(ctx context.Context, req *lakepb.UndropTableRequest) (*lakepb.Table, error) {
	a.enter(ctx, "UndropTable")
	return nil, lake.Errorf(lake.NotFound, "no drop of table %s is in progress", nameOf(req.GetName()))
}

func (a *authority) ListTables(ctx context.Context, _ *lakepb.ListTablesRequest) (*lakepb.ListTablesResponse, error) {
	a.enter(ctx, "ListTables")
	a.mu.Lock()
	defer a.mu.Unlock()
	return &lakepb.ListTablesResponse{Tables: a.sorted()}, nil
}

func (a *authority) sorted() []*lakepb.Table {
	var out []*lakepb.Table
	for _, t := range a.tables {
		out = append(out, proto.CloneOf(t))
	}
	slices.SortFunc(out, func(x, y *lakepb.Table) int { return nameOf(x.GetName()).Compare(nameOf(y.GetName())) })
	return out
}

func (a *authority) CatalogSnapshot(req *lakepb.CatalogSnapshotRequest, stream grpc.ServerStreamingServer[lakepb.CatalogSnapshotResponse]) error {
	a.enter(stream.Context(), "CatalogSnapshot")
	a.mu.Lock()
	generation := fmt.Sprintf("g%d", a.generation)
	unchanged := req.GetKnownGeneration() == generation
	var tables []*lakepb.Table
	if !unchanged {
		tables = a.sorted()
	}
	a.mu.Unlock()
	if unchanged {
		return stream.Send(&lakepb.CatalogSnapshotResponse{Generation: generation, NotModified: true})
	}
	for first := true; first || len(tables) > 0; first = false {
		n := min(1000, len(tables))
		if err := stream.Send(&lakepb.CatalogSnapshotResponse{Generation: generation, Tables: tables[:n]}); err != nil {
			return err
		}
		generation, tables = "", tables[n:]
	}
	return nil
}

func (a *authority) ListProcedures(ctx context.Context, _ *lakepb.ListProceduresRequest) (*lakepb.ListProceduresResponse, error) {
	a.enter(ctx, "ListProcedures")
	return &lakepb.ListProceduresResponse{Procedures: []*lakepb.Procedure{{Kind: "drop-table", Id: "p"}}}, nil
}

func (a *authority) GetProcedure(ctx context.Context, req *lakepb.GetProcedureRequest) (*lakepb.Procedure, error) {
	a.enter(ctx, "GetProcedure")
	return &lakepb.Procedure{Kind: req.GetKind(), Id: req.GetId()}, nil
}

// DoPut applies one append: it checks the digest over exactly what arrived.
func (a *authority) DoPut(stream flight.FlightService_DoPutServer) error {
	a.enter(stream.Context(), "DoPut")
	if appendwire.IsSession(stream.Context()) {
		return a.session(stream)
	}
	a.hold()
	var msgs []*flight.FlightData
	size := int64(0)
	hash := appendwire.NewHasher()
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		hash.Add(m)
		msgs = append(msgs, m)
		size += appendwire.MessageSize(m)
	}
	cmd, err := appendwire.ParseCommand(msgs[0].GetFlightDescriptor())
	if err != nil {
		return err
	}
	announced := metadata.ValueFromIncomingContext(stream.Context(), appendwire.SizeHeader)
	if len(announced) > 0 && announced[0] != strconv.FormatInt(size, 10) {
		return lake.Errorf(lake.Invalid, "the payload has %d bytes, announced were %v", size, announced)
	}
	if hash.Digest() != cmd.Digest {
		return lake.Errorf(lake.Invalid, "the payload's digest differs")
	}
	r, err := flight.NewRecordReader(&replay{msgs})
	if err != nil {
		return lake.Errorf(lake.Invalid, "payload: %w", err)
	}
	defer r.Release()
	result, err := a.apply(stream.Context(), cmd, r)
	if err != nil {
		return err
	}
	b, err := proto.Marshal(result)
	if err != nil {
		return err
	}
	return stream.Send(&flight.PutResult{AppMetadata: b})
}

// session serves a session of appends, in their order.
func (a *authority) session(stream flight.FlightService_DoPutServer) error {
	in := rpc.NewSession(stream.Context(), stream, time.Hour, time.Hour)
	defer in.Close()
	first, err := in.Recv()
	if err != nil {
		return err
	}
	opening, err := appendwire.ParseOpening(first.GetFlightDescriptor())
	if err != nil {
		return err
	}
	for told := new(flight.PutResult); ; {
		if err := stream.Send(told); err != nil {
			return err
		}
		m, err := in.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		id, digest, err := appendwire.ParseItem(m)
		if err != nil {
			return err
		}
		r, err := flight.NewRecordReader(&replay{[]*flight.FlightData{first, m}})
		if err != nil {
			return err
		}
		result, err := a.apply(stream.Context(), appendwire.Command{Table: opening.Table, Operation: id, Digest: digest}, r)
		r.Release()
		b, err := proto.Marshal(&lakepb.AppendSessionResults{Results: []*lakepb.AppendSessionResult{appendwire.SessionResult(id, result, err)}})
		if err != nil {
			return err
		}
		told = &flight.PutResult{AppMetadata: b}
	}
}

type replay struct{ msgs []*flight.FlightData }

func (r *replay) Recv() (*flight.FlightData, error) {
	if len(r.msgs) == 0 {
		return nil, io.EOF
	}
	m := r.msgs[0]
	r.msgs = r.msgs[1:]
	return m, nil
}

func (a *authority) apply(ctx context.Context, cmd appendwire.Command, r array.RecordReader) (*lakepb.AppendResult, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if done := a.operations[cmd.Operation]; done != nil {
		return &lakepb.AppendResult{Version: done.GetVersion(), Rows: done.GetRows(), Replayed: true, Incarnation: done.GetIncarnation()}, nil
	}
	t := a.tables[cmd.Table]
	if t == nil {
		return nil, lake.Errorf(lake.NotFound, "table %s does not exist", cmd.Table)
	}
	schema, err := flight.DeserializeSchema(t.GetSchema(), memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	base := decodeSnapshot(t.GetSnapshot())
	data, err := a.engine.StageData(ctx, base.Location, schema, r)
	if err != nil {
		return nil, err
	}
	if data.Rows() == 0 || data.Rows() > lake.MaxAppendRows {
		return nil, lake.Errorf(lake.Invalid, "%d rows", data.Rows())
	}
	staged, err := a.engine.StageAppend(ctx, base, []engine.Append{{Operation: engine.Operation{ID: cmd.Operation, Digest: cmd.Digest}, Data: data}})
	if err != nil {
		return nil, err
	}
	t.Snapshot = encodeSnapshot(staged.Snapshot)
	result := &lakepb.AppendResult{Version: uint64(staged.Snapshot.Version), Rows: data.Rows(), Incarnation: base.Incarnation.String()}
	a.operations[cmd.Operation] = result
	if len(a.appendFail) > 0 {
		fail := a.appendFail[0]
		a.appendFail = a.appendFail[1:]
		return nil, fail
	}
	return result, nil
}

// create makes a table without going through a replica.
func (a *authority) create(t testing.TB, name string, schema *arrow.Schema) lake.TableName {
	t.Helper()
	ns, table, _ := strings.Cut(name, ".")
	_, err := a.CreateTable(context.Background(), &lakepb.CreateTableRequest{
		Name: &lakepb.TableName{Namespace: ns, Name: table}, Schema: flight.SerializeSchema(schema, memory.DefaultAllocator),
	})
	require.NoError(t, err)
	return lake.TableName{Namespace: ns, Name: table}
}

// insert appends rows without going through a replica, in pieces that one
// append may have.
func (a *authority) insert(t testing.TB, name lake.TableName, rec arrow.RecordBatch) {
	t.Helper()
	for at := int64(0); at < rec.NumRows(); at += lake.MaxAppendRows {
		part := rec.NewSlice(at, min(at+lake.MaxAppendRows, rec.NumRows()))
		r, err := array.NewRecordReader(rec.Schema(), []arrow.RecordBatch{part})
		require.NoError(t, err)
		_, err = a.apply(context.Background(), appendwire.Command{Table: name, Operation: lake.NewID()}, r)
		require.NoError(t, err)
		r.Release()
		part.Release()
	}
}

// rows builds a batch from JSON rows.
func rows(t testing.TB, schema *arrow.Schema, json string) arrow.RecordBatch {
	t.Helper()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(json))
	require.NoError(t, err)
	t.Cleanup(rec.Release)
	return rec
}
