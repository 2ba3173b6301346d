// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"

	"github.com/lakeplane/lake/api/lakepb"
)

// GetTable implements lakepb.CatalogServer. Any member of the group answers.
func (s *Server) GetTable(ctx context.Context, req *lakepb.GetTableRequest) (*lakepb.Table, error) {
	name, err := granted(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	table, err := s.catalog.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	return tableMessage(table), nil
}
