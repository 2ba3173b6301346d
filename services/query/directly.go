// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/services/query/gate"
)

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
	if reading.Where == nil {
		return true, reading.Scan(ctx, snapshots[0], emit)
	}
	part, err := storage.Prune(ctx, snapshots[0], reading.Where)
	if err != nil {
		return true, err
	}
	s.metrics.pruned(part.Pieces())
	return true, reading.Scan(ctx, part, emit)
}
