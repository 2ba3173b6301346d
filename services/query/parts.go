// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/metadata"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/datasets"
	"github.com/lakeplane/lake/services/query/divide"
	"github.com/lakeplane/lake/services/query/gate"
	"github.com/lakeplane/lake/services/query/ticket"
)

// EndpointsHeader is the gRPC header by which a client says how many endpoints of
// one result it wants at most. Who reads one after the other asks for 1.
const EndpointsHeader = "x-lake-endpoints"

// maxTicketBytes bounds the tickets of one FlightInfo together, each of which
// repeats statement, parameters and schema: stock clients take 4 MiB.
const maxTicketBytes = 1 << 20

// endpoints seals the tickets of a result: one, or one a part where the statement
// can be answered in parts and its table is large enough. The parts hold each row
// of the whole once, in no order among them or inside.
func (s *Server) endpoints(ctx context.Context, stmt gate.Parsed, claims ticket.Claims) ([]*flight.FlightEndpoint, error) {
	most, err := s.wantedEndpoints(ctx)
	if err != nil {
		return nil, err
	}
	const envelope = 1 << 10 // names, one snapshot, times
	most = min(most, maxTicketBytes/(len(claims.SQL)+len(claims.Parameters)+len(claims.Schema)+envelope))
	var parts []divide.Range
	if most > 1 && stmt.Kind == gate.Select && stmt.Divisible && len(claims.Snapshots) == 1 {
		if parts, err = s.divide(ctx, stmt, claims, most); err != nil {
			return nil, err
		}
	}
	if len(parts) < 2 {
		whole, err := s.endpoint(claims)
		return []*flight.FlightEndpoint{whole}, err
	}
	out := make([]*flight.FlightEndpoint, len(parts))
	for i, part := range parts {
		claims.Part = &ticket.Pieces{From: part.From, To: part.To}
		if out[i], err = s.endpoint(claims); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// wantedEndpoints is how many endpoints a call may be answered with.
func (s *Server) wantedEndpoints(ctx context.Context) (int, error) {
	said := metadata.ValueFromIncomingContext(ctx, EndpointsHeader)
	if len(said) == 0 {
		return s.opts.Endpoints, nil
	}
	n, err := strconv.Atoi(said[len(said)-1])
	if err != nil || n < 1 {
		return 0, lake.Errorf(lake.Invalid, "header %s: %.40q: want a number from 1; more than %d are not given", EndpointsHeader, said[len(said)-1], s.opts.MaxEndpoints)
	}
	return min(n, s.opts.MaxEndpoints), nil
}

// divide finds the parts of a scan, by how many rows of each piece its conditions
// may be true for. What cannot be looked at now is answered as a whole: DoGet says
// what is wrong, as it does for small tables.
func (s *Server) divide(ctx context.Context, stmt gate.Parsed, claims ticket.Claims, most int) ([]divide.Range, error) {
	handle, err := s.datasets.Open(ctx, claims.Snapshots[0].Snapshot)
	if err != nil {
		return nil, ctx.Err()
	}
	defer handle.Release()
	divider, ok := handle.Dataset.(storage.Divider)
	if !ok || handle.Rows() < 2*s.opts.EndpointRows {
		return nil, nil
	}
	params, err := decodeParams(claims.Parameters)
	if err != nil {
		return nil, err
	}
	if params != nil {
		defer params.Release()
	}
	where := predicates(filtersOf(stmt), claims.Snapshots, []storage.Dataset{handle.Dataset}, params)[0]
	rows, err := divider.PieceRows(ctx, where)
	if err != nil || len(rows) > ticket.MaxPieces {
		return nil, ctx.Err()
	}
	return divide.Cut(rows, most, s.opts.EndpointRows), nil
}

// pinned are the snapshots that a ticket reads, or the pieces that are its part.
func pinned(claims *ticket.Claims, stmt gate.Parsed, handles []*datasets.Handle) ([]storage.Dataset, error) {
	out := make([]storage.Dataset, len(handles))
	for i, h := range handles {
		out[i] = h.Dataset
	}
	if claims.Part == nil {
		return out, nil
	}
	divider, ok := out[0].(storage.Divider)
	if !ok || !stmt.Divisible { // of another release
		return nil, lake.Errorf(lake.Precondition, "this replica does not answer the statement in parts: plan it again")
	}
	part, err := divider.Slice(claims.Part.From, claims.Part.To)
	return []storage.Dataset{part}, err
}
