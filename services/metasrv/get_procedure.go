// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"strings"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
)

// GetProcedure implements lakepb.ProceduresServer. Any member of the group
// answers, from the record.
func (s *Server) GetProcedure(ctx context.Context, req *lakepb.GetProcedureRequest) (*lakepb.Procedure, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	kind, id := req.GetKind(), req.GetId()
	if kind == "" || id == "" || strings.Contains(kind, "/") {
		return nil, lake.Errorf(lake.Invalid, "procedure %q of kind %q: want a kind of one segment and an id", id, kind)
	}
	proc, err := s.visible(ctx, p, kind, id)
	if err != nil {
		return nil, err
	}
	return s.procedureMessage(proc), nil
}
