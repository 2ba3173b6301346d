// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package sdktest is a Lake server in memory for tests of programs that use
// the SDK: it keeps tables and rows, applies every append operation once,
// answers the SQL texts it was taught, and fails when it is told to.
package sdktest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// Fault is what happens to one append attempt.
type Fault int

// The faults.
const (
	// None: the attempt succeeds.
	None Fault = iota
	// Refuse: Unavailable before anything is read or applied.
	Refuse
	// Busy: Exhausted before anything is read or applied.
	Busy
	// LoseAck: the append is applied and the answer is Unavailable.
	LoseAck
	// Silence: the append is applied and no answer ever comes.
	Silence
	// EndEarly: the append is applied and the stream ends without an answer.
	EndEarly
	// Forget: the server claims that the operation carried another digest.
	Forget
)

// Attempt is one append attempt as the server saw it.
type Attempt struct {
	Operation lake.OperationID
	Digest    lake.Digest
	// Incarnation is the one it was pinned to, or zero.
	Incarnation lake.Incarnation
}

// Server is an in-memory Lake. Make one with [New]; it is safe for concurrent
// use.
type Server struct {
	lakepb.UnimplementedCatalogServer
	lakepb.UnimplementedProceduresServer
	flight.BaseFlightServer

	// PageSize bounds listings, to try paging. Set it before the first call.
	PageSize int

	main *Front

	mu         sync.Mutex
	tables     map[lake.TableName]*table
	dropped    []*table // those of a drop that can be undone
	answers    map[string]answer
	faults     []Fault
	attempts   []Attempt
	sessions   int   // asked for
	open       int   // sessions being served
	refusal    error // of sessions
	tokens     []string
	asked      []string
	endpoints  []string // wanted by plans
	procedures []*lakepb.Procedure
	bound      arrow.RecordBatch
	lookups    int
	cuts       map[string]int
}

type table struct {
	proto   *lakepb.Table
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	applied map[lake.OperationID]applied
}

type applied struct {
	digest  lake.Digest
	version uint64
	rows    uint64
}

// TB is the part of testing.TB that is used.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
}

// New starts a server on a loopback port that ends with the test.
func New(t TB) *Server {
	t.Helper()
	s, stop, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return s
}

// Start starts a server on a loopback port; stop ends it and its calls.
func Start() (s *Server, stop func(), err error) {
	s = &Server{PageSize: 100, tables: map[lake.TableName]*table{}, answers: map[string]answer{}, cuts: map[string]int{}}
	if s.main, err = s.front(); err != nil {
		return nil, nil, err
	}
	return s, s.main.Stop, nil
}

// Addr is the host:port to connect to.
func (s *Server) Addr() string { return s.main.Addr() }

// Plan sets what happens to the next append attempts, one each; later ones
// succeed.
func (s *Server) Plan(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = faults
}

// Cut breaks the next n calls of a gRPC method off once the headers of the
// answer are out, as the end of a process does to calls it was serving.
func (s *Server) Cut(method string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cuts[method] = n
}

// Left is how many calls of a method are yet to be cut.
func (s *Server) Left(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cuts[method]
}

// cut is the error of a call that is to break off.
func (s *Server) cut(method string, sendHeader func(metadata.MD) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cuts[method] == 0 {
		return nil
	}
	s.cuts[method]--
	if err := sendHeader(metadata.MD{}); err != nil {
		return err
	}
	return status.Error(codes.Unavailable, "error reading from server: EOF")
}

// Attempts are the append attempts whose command arrived, in order.
func (s *Server) Attempts() []Attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.attempts)
}

// Tokens are the authorization headers of all calls, in order.
func (s *Server) Tokens() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tokens)
}

// MinVersions are the entries of the x-lake-min-version headers of all plans, in
// order. A plan that asks for a version its table does not have fails with
// lake.Precondition, as with a real replica.
func (s *Server) MinVersions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Endpoints are the x-lake-endpoints headers of all plans that had one, in order.
func (s *Server) Endpoints() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.endpoints)
}

// Rows counts the rows of a table that were applied.
func (s *Server) Rows(name lake.TableName) (rows int64) {
	for _, b := range s.Batches(name) {
		rows += b.NumRows()
	}
	return rows
}

// Batches are the batches of a table in the order they were applied.
func (s *Server) Batches(name lake.TableName) []arrow.RecordBatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.tables[name]; ok {
		return slices.Clone(t.batches)
	}
	return nil
}

// PutProcedure adds a procedure, or replaces the one of its kind and id.
func (s *Server) PutProcedure(p *lakepb.Procedure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putProcedure(p)
}

// putProcedure is PutProcedure; s.mu is held.
func (s *Server) putProcedure(p *lakepb.Procedure) {
	s.procedures = slices.DeleteFunc(s.procedures, func(o *lakepb.Procedure) bool { return o.GetKind() == p.GetKind() && o.GetId() == p.GetId() })
	s.procedures = append(s.procedures, p)
}

// CreateTable implements the Catalog service.
func (s *Server) CreateTable(_ context.Context, req *lakepb.CreateTableRequest) (*lakepb.Table, error) {
	name := nameOf(req.GetName())
	schema, err := flight.DeserializeSchema(req.GetSchema(), memory.DefaultAllocator)
	if err != nil {
		return nil, grpcerr.ToStatus(lake.Errorf(lake.Invalid, "create table %s: %w", name, err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.tables[name]; taken {
		return nil, grpcerr.ToStatus(lake.Errorf(lake.AlreadyExists, "table %s exists", name))
	}
	inc, now := lake.NewID(), timestamppb.New(time.Now())
	t := &table{schema: schema, applied: map[lake.OperationID]applied{}, proto: &lakepb.Table{
		Name: req.GetName(), Schema: req.GetSchema(), CreatedAt: now, UpdatedAt: now,
		Snapshot: &lakepb.Snapshot{
			Engine: "memory", Location: string(lake.Place(name, inc)), Incarnation: inc.String(), Version: 1,
			Manifest: &lakepb.Manifest{Path: "1.manifest", Sha256: make([]byte, 32)},
		},
	}}
	s.tables[name] = t
	return t.proto, nil
}

// Lookups counts the calls of GetTable.
func (s *Server) Lookups() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lookups
}

// GetTable implements the Catalog service.
func (s *Server) GetTable(_ context.Context, req *lakepb.GetTableRequest) (*lakepb.Table, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookups++
	t, err := s.find(nameOf(req.GetName()))
	if err != nil {
		return nil, grpcerr.ToStatus(err)
	}
	return t.proto, nil
}

func (s *Server) find(name lake.TableName) (*table, error) {
	if t, ok := s.tables[name]; ok {
		return t, nil
	}
	return nil, lake.Errorf(lake.NotFound, "table %s does not exist", name)
}

// ListTables implements the Catalog service.
func (s *Server) ListTables(_ context.Context, req *lakepb.ListTablesRequest) (*lakepb.ListTablesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var page []*lakepb.Table
	for name, t := range s.tables {
		if (req.GetNamespace() == "" || req.GetNamespace() == name.Namespace) && name.Path() > req.GetPageToken() {
			page = append(page, &lakepb.Table{Name: t.proto.GetName(), Snapshot: t.proto.GetSnapshot(), CreatedAt: t.proto.GetCreatedAt(), UpdatedAt: t.proto.GetUpdatedAt()})
		}
	}
	slices.SortFunc(page, func(a, b *lakepb.Table) int {
		return cmp.Compare(nameOf(a.GetName()).Path(), nameOf(b.GetName()).Path())
	})
	resp := &lakepb.ListTablesResponse{Tables: page}
	if len(page) > s.PageSize {
		resp.Tables = page[:s.PageSize]
		resp.NextPageToken = nameOf(page[s.PageSize-1].GetName()).Path()
	}
	return resp, nil
}

// DropTable implements the Catalog service.
func (s *Server) DropTable(_ context.Context, req *lakepb.DropTableRequest) (*lakepb.DropTableResponse, error) {
	name := nameOf(req.GetName())
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.find(name)
	if err != nil {
		return nil, grpcerr.ToStatus(err)
	}
	id := name.Path() + "/" + t.proto.GetSnapshot().GetIncarnation()
	resp := &lakepb.DropTableResponse{ProcedureId: id, Dropped: t.proto, PurgeAfter: timestamppb.Now(), DryRun: req.GetDryRun()}
	if req.GetDryRun() {
		return resp, nil
	}
	delete(s.tables, name)
	p := &lakepb.Procedure{
		Kind: "drop-table", Id: id, State: lakepb.ProcedureState_PROCEDURE_STATE_COMPLETED, Phase: "done",
		Counters: map[string]int64{"objects_deleted": 1}, Epoch: 1,
		CreatedAt: timestamppb.Now(), UpdatedAt: timestamppb.Now(), WorkflowId: "drop-table/" + id,
	}
	if w := req.GetUndropWindow().AsDuration(); w > 0 {
		resp.PurgeAfter = timestamppb.New(time.Now().Add(w))
		p.State, p.Phase, p.Counters = lakepb.ProcedureState_PROCEDURE_STATE_PENDING, "waiting", nil
		s.dropped = append(s.dropped, t)
	}
	s.putProcedure(p)
	return resp, nil
}

// UndropTable implements the Catalog service. A drop without a window cannot be
// undone; one with a window can for ever.
func (s *Server) UndropTable(_ context.Context, req *lakepb.UndropTableRequest) (*lakepb.Table, error) {
	name := nameOf(req.GetName())
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.tables[name]; taken {
		return nil, grpcerr.ToStatus(lake.Errorf(lake.AlreadyExists, "table %s exists", name))
	}
	var found []*table
	for _, t := range s.dropped {
		inc := t.proto.GetSnapshot().GetIncarnation()
		if nameOf(t.proto.GetName()) == name && (req.GetIncarnation() == "" || req.GetIncarnation() == inc) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 0:
		return nil, grpcerr.ToStatus(lake.Errorf(lake.NotFound, "no drop of table %s is in progress", name))
	case 1:
	default:
		return nil, grpcerr.ToStatus(lake.Errorf(lake.Precondition, "%d dropped tables had the name %s, choose an incarnation", len(found), name))
	}
	s.tables[name] = found[0]
	s.dropped = slices.DeleteFunc(s.dropped, func(t *table) bool { return t == found[0] })
	id := name.Path() + "/" + found[0].proto.GetSnapshot().GetIncarnation()
	s.putProcedure(&lakepb.Procedure{
		Kind: "drop-table", Id: id, State: lakepb.ProcedureState_PROCEDURE_STATE_CANCELLED, Phase: "waiting",
		CreatedAt: timestamppb.Now(), UpdatedAt: timestamppb.Now(), WorkflowId: "drop-table/" + id,
	})
	return found[0].proto, nil
}

// ListProcedures implements the Procedures service.
func (s *Server) ListProcedures(_ context.Context, req *lakepb.ListProceduresRequest) (*lakepb.ListProceduresResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := &lakepb.ListProceduresResponse{}
	for _, p := range s.procedures {
		if req.GetKind() == "" || req.GetKind() == p.GetKind() {
			resp.Procedures = append(resp.Procedures, p)
		}
	}
	return resp, nil
}

// GetProcedure implements the Procedures service.
func (s *Server) GetProcedure(_ context.Context, req *lakepb.GetProcedureRequest) (*lakepb.Procedure, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.procedures {
		if p.GetKind() == req.GetKind() && p.GetId() == req.GetId() {
			return p, nil
		}
	}
	return nil, grpcerr.ToStatus(lake.Errorf(lake.NotFound, "procedure %s/%s does not exist", req.GetKind(), req.GetId()))
}

func nameOf(n *lakepb.TableName) lake.TableName {
	return lake.TableName{Namespace: n.GetNamespace(), Name: n.GetName()}
}
