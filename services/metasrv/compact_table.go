// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"time"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/retention"
)

// fragmented is an optional ability of an engine: to tell what a compaction
// would do.
type fragmented interface {
	Fragmentation(ctx context.Context, snap lake.Snapshot) (before, after int, err error)
}

// CompactTable implements lakepb.CatalogServer. Any member of the group
// answers: the intent is a record of its own, and nothing the leader owns
// changes here. The compaction itself is the procedure's work.
func (s *Server) CompactTable(ctx context.Context, req *lakepb.CompactTableRequest) (*lakepb.CompactTableResponse, error) {
	return onTable(ctx, s, "compact", req, s.compact)
}

func (s *Server) compact(ctx context.Context, name lake.TableName, req *lakepb.CompactTableRequest) (*lakepb.CompactTableResponse, error) {
	dryRun := req.GetDryRun()
	table, err := s.catalog.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	e, ok := s.opts.Engine.(fragmented)
	if !ok {
		return nil, lake.Errorf(lake.Unsupported, "the storage engine %q has no compaction", s.opts.Engine.Name())
	}
	before, after, err := e.Fragmentation(ctx, table.Snapshot)
	if err != nil {
		return nil, err
	}
	id := catalog.MaintenanceID(name, table.Snapshot.Incarnation)
	if !dryRun {
		p, err := caller(ctx)
		if err != nil {
			return nil, err
		}
		_, _, err = s.catalog.StartProcedure(ctx, catalog.Procedure{
			Kind: catalog.MaintenanceKind, ID: id, Namespace: name.Namespace, Table: name.Name,
		}, p.Name, p.Via, "")
		if err != nil {
			return nil, err
		}
		s.startCompaction(id)
	}
	var reclaim *lakepb.Reclaim
	if dryRun && req.GetReclaim() {
		if reclaim, err = s.reclaimable(ctx, table); err != nil {
			return nil, err
		}
	}
	return &lakepb.CompactTableResponse{
		ProcedureId: id, Table: tableMessage(table), DryRun: dryRun, Reclaim: reclaim,
		UiUrl:       s.opts.Starter.UIURL(catalog.MaintenanceKind + "/" + id),
		PartsBefore: uint64(before), PartsAfter: uint64(after),
	}, nil
}

// reclaimable tells what a clean-up would delete now.
func (s *Server) reclaimable(ctx context.Context, table catalog.Table) (*lakepb.Reclaim, error) {
	e := s.opts.Engine
	cleaner, ok := e.(engine.Cleaner)
	if !ok {
		return nil, lake.Errorf(lake.Unsupported, "the storage engine %q cleans nothing up", e.Name())
	}
	plan, err := retention.Dry(ctx, s.opts.Store, cleaner, e.HistoryPrefix(table.Snapshot.Location), table, s.opts.Retention, time.Now())
	if err != nil {
		return nil, err
	}
	return &lakepb.Reclaim{
		Floor: uint64(plan.Floor), VersionsKept: uint64(plan.Versions), VersionsTagged: uint64(plan.Tagged),
		VersionsReclaimed: uint64(plan.Reclaimed), Objects: uint64(plan.Objects), Bytes: uint64(plan.Bytes),
	}, nil
}

// startCompaction starts the workflow as well as it can; the intent is recorded,
// so a start that fails is made up for by the sweep.
func (s *Server) startCompaction(id string) {
	s.background(func(ctx context.Context) {
		if err := s.opts.Starter.Start(ctx, catalog.MaintenanceKind, id); err != nil {
			s.opts.Logger.Warn("metasrv: the workflow of a compaction was not started; the sweep will", "procedure", id, "error", err)
		}
	})
}
