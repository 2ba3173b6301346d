// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdktest

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	flightpb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

type answer struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	err     error
	compute func() []arrow.RecordBatch
}

// AnswerWith teaches how the rows of one exact SQL text are made. compute runs
// at every plan and every read of the query.
func (s *Server) AnswerWith(sql string, schema *arrow.Schema, compute func() []arrow.RecordBatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[sql] = answer{schema: schema, compute: compute}
}

// Answer teaches the rows of one exact SQL text, as one endpoint a batch, and
// the error that follows them, if any.
func (s *Server) Answer(sql string, schema *arrow.Schema, err error, batches ...arrow.RecordBatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[sql] = answer{schema: schema, batches: batches, err: err}
}

// DoPut implements Flight: it applies an append, or what the plan says.
func (s *Server) DoPut(stream flight.FlightService_DoPutServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if appendwire.IsSession(stream.Context()) {
		return s.session(stream, first)
	}
	if !appendwire.IsCommand(first.GetFlightDescriptor()) {
		return s.bind(stream, first)
	}
	cmd, err := appendwire.ParseCommand(first.GetFlightDescriptor())
	if err != nil {
		return grpcerr.ToStatus(err)
	}
	fault := s.nextFault(cmd)
	if err := fault.refusal(cmd); err != nil {
		return grpcerr.ToStatus(err)
	}
	rows, err := receive(stream, first, cmd)
	if err != nil {
		return grpcerr.ToStatus(err)
	}
	result, err := s.apply(cmd, rows)
	if err != nil {
		return grpcerr.ToStatus(err)
	}
	return answerAppend(stream, fault, result)
}

// refusal is the error of an attempt that is not applied, or nil.
func (f Fault) refusal(cmd appendwire.Command) error {
	switch f {
	case Refuse:
		return lake.Errorf(lake.Unavailable, "no leader")
	case Busy:
		return lake.Errorf(lake.Exhausted, "too many appends")
	case Forget:
		return lake.Errorf(lake.AlreadyExists, "operation %s exists with another digest", cmd.Operation)
	}
	return nil
}

// bind keeps the parameters of a prepared statement.
func (s *Server) bind(stream flight.FlightService_DoPutServer, first *flight.FlightData) error {
	reader, err := flight.NewRecordReader(&replayReader{stream: stream, first: first, hash: appendwire.NewHasher()})
	if err != nil {
		return grpcerr.ToStatus(lake.Errorf(lake.Invalid, "bind: %w", err))
	}
	defer reader.Release()
	if !reader.Next() {
		return grpcerr.ToStatus(lake.Errorf(lake.Invalid, "bind: no parameters"))
	}
	s.mu.Lock()
	s.bound = reader.RecordBatch()
	s.bound.Retain()
	s.mu.Unlock()
	return stream.Send(&flight.PutResult{})
}

// Bound are the parameters bound last, as a batch of one row, or nil.
func (s *Server) Bound() arrow.RecordBatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bound
}

func (s *Server) nextFault(cmd appendwire.Command) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts = append(s.attempts, Attempt{cmd.Operation, cmd.Digest, cmd.Incarnation})
	if len(s.faults) == 0 {
		return None
	}
	fault := s.faults[0]
	s.faults = s.faults[1:]
	return fault
}

func answerAppend(stream flight.FlightService_DoPutServer, fault Fault, result *lakepb.AppendResult) error {
	switch fault {
	case LoseAck:
		return grpcerr.ToStatus(lake.Errorf(lake.Unavailable, "connection lost"))
	case Silence:
		<-stream.Context().Done()
		return stream.Context().Err()
	case EndEarly:
		return nil
	}
	metadata, err := proto.Marshal(result)
	if err != nil {
		return err
	}
	return stream.Send(&flight.PutResult{AppMetadata: metadata})
}

// source is where messages come from.
type source interface {
	Recv() (*flight.FlightData, error)
}

// replayReader hands out what was received, hashing it on the way.
type replayReader struct {
	stream source
	first  *flight.FlightData
	hash   *appendwire.Hasher
	size   int64
}

func (r *replayReader) Recv() (*flight.FlightData, error) {
	d := r.first
	if r.first = nil; d == nil {
		var err error
		if d, err = r.stream.Recv(); err != nil {
			return nil, err
		}
	}
	r.hash.Add(d)
	r.size += appendwire.MessageSize(d)
	return d, nil
}

func receive(stream flight.FlightService_DoPutServer, first *flight.FlightData, cmd appendwire.Command) ([]arrow.RecordBatch, error) {
	payload := &replayReader{stream: stream, first: first, hash: appendwire.NewHasher()}
	batches, err := payload.batches(cmd)
	if err != nil {
		return nil, err
	}
	return batches, checkSize(stream, payload.size)
}

// batches decodes the rows of an append, whose payload has to be the one
// announced.
func (r *replayReader) batches(cmd appendwire.Command) (batches []arrow.RecordBatch, err error) {
	reader, err := flight.NewRecordReader(r)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "append: %w", err)
	}
	defer reader.Release()
	for reader.Next() {
		b := reader.RecordBatch()
		b.Retain()
		batches = append(batches, b)
	}
	if err := reader.Err(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if got := r.hash.Digest(); got != cmd.Digest {
		return nil, lake.Errorf(lake.Invalid, "append: the payload's digest is %s, the command says %s", got, cmd.Digest)
	}
	return batches, nil
}

// checkSize wants the announcement of an append to be exact.
func checkSize(stream flight.FlightService_DoPutServer, got int64) error {
	md, _ := metadata.FromIncomingContext(stream.Context())
	announced := md.Get(appendwire.SizeHeader)
	if len(announced) != 1 || announced[0] != strconv.FormatInt(got, 10) {
		return lake.Errorf(lake.Invalid, "append: %s announces %q, the payload has %d bytes", appendwire.SizeHeader, announced, got)
	}
	if got > lake.MaxAppendBytes {
		return lake.Errorf(lake.Invalid, "append: the payload has %d bytes, at most %d are allowed", got, lake.MaxAppendBytes)
	}
	return nil
}

func (s *Server) apply(cmd appendwire.Command, rows []arrow.RecordBatch) (*lakepb.AppendResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.find(cmd.Table)
	if err != nil {
		return nil, err
	}
	inc := t.proto.GetSnapshot().GetIncarnation()
	if !cmd.Incarnation.IsZero() && cmd.Incarnation.String() != inc {
		return nil, lake.Errorf(lake.Precondition, "append to %s: the table is not incarnation %s any more", cmd.Table, cmd.Incarnation)
	}
	if done, ok := t.applied[cmd.Operation]; ok {
		if done.digest != cmd.Digest {
			return nil, lake.Errorf(lake.AlreadyExists, "operation %s exists with another digest", cmd.Operation)
		}
		return &lakepb.AppendResult{Version: done.version, Rows: done.rows, Replayed: true, Incarnation: inc}, nil
	}
	var count uint64
	for _, b := range rows {
		if !b.Schema().Equal(t.schema) {
			return nil, lake.Errorf(lake.Invalid, "append to %s: the schema differs", cmd.Table)
		}
		count += uint64(b.NumRows())
	}
	t.batches = append(t.batches, rows...)
	t.proto = proto.CloneOf(t.proto)
	t.proto.Snapshot.Version++
	done := applied{cmd.Digest, t.proto.GetSnapshot().GetVersion(), count}
	t.applied[cmd.Operation] = done
	return &lakepb.AppendResult{Version: done.version, Rows: count, Incarnation: inc}, nil
}

// GetFlightInfo implements Flight SQL for the texts taught, prepared or not.
func (s *Server) GetFlightInfo(ctx context.Context, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	sql, err := sqlOf(d.GetCmd())
	if err == nil {
		err = s.checkVersions(ctx)
	}
	if err != nil {
		return nil, grpcerr.ToStatus(err)
	}
	a, err := s.answer(sql)
	if err != nil {
		return nil, grpcerr.ToStatus(err)
	}
	info := &flight.FlightInfo{Schema: flight.SerializeSchema(a.schema, memory.DefaultAllocator), FlightDescriptor: d, TotalRecords: -1, TotalBytes: -1}
	for i := range max(1, len(a.batches)) {
		info.Endpoint = append(info.Endpoint, &flight.FlightEndpoint{Ticket: &flight.Ticket{Ticket: append([]byte{byte(i)}, sql...)}})
	}
	return info, nil
}

// checkVersions wants the tables to be as new as the request asks, and notes how
// many endpoints it wants.
func (s *Server) checkVersions(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endpoints = append(s.endpoints, md.Get("x-lake-endpoints")...)
	for _, item := range strings.Split(strings.Join(md.Get("x-lake-min-version"), ","), ",") {
		if item == "" {
			continue
		}
		s.asked = append(s.asked, item)
		text, number, _ := strings.Cut(item, "=")
		name, err := lake.ParseTableName(text)
		want, numErr := strconv.ParseUint(number, 10, 64)
		if err != nil || numErr != nil {
			return lake.Errorf(lake.Invalid, "x-lake-min-version: %q", item)
		}
		if t, ok := s.tables[name]; ok && t.proto.GetSnapshot().GetVersion() < want {
			return lake.Errorf(lake.Precondition, "table %s is at version %d: version %d was asked for", name, t.proto.GetSnapshot().GetVersion(), want)
		}
	}
	return nil
}

func (s *Server) answer(sql string) (answer, error) {
	s.mu.Lock()
	a, ok := s.answers[sql]
	s.mu.Unlock()
	if !ok {
		return answer{}, lake.Errorf(lake.Invalid, "the test server was not taught %q", sql)
	}
	if a.compute != nil {
		a.batches = a.compute()
	}
	return a, nil
}

func sqlOf(cmd []byte) (string, error) {
	var packed anypb.Any
	if err := proto.Unmarshal(cmd, &packed); err != nil {
		return "", lake.Errorf(lake.Invalid, "command: %w", err)
	}
	msg, err := packed.UnmarshalNew()
	if err != nil {
		return "", lake.Errorf(lake.Invalid, "command: %w", err)
	}
	switch m := msg.(type) {
	case *flightpb.CommandStatementQuery:
		return m.GetQuery(), nil
	case *flightpb.CommandPreparedStatementQuery:
		return string(m.GetPreparedStatementHandle()), nil
	}
	return "", lake.Errorf(lake.Unsupported, "the test server does not know %s", packed.GetTypeUrl())
}

// DoGet implements Flight for the tickets of GetFlightInfo.
func (s *Server) DoGet(ticket *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	part, sql := int(ticket.GetTicket()[0]), string(ticket.GetTicket()[1:])
	a, err := s.answer(sql)
	if err != nil {
		return grpcerr.ToStatus(err)
	}
	w := flight.NewRecordWriter(stream, ipc.WithSchema(a.schema))
	defer func() { _ = w.Close() }() // it fails with the stream, whose client knows
	if part < len(a.batches) {
		if err := w.Write(a.batches[part]); err != nil {
			return err
		}
	}
	if part >= len(a.batches)-1 {
		return grpcerr.ToStatus(a.err)
	}
	return nil
}

// DoAction implements preparing and closing a statement; its handle is its
// text.
func (s *Server) DoAction(action *flight.Action, stream flight.FlightService_DoActionServer) error {
	if action.GetType() != flightsql.CreatePreparedStatementActionType {
		return nil
	}
	var packed anypb.Any
	var req flightpb.ActionCreatePreparedStatementRequest
	if err := errors.Join(proto.Unmarshal(action.GetBody(), &packed), packed.UnmarshalTo(&req)); err != nil {
		return err
	}
	result, err := anypb.New(&flightpb.ActionCreatePreparedStatementResult{PreparedStatementHandle: []byte(req.GetQuery())})
	if err != nil {
		return err
	}
	body, err := proto.Marshal(result)
	if err != nil {
		return err
	}
	return stream.Send(&flight.Result{Body: body})
}

func (s *Server) note(ctx context.Context) {
	md, _ := metadata.FromIncomingContext(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = append(s.tokens, slices.Concat(md.Get("authorization"), []string{""})[0])
}
