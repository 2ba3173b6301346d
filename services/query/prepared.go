// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/query/ticket"
)

// prepare binds a statement with open placeholders and seals it into a handle.
// The handle pins no snapshot: each execution reads what is current then.
func (s *Server) prepare(ctx context.Context, p access.Principal, req *pb.ActionCreatePreparedStatementRequest) (*pb.ActionCreatePreparedStatementResult, error) {
	if err := noTransaction(req.GetTransactionId()); err != nil {
		return nil, err
	}
	leave, err := s.enter(ctx, p)
	if err != nil {
		return nil, err
	}
	defer leave()
	plan, err := s.plan(ctx, p, req.GetQuery(), nil)
	if err != nil {
		return nil, err
	}
	handle, _, err := s.prepared.Seal(ticket.Claims{
		Principal: p.Name, Tenant: p.Tenant, SQL: req.GetQuery(), Query: ticket.NewQueryID(),
	})
	if err != nil {
		return nil, err
	}
	if plan.parameters == nil {
		plan.parameters = arrow.NewSchema(nil, nil)
	}
	return &pb.ActionCreatePreparedStatementResult{
		PreparedStatementHandle: handle,
		DatasetSchema:           flight.SerializeSchema(plan.schema, memory.DefaultAllocator),
		ParameterSchema:         flight.SerializeSchema(plan.parameters, memory.DefaultAllocator),
		IsUpdate:                proto.Bool(false),
	}, nil
}

// preparedInfo plans a prepared statement with what is bound to it.
func (s *Server) preparedInfo(ctx context.Context, p access.Principal, handle []byte, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	claims, err := openFor(s.prepared, p, handle, 0)
	if err != nil {
		return nil, err
	}
	params := claims.Parameters
	if len(params) == 0 {
		params, _ = s.memo.bindings.get(claims.Query)
	}
	return s.statementInfo(ctx, p, claims.SQL, params, desc)
}

// bindParameters reads one row of parameters and answers with a handle that carries it.
func (s *Server) bindParameters(p access.Principal, handle []byte, in *putStream) error {
	claims, err := openFor(s.prepared, p, handle, 0)
	if err != nil {
		return err
	}
	row, err := readOneRow(in)
	if err != nil {
		return err
	}
	defer row.Release()
	if claims.Parameters, err = encodeParams(row); err != nil {
		return err
	}
	sealed, _, err := s.prepared.Seal(*claims)
	if err != nil {
		return err
	}
	s.memo.bindings.put(claims.Query, claims.Parameters, len(claims.Parameters))
	answer, err := proto.Marshal(&pb.DoPutPreparedStatementResult{PreparedStatementHandle: sealed})
	if err != nil {
		return err
	}
	return in.stream.Send(&flight.PutResult{AppMetadata: answer})
}

// closePrepared forgets what this replica remembers of a handle. A handle that
// does not open has nothing to close.
func (s *Server) closePrepared(p access.Principal, handle []byte) {
	if claims, err := openFor(s.prepared, p, handle, 0); err == nil {
		s.memo.bindings.forget(claims.Query)
	}
}

// readOneRow reads the parameters of one execution.
func readOneRow(in *putStream) (row arrow.RecordBatch, err error) {
	defer recovered(&err)
	r, err := readRows(in)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	rows := int64(0)
	for r.Next() {
		rec := r.RecordBatch()
		if err := checkArrays(rec); err != nil {
			return nil, err
		}
		if rows += rec.NumRows(); rows > 1 {
			break
		}
		if rec.NumRows() == 1 {
			rec.Retain()
			row = rec
		}
	}
	switch {
	case r.Err() != nil:
		err = lake.Errorf(lake.Invalid, "parameters: %w", r.Err())
	case rows == 0 && r.Schema().NumFields() == 0:
		return array.NewRecordBatch(r.Schema(), nil, 1), nil
	case rows != 1:
		err = lake.Errorf(lake.Invalid, "parameters: want exactly one row: run the statement once for each")
	}
	if err != nil && row != nil {
		row.Release()
		row = nil
	}
	return row, err
}
