// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"errors"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/services/query/direct"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/fold"
	"github.com/lakeplane/lake/services/query/gate"
	"github.com/lakeplane/lake/services/query/registration"
	"github.com/lakeplane/lake/services/query/rowfilter"
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

// summaryPlaces is how many threads make summaries at once: each may hold 16 MiB
// while it does.
var summaryPlaces = int64(max(16, 2*runtime.GOMAXPROCS(0)))

// directly answers a statement that only names columns, or simple functions of
// them, and rows in simple terms, by reading its table, and reports whether it did.
func (s *Server) directly(ctx context.Context, stmt gate.Parsed, planned *arrow.Schema, params arrow.RecordBatch, snapshots []storage.Dataset, emit func(arrow.RecordBatch) error) (answered bool, err error) {
	if stmt.Kind != gate.Select || stmt.Direct == nil || len(snapshots) != 1 {
		return false, nil
	}
	reading, ok := stmt.Direct.Resolve(snapshots[0].Schema(), planned, params)
	if !ok {
		return false, nil
	}
	if err = s.read(ctx, reading, snapshots[0], emit); errors.Is(err, fold.ErrEngine) {
		return false, nil
	}
	s.metrics.direct.Inc()
	return true, err
}

func (s *Server) read(ctx context.Context, reading *direct.Reading, snapshot storage.Dataset, emit func(arrow.RecordBatch) error) error {
	var table rowfilter.Source = snapshot
	if len(reading.Where) > 0 {
		part, err := storage.Prune(ctx, snapshot, reading.Where)
		if err != nil {
			return err
		}
		s.metrics.pruned(part.Pieces())
		table = part
	}
	if !reading.Summary() {
		return reading.Scan(ctx, table, emit)
	}
	result, err := s.summarize(ctx, reading, table)
	if err != nil {
		return err
	}
	defer result.Release()
	if result.NumRows() == 0 {
		return nil
	}
	return emit(result)
}

// summarize waits for places, which are free again before a client reads.
func (s *Server) summarize(ctx context.Context, reading *direct.Reading, table rowfilter.Source) (arrow.RecordBatch, error) {
	threads := direct.Threads(table)
	if err := s.summaries.Acquire(ctx, int64(threads)); err != nil {
		return nil, err
	}
	defer s.summaries.Release(int64(threads))
	return reading.Summarize(ctx, table, threads)
}
