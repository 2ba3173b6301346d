// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"errors"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/query/datasets"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/ticket"
)

func tooLong(limit time.Duration) error {
	return status.Errorf(codes.DeadlineExceeded, "the query ran longer than %s", limit)
}

// execute redeems a ticket and streams its result. Everything it takes (permit,
// datasets, engine place) is given back when it returns, and it returns soon
// after ctx ends: when the client leaves, the query stops.
func (s *Server) execute(ctx context.Context, p access.Principal, handle []byte, out flight.DataStreamWriter) error {
	claims, err := s.openTicket(p, handle)
	if err != nil {
		return err
	}
	for _, pin := range claims.Snapshots { // grants may have changed since
		if !p.May(pin.Name.Namespace) {
			return missing(pin.Name)
		}
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
	err = s.stream(ctx, claims, out)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
		return cause // cancelled on purpose, or too long: say that
	}
	return err
}

// stream runs the claims' statement over exactly the pinned snapshots.
func (s *Server) stream(ctx context.Context, claims *ticket.Claims, out flight.DataStreamWriter) error {
	stmt, err := s.gate.Check(ctx, claims.SQL)
	if err != nil {
		return err
	}
	schema, err := flight.DeserializeSchema(claims.Schema, memory.DefaultAllocator)
	if err != nil {
		return lake.Errorf(lake.Corrupt, "the ticket's schema: %w", err)
	}
	handles, err := s.openPins(ctx, claims.Snapshots)
	defer func() {
		for _, h := range handles {
			if h != nil {
				h.Release()
			}
		}
	}()
	if err != nil {
		return err
	}
	req := sqlengine.Request{SQL: claims.SQL, Tables: map[sqlengine.Name]sqlengine.Table{}}
	for _, ref := range stmt.References {
		i, ok := pinFor(ref, claims.Snapshots)
		if !ok {
			return lake.Errorf(lake.Precondition, "the ticket does not pin table %s.%s: plan the statement again", ref.Namespace, ref.Table)
		}
		req.Tables[ref] = handles[i].Dataset
	}
	if req.Params, err = decodeParams(claims.Parameters); err != nil {
		return err
	}
	if req.Params != nil {
		defer req.Params.Release()
	}
	w := newBatchWriter(out, schema)
	if err := s.sql.Execute(ctx, req, w.Write); err != nil {
		return err
	}
	return w.Close()
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
