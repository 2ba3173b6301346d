// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/internal/rpc"
)

// catalogForwarder serves the Catalog calls by passing them to the authority
// on behalf of the caller. The authority decides; what is checked here only
// keeps hidden names from being asked for.
type catalogForwarder struct {
	lakepb.UnimplementedCatalogServer
	server *Server
}

func tableName(n *lakepb.TableName) lake.TableName {
	return lake.TableName{Namespace: n.GetNamespace(), Name: n.GetName()}
}

// onBehalf checks that the caller may know of the table, and returns a context
// that names the caller to the authority.
func onBehalf(ctx context.Context, n *lakepb.TableName) (context.Context, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, grpcerr.ToStatus(err)
	}
	name := tableName(n)
	if err := name.Validate(); err != nil {
		return nil, grpcerr.ToStatus(err)
	}
	if !p.May(name.Namespace) {
		return nil, grpcerr.ToStatus(missing(name))
	}
	return rpc.Delegate(ctx, p), nil
}

// unary is a call of the authority's client.
type unary[Req, Resp any] func(context.Context, Req, ...grpc.CallOption) (Resp, error)

// forward makes a call on behalf of the caller.
func forward[Req, Resp any](ctx context.Context, req Req, call unary[Req, Resp]) (resp Resp, err error) {
	p, err := caller(ctx)
	if err != nil {
		return resp, grpcerr.ToStatus(err)
	}
	return call(rpc.Delegate(ctx, p), req)
}

// named is a request about one table.
type named interface{ GetName() *lakepb.TableName }

// forwardNamed makes a call about a table that the caller may know of.
func forwardNamed[Req named, Resp any](ctx context.Context, req Req, call unary[Req, Resp]) (resp Resp, err error) {
	if ctx, err = onBehalf(ctx, req.GetName()); err != nil {
		return resp, err
	}
	return call(ctx, req)
}

// forwardChange is forwardNamed for a call after which the table may be another.
func forwardChange[Req named, Resp any](ctx context.Context, s *Server, req Req, call unary[Req, Resp]) (resp Resp, err error) {
	if ctx, err = onBehalf(ctx, req.GetName()); err != nil {
		return resp, err
	}
	defer s.names.Evict(tableName(req.GetName()))
	return call(ctx, req)
}

// CreateTable implements lakepb.CatalogServer.
func (c *catalogForwarder) CreateTable(ctx context.Context, req *lakepb.CreateTableRequest) (*lakepb.Table, error) {
	return forwardChange(ctx, c.server, req, c.server.catalog.CreateTable)
}

// GetTable implements lakepb.CatalogServer.
func (c *catalogForwarder) GetTable(ctx context.Context, req *lakepb.GetTableRequest) (*lakepb.Table, error) {
	return forwardNamed(ctx, req, c.server.catalog.GetTable)
}

// DropTable implements lakepb.CatalogServer.
func (c *catalogForwarder) DropTable(ctx context.Context, req *lakepb.DropTableRequest) (*lakepb.DropTableResponse, error) {
	return forwardChange(ctx, c.server, req, c.server.catalog.DropTable)
}

// UndropTable implements lakepb.CatalogServer.
func (c *catalogForwarder) UndropTable(ctx context.Context, req *lakepb.UndropTableRequest) (*lakepb.Table, error) {
	return forwardChange(ctx, c.server, req, c.server.catalog.UndropTable)
}

// CompactTable implements lakepb.CatalogServer.
func (c *catalogForwarder) CompactTable(ctx context.Context, req *lakepb.CompactTableRequest) (*lakepb.CompactTableResponse, error) {
	return forwardNamed(ctx, req, c.server.catalog.CompactTable)
}

// ListTableVersions implements lakepb.CatalogServer.
func (c *catalogForwarder) ListTableVersions(ctx context.Context, req *lakepb.ListTableVersionsRequest) (*lakepb.ListTableVersionsResponse, error) {
	return forwardNamed(ctx, req, c.server.catalog.ListTableVersions)
}

// TagTable implements lakepb.CatalogServer.
func (c *catalogForwarder) TagTable(ctx context.Context, req *lakepb.TagTableRequest) (*lakepb.TableTag, error) {
	return forwardNamed(ctx, req, c.server.catalog.TagTable)
}

// UntagTable implements lakepb.CatalogServer.
func (c *catalogForwarder) UntagTable(ctx context.Context, req *lakepb.UntagTableRequest) (*lakepb.TableTag, error) {
	return forwardNamed(ctx, req, c.server.catalog.UntagTable)
}

// ListTableTags implements lakepb.CatalogServer.
func (c *catalogForwarder) ListTableTags(ctx context.Context, req *lakepb.ListTableTagsRequest) (*lakepb.ListTableTagsResponse, error) {
	return forwardNamed(ctx, req, c.server.catalog.ListTableTags)
}

// ListTables implements lakepb.CatalogServer.
func (c *catalogForwarder) ListTables(ctx context.Context, req *lakepb.ListTablesRequest) (*lakepb.ListTablesResponse, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, grpcerr.ToStatus(err)
	}
	resp, err := c.server.catalog.ListTables(rpc.Delegate(ctx, p), req)
	if err != nil {
		return nil, err
	}
	resp.Tables = visible(p, resp.GetTables())
	return resp, nil
}

func visible(p access.Principal, tables []*lakepb.Table) []*lakepb.Table {
	kept := tables[:0]
	for _, t := range tables {
		if p.May(t.GetName().GetNamespace()) {
			kept = append(kept, t)
		}
	}
	return kept
}

// CatalogSnapshot implements lakepb.CatalogServer.
func (c *catalogForwarder) CatalogSnapshot(req *lakepb.CatalogSnapshotRequest, stream grpc.ServerStreamingServer[lakepb.CatalogSnapshotResponse]) error {
	p, err := caller(stream.Context())
	if err != nil {
		return grpcerr.ToStatus(err)
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	up, err := c.server.catalog.CatalogSnapshot(rpc.Delegate(ctx, p), req)
	if err != nil {
		return err
	}
	for {
		msg, err := up.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		msg.Tables = visible(p, msg.GetTables())
		if err := stream.Send(msg); err != nil {
			return err
		}
	}
}

// proceduresForwarder serves the Procedures calls in the same way.
type proceduresForwarder struct {
	lakepb.UnimplementedProceduresServer
	server *Server
}

// ListProcedures implements lakepb.ProceduresServer.
func (f *proceduresForwarder) ListProcedures(ctx context.Context, req *lakepb.ListProceduresRequest) (*lakepb.ListProceduresResponse, error) {
	return forward(ctx, req, f.server.procedures.ListProcedures)
}

// StartProcedure implements lakepb.ProceduresServer.
func (f *proceduresForwarder) StartProcedure(ctx context.Context, req *lakepb.StartProcedureRequest) (*lakepb.StartProcedureResponse, error) {
	return forward(ctx, req, f.server.procedures.StartProcedure)
}

// ControlProcedure implements lakepb.ProceduresServer.
func (f *proceduresForwarder) ControlProcedure(ctx context.Context, req *lakepb.ControlProcedureRequest) (*lakepb.ControlProcedureResponse, error) {
	return forward(ctx, req, f.server.procedures.ControlProcedure)
}

// ListProcedureEvents implements lakepb.ProceduresServer.
func (f *proceduresForwarder) ListProcedureEvents(ctx context.Context, req *lakepb.ListProcedureEventsRequest) (*lakepb.ListProcedureEventsResponse, error) {
	return forward(ctx, req, f.server.procedures.ListProcedureEvents)
}

// GetProcedure implements lakepb.ProceduresServer.
func (f *proceduresForwarder) GetProcedure(ctx context.Context, req *lakepb.GetProcedureRequest) (*lakepb.Procedure, error) {
	return forward(ctx, req, f.server.procedures.GetProcedure)
}
