// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"slices"
	"time"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
)

// dropTries is how often a drop is tried against a table that appends keep
// moving.
const dropTries = 16

// dropRequest is a validated DropTableRequest.
type dropRequest struct {
	name        lake.TableName
	incarnation lake.Incarnation // zero for whatever carries the name
	window      time.Duration
	reason      string
	requester   string
}

// DropTable implements lakepb.CatalogServer. The table is gone when the call
// returns; its objects follow. The procedure's id is a function of the
// incarnation, so a repeated drop of an incarnation answers the same.
func (s *Server) DropTable(ctx context.Context, req *lakepb.DropTableRequest) (*lakepb.DropTableResponse, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	drop, err := s.parseDrop(req)
	if err != nil {
		return nil, err
	}
	drop.requester = p.Name
	if !p.May(drop.name.Namespace) {
		return nil, noTable(drop.name)
	}
	if leader, err := s.elsewhere(ctx, p); leader != nil || err != nil {
		return forwarded(s, leader, err, func(to *peer) (*lakepb.DropTableResponse, error) { return to.catalog.DropTable(to.ctx, req) })
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.working.Done()
	resp, err := s.drop(ctx, drop, req.GetDryRun())
	if err != nil {
		return nil, lake.Wrap("drop table "+drop.name.String(), err)
	}
	return resp, nil
}

func (s *Server) parseDrop(req *lakepb.DropTableRequest) (dropRequest, error) {
	name, err := tableName(req.GetName())
	if err != nil {
		return dropRequest{}, err
	}
	drop := dropRequest{name: name, window: s.opts.UndropWindow, reason: req.GetReason()}
	if text := req.GetIncarnation(); text != "" {
		if drop.incarnation, err = lake.ParseID(text); err != nil {
			return dropRequest{}, lake.Wrap("incarnation", err)
		}
	}
	if w := req.GetUndropWindow(); w != nil {
		drop.window = w.AsDuration()
		if w.CheckValid() != nil || drop.window < 0 || drop.window > maxUndropWindow {
			return dropRequest{}, lake.Errorf(lake.Invalid, "undrop_window %s: want 0 to %s", drop.window, maxUndropWindow)
		}
	}
	if n := len(drop.reason); n > catalog.MaxReasonBytes {
		return dropRequest{}, lake.Errorf(lake.Invalid, "reason of %d bytes: at most %d", n, catalog.MaxReasonBytes)
	}
	return drop, nil
}

// drop removes the table as it stands. An append may move it between the read
// and the commit, so it is read again.
func (s *Server) drop(ctx context.Context, drop dropRequest, dryRun bool) (*lakepb.DropTableResponse, error) {
	var err error
	for range dropTries {
		var table catalog.Table
		table, err = s.catalog.Get(ctx, drop.name)
		if lake.Is(err, lake.NotFound) || err == nil && !drop.matches(table) {
			return s.dropped(ctx, drop, err == nil)
		}
		if err != nil {
			return nil, err
		}
		purge := time.Now().Add(drop.window)
		if dryRun {
			resp := s.dropResponse(table, purge)
			resp.DryRun = true
			return resp, nil
		}
		var grave catalog.Tombstone
		grave, err = s.bury(ctx, table, drop, purge)
		if err == nil {
			return s.begun(grave), nil
		}
		if !lake.Is(err, lake.Conflict) && !lake.Is(err, lake.NotFound) && !lake.Is(err, lake.Precondition) {
			return nil, err
		}
	}
	return nil, err
}

func (d dropRequest) matches(t catalog.Table) bool {
	return d.incarnation.IsZero() || d.incarnation == t.Snapshot.Incarnation
}

func (s *Server) bury(ctx context.Context, table catalog.Table, drop dropRequest, purge time.Time) (catalog.Tombstone, error) {
	fence, err := s.leader.fence(ctx)
	if err != nil {
		return catalog.Tombstone{}, err
	}
	defer s.tables.leave(table.Name)()
	return s.catalog.Drop(ctx, fence, table, s.opts.Engine.Retire(table.Snapshot), catalog.DropRequest{
		Requester: drop.requester, Reason: drop.reason, PurgeAfter: purge,
	})
}

// dropped answers for an incarnation that does not carry the name any more:
// from its tombstone, or from the procedure's record when that has ended.
// replaced says that another incarnation carries the name now.
func (s *Server) dropped(ctx context.Context, drop dropRequest, replaced bool) (*lakepb.DropTableResponse, error) {
	if drop.incarnation.IsZero() {
		return nil, s.alreadyDropped(ctx, drop.name)
	}
	grave, err := s.catalog.Tombstone(ctx, drop.name, drop.incarnation)
	if err == nil {
		return s.begun(grave), nil
	}
	if !lake.Is(err, lake.NotFound) {
		return nil, err
	}
	switch _, err := s.catalog.Procedure(ctx, catalog.DropKind, catalog.DropID(drop.name, drop.incarnation)); {
	case err == nil:
		table := catalog.Table{Name: drop.name}
		table.Snapshot.Incarnation = drop.incarnation
		return s.dropResponse(table, time.Time{}), nil
	case !lake.Is(err, lake.NotFound):
		return nil, err
	case replaced:
		return nil, lake.Errorf(lake.Precondition, "the table of that name is not incarnation %s", drop.incarnation)
	}
	return nil, noTable(drop.name)
}

// alreadyDropped is the answer for a name that no table carries. A caller that
// lost the answer of its drop finds the procedure in it.
func (s *Server) alreadyDropped(ctx context.Context, name lake.TableName) error {
	graves, _, err := s.catalog.TombstonesOf(ctx, name, "", maxPage)
	if err != nil || len(graves) == 0 {
		return noTable(name)
	}
	last := slices.MaxFunc(graves, func(a, b catalog.Tombstone) int { return a.DroppedAt.Compare(b.DroppedAt) })
	return lake.Errorf(lake.NotFound, "no table %s; the drop of its last incarnation is procedure %s/%s", name, catalog.DropKind, last.ProcedureID())
}

// begun starts the procedure of a drop and returns the answer. The intent is
// recorded, so a start that fails is made up for by the sweep.
func (s *Server) begun(grave catalog.Tombstone) *lakepb.DropTableResponse {
	id := grave.ProcedureID()
	s.background(func(ctx context.Context) {
		if err := s.opts.Starter.Start(ctx, catalog.DropKind, id); err != nil {
			s.opts.Logger.Warn("metasrv: the drop's workflow was not started; the sweep will", "procedure", id, "error", err)
		}
	})
	return s.dropResponse(grave.Table, grave.PurgeAfter)
}

func (s *Server) dropResponse(table catalog.Table, purge time.Time) *lakepb.DropTableResponse {
	id := catalog.DropID(table.Name, table.Snapshot.Incarnation)
	return &lakepb.DropTableResponse{
		ProcedureId: id, Dropped: tableMessage(table), PurgeAfter: timestamp(purge),
		UiUrl: s.opts.Starter.UIURL(catalog.DropKind + "/" + id),
	}
}
