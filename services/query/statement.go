// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"bytes"
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lakeplane/lake/internal/untrusted"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/query/admission"
	"github.com/lakeplane/lake/services/query/carry"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/gate"
	"github.com/lakeplane/lake/services/query/registration"
	"github.com/lakeplane/lake/services/query/ticket"
)

// plan is a statement bound to exact snapshots.
type plan struct {
	stmt       gate.Parsed
	pins       []ticket.Pin
	schema     *arrow.Schema
	parameters *arrow.Schema
}

// plan takes a statement through the gate, authorization and resolution, and
// binds it. The caller holds a permit meanwhile. params is an Arrow IPC stream of
// one row, or empty.
func (s *Server) plan(ctx context.Context, p access.Principal, sql string, params []byte) (*plan, error) {
	stmt, err := s.check(ctx, sql)
	if err != nil {
		return nil, err
	}
	if stmt.Kind == gate.ShowTables {
		return &plan{stmt: stmt, schema: showTablesSchema}, nil
	}
	out, err := s.bindStatement(ctx, p, selectOf(sql, stmt), stmt, params)
	if err != nil {
		return nil, err
	}
	switch stmt.Kind {
	case gate.Describe:
		out.schema = describeSchema
	case gate.Explain:
		out.schema = explainSchema
	}
	return out, nil
}

// selectOf is the SELECT that a statement is or asks about.
func selectOf(sql string, stmt gate.Parsed) string {
	if stmt.Kind == gate.Select {
		return sql
	}
	return stmt.Body
}

// bindStatement resolves the references of a query and binds it to them.
func (s *Server) bindStatement(ctx context.Context, p access.Principal, sql string, stmt gate.Parsed, params []byte) (*plan, error) {
	refs := namesOf(stmt.References)
	resolved, err := s.resolve(ctx, p, refs)
	if err != nil {
		return nil, err
	}
	out := &plan{stmt: stmt, pins: pinsOf(refs, resolved)}
	if bound, ok, err := planDirectly(stmt, refs, resolved, params); ok || err != nil {
		out.schema, out.parameters = bound.Schema, bound.Parameters
		return out, err
	}
	key := newBoundKey(sql, params, refs, resolved)
	bound, ok := s.memo.bound.get(key)
	if s.metrics.memo(memoPlan, ok); !ok {
		if bound, err = s.bind(ctx, sql, stmt, refs, resolved, params); err != nil {
			return nil, err
		}
		s.memo.bound.put(key, bound, len(sql)+len(params)+len(key.tables)+fieldBytes*(fieldCount(bound.Schema)+fieldCount(bound.Parameters)))
	}
	out.schema, out.parameters = bound.Schema, bound.Parameters
	return out, nil
}

// fieldBytes is about what a field takes in memory.
const fieldBytes = 256

// bind asks the engine what the statement's result and parameters will be.
func (s *Server) bind(ctx context.Context, sql string, stmt gate.Parsed, refs []sqlengine.Name, resolved map[sqlengine.Name]registration.Registration, params []byte) (bound sqlengine.Plan, err error) {
	req := sqlengine.Request{SQL: sql, Tables: make(map[sqlengine.Name]sqlengine.Table, len(refs))}
	for _, ref := range refs {
		if schema := virtualSchema(ref); schema != nil {
			req.Tables[engineName(ref)] = planned{schema}
		} else {
			req.Tables[ref] = planned{resolved[ref].Schema}
		}
	}
	req.Steady = stmt.Steady
	if anyVirtual(refs) {
		req.SQL = renameInformationSchema(sql)
	}
	if req.Params, err = decodeParams(params); err != nil {
		return bound, err
	}
	if req.Params != nil {
		defer req.Params.Release()
	}
	err = s.planner.run(ctx, func(ctx context.Context) error {
		defer s.metrics.time(stagePlan)()
		if bound, err = s.opts.Planner.Plan(ctx, req); err == nil && req.Params == nil {
			bound.Parameters, err = s.typeParameters(ctx, req, bound.Parameters)
		}
		return err
	})
	return bound, err
}

// enter takes a permit; see [admission.Gate.Enter].
func (s *Server) enter(ctx context.Context, p access.Principal) (leave func(), err error) {
	waited := s.metrics.time(stageQueue)
	leave, outcome, err := s.admission.Enter(ctx, p.Tenant)
	waited()
	s.metrics.admitted(outcome)
	if outcome == admission.ClientLeft {
		err = lateFor(ctx, "it waited to be admitted")
	}
	return leave, err
}

// statementInfo plans a statement and seals what DoGet needs into a ticket, or
// into several where the result comes in parts.
func (s *Server) statementInfo(ctx context.Context, p access.Principal, sql string, params []byte, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	leave, err := s.enter(ctx, p)
	if err != nil {
		return nil, err
	}
	defer leave()
	plan, err := s.plan(ctx, p, sql, params)
	if err != nil {
		return nil, err
	}
	if n := fieldCount(plan.parameters); n > 0 && len(params) == 0 {
		return nil, lake.Errorf(lake.Invalid, "the statement has %d parameters and none is bound: prepare it and bind them", n)
	}
	schema := flight.SerializeSchema(plan.schema, memory.DefaultAllocator)
	endpoints, err := s.endpoints(ctx, plan.stmt, ticket.Claims{
		Principal: p.Name, Tenant: p.Tenant, SQL: sql, Snapshots: plan.pins,
		Parameters: params, Schema: schema, Query: ticket.NewQueryID(),
	})
	if err != nil {
		return nil, err
	}
	return &flight.FlightInfo{
		Schema: schema, FlightDescriptor: desc, Endpoint: endpoints,
		TotalRecords: -1, TotalBytes: -1,
	}, nil
}

// endpoint seals a ticket. It names no location: any replica will do, so the
// client stays on the connection it has.
func (s *Server) endpoint(claims ticket.Claims) (*flight.FlightEndpoint, error) {
	sealer := s.statement
	if claims.Part != nil {
		sealer = s.part
	}
	handle, expires, err := sealer.Seal(claims)
	if err != nil {
		return nil, err
	}
	sealed, err := flightsql.CreateStatementQueryTicket(handle)
	if err != nil {
		return nil, err
	}
	return &flight.FlightEndpoint{Ticket: &flight.Ticket{Ticket: sealed}, ExpirationTime: timestamppb.New(expires)}, nil
}

// openTicket returns the claims of the ticket of a statement, or of a part of its
// result, for its principal. late is how long ago it may have expired. A ticket
// that is not the principal's is refused as a forged one is.
func (s *Server) openTicket(p access.Principal, handle []byte, late time.Duration) (*ticket.Claims, error) {
	if ticket.Part.Is(handle) {
		return openFor(s.part, p, handle, late)
	}
	return openFor(s.statement, p, handle, late)
}

func openFor(sealer *ticket.Sealer, p access.Principal, handle []byte, late time.Duration) (*ticket.Claims, error) {
	claims, err := sealer.OpenLate(handle, late)
	if err != nil {
		return nil, err
	}
	if claims.Principal != p.Name || claims.Tenant != p.Tenant {
		return nil, sealer.Refuse()
	}
	return claims, nil
}

// renew makes a ticket that says the same and expires later. That of a cancelled
// query is not renewed: the cancellation is kept as long as the tickets made
// before it live.
func (s *Server) renew(p access.Principal, handle []byte) (*flight.FlightEndpoint, error) {
	claims, err := s.openTicket(p, handle, 0)
	if err != nil {
		return nil, err
	}
	if err := s.running.refused(claims.Query); err != nil {
		return nil, err
	}
	return s.endpoint(*claims)
}

func fieldCount(s *arrow.Schema) int {
	if s == nil {
		return 0
	}
	return s.NumFields()
}

// decodeParams reads the one row of an IPC stream made by encodeParams.
func decodeParams(b []byte) (arrow.RecordBatch, error) {
	if len(b) == 0 {
		return nil, nil
	}
	r, err := untrusted.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "parameters: %w", err)
	}
	defer r.Release()
	if !r.Next() {
		return nil, lake.Errorf(lake.Invalid, "parameters: no row")
	}
	rec := r.RecordBatch()
	rec.Retain()
	return rec, nil
}

// encodeParams writes one row of parameters, with values of types that SQL has.
func encodeParams(row arrow.RecordBatch) (encoded []byte, err error) {
	defer recovered(&err)
	rec, err := carry.Parameters(row)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(rec.Schema()))
	if err := w.Write(rec); err != nil {
		return nil, lake.Errorf(lake.Invalid, "parameters: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, lake.Errorf(lake.Invalid, "parameters: %w", err)
	}
	return buf.Bytes(), nil
}

// deadline bounds an execution by the server's limit.
func (s *Server) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, time.Now().Add(s.opts.ExecutionTimeout), tooLong(s.opts.ExecutionTimeout))
}
