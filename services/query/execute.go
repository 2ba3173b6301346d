// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"errors"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/query/datasets"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/gate"
	"github.com/lakeplane/lake/services/query/ticket"
)

func tooLong(limit time.Duration) error {
	return status.Errorf(codes.DeadlineExceeded, "the query ran longer than %s", limit)
}

// execute redeems a ticket and streams its result. Everything it takes (permit,
// datasets, engine place) is given back when it returns, and it returns soon
// after ctx ends: when the client leaves, the query stops.
func (s *Server) execute(ctx context.Context, p access.Principal, handle []byte, out flight.FlightService_DoGetServer) error {
	claims, err := s.openTicket(p, handle, 0)
	if err != nil {
		return err
	}
	if err := mayAll(p, claims.Snapshots); err != nil {
		return err
	}
	leave, err := s.enter(ctx, p)
	if err != nil {
		return err
	}
	defer leave()
	ctx, done, err := s.running.start(ctx, claims.Query)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	err = s.stream(ctx, p, claims, out)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
		return cause // cancelled on purpose, or too long: say that
	}
	return err
}

// stream answers the claims' statement.
func (s *Server) stream(ctx context.Context, p access.Principal, claims *ticket.Claims, out flight.FlightService_DoGetServer) error {
	start := time.Now()
	defer s.metrics.time(stageStream)()
	a, key, ok := s.remembered(claims)
	if ok {
		return s.replay(ctx, claims, a, out)
	}
	stmt, err := s.check(ctx, claims.SQL)
	if err != nil {
		return err
	}
	schema, err := s.ticketSchema(claims.Schema)
	if err != nil {
		return err
	}
	w := s.newStreamWriter(out, schema)
	s.keep(w, stmt)
	emit := s.metrics.firstBatch(start, w.Write)
	if stmt.Kind == gate.ShowTables {
		err = s.showTables(ctx, p, emit)
	} else {
		err = s.overPins(ctx, p, claims, stmt, schema, emit)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		s.remember(key, w)
	}
	return err
}

// overPins runs a statement over exactly the snapshots its ticket pins.
func (s *Server) overPins(ctx context.Context, p access.Principal, claims *ticket.Claims, stmt gate.Parsed, planned *arrow.Schema, emit func(arrow.RecordBatch) error) error {
	handles, err := s.openPins(ctx, claims.Snapshots)
	defer release(handles)
	if err != nil {
		return err
	}
	snapshots, err := pinned(claims, stmt, handles)
	if err != nil {
		return err
	}
	params, err := decodeParams(claims.Parameters)
	if err != nil {
		return err
	}
	if params != nil {
		defer params.Release()
	}
	if answered, err := s.directly(ctx, stmt, planned, params, snapshots, emit); answered || err != nil {
		return err
	}
	req := sqlengine.Request{SQL: selectOf(claims.SQL, stmt), Params: params, Steady: stmt.Steady}
	refs := namesOf(stmt.References)
	if req.Tables, err = s.tables(ctx, p, refs, claims.Snapshots, snapshots); err != nil {
		return err
	}
	if anyVirtual(refs) {
		req.SQL = renameInformationSchema(req.SQL)
	}
	if err = s.pruneTables(ctx, req, filtersOf(stmt), claims.Snapshots, snapshots); err != nil {
		return err
	}
	switch stmt.Kind {
	case gate.Describe:
		return s.describe(ctx, req, emit)
	case gate.Explain:
		return s.explain(ctx, stmt, req, snapshots, emit)
	}
	req.Planned = planned
	return s.sql.Execute(ctx, req, emit)
}

// tables gives each reference its open snapshot, or the view of the directory
// it names. References to the same one get the same, however they are spelled.
func (s *Server) tables(ctx context.Context, p access.Principal, refs []sqlengine.Name, pins []ticket.Pin, snapshots []storage.Dataset) (map[sqlengine.Name]sqlengine.Table, error) {
	out := make(map[sqlengine.Name]sqlengine.Table, len(refs))
	views := map[*arrow.Schema]sqlengine.Table{}
	for _, ref := range refs {
		if schema := virtualSchema(ref); schema != nil {
			if views[schema] == nil {
				view, err := s.virtual(ctx, p, ref)
				if err != nil {
					return nil, err
				}
				views[schema] = view
			}
			out[engineName(ref)] = views[schema]
			continue
		}
		i, ok := pinFor(ref, pins)
		if !ok {
			return nil, lake.Errorf(lake.Precondition, "the ticket does not pin table %s.%s: plan the statement again", ref.Namespace, ref.Table)
		}
		out[ref] = snapshots[i]
	}
	return out, nil
}

// openPins opens the snapshots at once. The handles of a failed call must be
// released as well.
func (s *Server) openPins(ctx context.Context, pins []ticket.Pin) ([]*datasets.Handle, error) {
	handles := make([]*datasets.Handle, len(pins))
	g, gctx := errgroup.WithContext(ctx)
	for i, pin := range pins {
		g.Go(func() error {
			h, err := s.datasets.Open(gctx, pin.Snapshot)
			if lake.Is(err, lake.Precondition) || lake.Is(err, lake.NotFound) {
				s.opts.Log.Info("a pinned snapshot is gone", "error", err)
				return &lake.Error{Kind: lake.Precondition, Message: "the pinned table snapshot is unavailable"}
			}
			handles[i] = h
			return err
		})
	}
	return handles, g.Wait()
}

// release gives handles back; some may be missing.
func release(handles []*datasets.Handle) {
	for _, h := range handles {
		if h != nil {
			h.Release()
		}
	}
}
