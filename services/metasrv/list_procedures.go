// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/services/access"
)

// ListProcedures implements lakepb.ProceduresServer. Any member of the group
// answers. A caller with every namespace sees everything; another one sees
// what works on tables of its namespaces.
func (s *Server) ListProcedures(ctx context.Context, req *lakepb.ListProceduresRequest) (*lakepb.ListProceduresResponse, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	namespaces, err := scope(p, "")
	if err != nil {
		return nil, err
	}
	page, next, err := walk(ctx, namespaces, req.GetPageToken(), size, s.proceduresOf(req.GetKind()))
	if err != nil {
		return nil, err
	}
	resp := &lakepb.ListProceduresResponse{NextPageToken: next, Procedures: make([]*lakepb.Procedure, len(page))}
	for i, proc := range page {
		resp.Procedures[i] = s.procedureMessage(proc)
	}
	return resp, nil
}

// proceduresOf lists the procedures of a kind in a namespace. Only the ids of
// drops and of maintenances begin with one; without a kind, drops are meant.
func (s *Server) proceduresOf(kind string) func(context.Context, string, string, int) ([]catalog.Procedure, string, error) {
	return func(ctx context.Context, namespace, cursor string, limit int) ([]catalog.Procedure, string, error) {
		switch {
		case namespace == "":
			return s.catalog.Procedures(ctx, kind, cursor, limit)
		case kind == "" || kind == catalog.DropKind:
			return s.catalog.DropsOf(ctx, namespace, cursor, limit)
		case kind == catalog.MaintenanceKind:
			return s.catalog.MaintenancesOf(ctx, namespace, cursor, limit)
		}
		return nil, "", nil
	}
}

// maySee reports whether a principal may see a procedure.
func maySee(p access.Principal, proc catalog.Procedure) bool {
	return p.May(access.AllNamespaces) || proc.Namespace != "" && p.May(proc.Namespace)
}
