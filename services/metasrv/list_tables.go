// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"

	"github.com/lakeplane/lake/api/lakepb"
)

// ListTables implements lakepb.CatalogServer. Any member of the group answers.
func (s *Server) ListTables(ctx context.Context, req *lakepb.ListTablesRequest) (*lakepb.ListTablesResponse, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	namespaces, err := scope(p, req.GetNamespace())
	if err != nil {
		return nil, err
	}
	tables, next, err := walk(ctx, namespaces, req.GetPageToken(), size, s.catalog.List)
	if err != nil {
		return nil, err
	}
	resp := &lakepb.ListTablesResponse{NextPageToken: next, Tables: make([]*lakepb.Table, len(tables))}
	for i, t := range tables {
		t.Schema = nil
		resp.Tables[i] = tableMessage(t)
	}
	return resp, nil
}
