// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	storage "github.com/lakeplane/lake/engine"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/gate"
	"github.com/lakeplane/lake/services/query/registration"
)

// planDirectly plans a statement that will be answered directly, and reports
// whether it could.
func planDirectly(stmt gate.Parsed, refs []sqlengine.Name, resolved map[sqlengine.Name]registration.Registration, params []byte) (plan sqlengine.Plan, ok bool, err error) {
	if stmt.Kind != gate.Select || stmt.Direct == nil || len(refs) != 1 || virtualSchema(refs[0]) != nil {
		return plan, false, nil
	}
	bound, err := decodeParams(params)
	if err != nil {
		return plan, false, err
	}
	if bound != nil {
		defer bound.Release()
	}
	plan, ok = stmt.Direct.Plan(resolved[refs[0]].Schema, bound)
	return plan, ok, nil
}

// directly answers a statement that only names columns, and rows in simple terms,
// by reading its table, and reports whether it was one.
func (s *Server) directly(ctx context.Context, stmt gate.Parsed, planned *arrow.Schema, params arrow.RecordBatch, snapshots []storage.Dataset, emit func(arrow.RecordBatch) error) (answered bool, err error) {
	if stmt.Kind != gate.Select || stmt.Direct == nil || len(snapshots) != 1 {
		return false, nil
	}
	reading, ok := stmt.Direct.Resolve(snapshots[0].Schema(), planned, params)
	if !ok {
		return false, nil
	}
	s.metrics.direct.Inc()
	if len(reading.Where) == 0 {
		return true, reading.Scan(ctx, snapshots[0], emit)
	}
	part, err := storage.Prune(ctx, snapshots[0], reading.Where)
	if err != nil {
		return true, err
	}
	s.metrics.pruned(part.Pieces())
	return true, reading.Scan(ctx, part, emit)
}
