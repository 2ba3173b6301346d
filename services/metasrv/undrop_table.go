// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
)

const (
	// undropTries is how often an undrop is tried against a procedure whose
	// record its worker keeps moving: it claims it, waits, and lets go.
	undropTries = 10
	// undropChoices is how many dropped incarnations a refusal lists.
	undropChoices = 10
	// undropPage bounds the tombstones, with their schemas, held at once.
	undropPage = 32
)

// UndropTable implements lakepb.CatalogServer. The drop's procedure and the
// undrop both move the exact record of the procedure, so one of them wins: no
// table comes back of which an object was deleted.
func (s *Server) UndropTable(ctx context.Context, req *lakepb.UndropTableRequest) (*lakepb.Table, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	name, err := tableName(req.GetName())
	if err != nil {
		return nil, err
	}
	var inc lake.Incarnation // zero for the only one that is dropped
	if text := req.GetIncarnation(); text != "" {
		if inc, err = lake.ParseID(text); err != nil {
			return nil, lake.Wrap("incarnation", err)
		}
	}
	if !p.May(name.Namespace) {
		return nil, noTable(name)
	}
	if leader, err := s.elsewhere(ctx, p); leader != nil || err != nil {
		return forwarded(s, leader, err, func(to *peer) (*lakepb.Table, error) { return to.catalog.UndropTable(to.ctx, req) })
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.working.Done()
	table, err := s.undrop(ctx, name, inc)
	if err != nil {
		return nil, lake.Wrap("undrop table "+name.String(), err)
	}
	return tableMessage(table), nil
}

func (s *Server) undrop(ctx context.Context, name lake.TableName, inc lake.Incarnation) (catalog.Table, error) {
	var err error
	for attempt := range undropTries {
		if attempt > 0 && !pause(ctx, min(firstCommitPause<<(attempt-1), maxCommitPause)) {
			break
		}
		table, e := s.catalog.Get(ctx, name)
		if e == nil {
			return s.occupied(table, inc)
		}
		if !lake.Is(e, lake.NotFound) {
			return catalog.Table{}, e
		}
		if table, err = s.raise(ctx, name, inc); !lake.Is(err, lake.Conflict) {
			return table, err
		}
	}
	return catalog.Table{}, lake.Errorf(lake.Unavailable, "the drop's procedure moved during each attempt, try again: %w", err)
}

// occupied answers for a name that a table carries. A repeated undrop finds the
// incarnation in place.
func (s *Server) occupied(table catalog.Table, inc lake.Incarnation) (catalog.Table, error) {
	if table.Snapshot.Incarnation == inc {
		return table, nil
	}
	return catalog.Table{}, lake.Errorf(lake.AlreadyExists, "a table carries the name: incarnation %s, created %s",
		table.Snapshot.Incarnation, table.CreatedAt.Format(time.RFC3339))
}

// raise finds the drop and takes it back as it stands. lake.Conflict means that
// something moved meanwhile: look again.
func (s *Server) raise(ctx context.Context, name lake.TableName, inc lake.Incarnation) (catalog.Table, error) {
	fence, err := s.leader.fence(ctx)
	if err != nil {
		return catalog.Table{}, err
	}
	grave, err := s.buried(ctx, name, inc)
	if err != nil {
		return catalog.Table{}, err
	}
	drop, err := s.catalog.Procedure(ctx, catalog.DropKind, grave.ProcedureID())
	if err != nil {
		return catalog.Table{}, err
	}
	if !workflows.Undoable(workflows.Phase(drop.Phase)) {
		return catalog.Table{}, lake.Errorf(lake.Precondition, "too late: the drop of incarnation %s is %s, so objects may be gone already (procedure %s)",
			grave.Table.Snapshot.Incarnation, drop.Phase, drop.WorkflowID())
	}
	p, err := caller(ctx)
	if err != nil {
		return catalog.Table{}, err
	}
	defer s.tables.forget(name)
	table, err := s.catalog.Undrop(ctx, fence, grave, s.opts.Engine.Restore(grave.Table.Snapshot), drop, p.Name)
	switch {
	case err == nil:
		s.undone(grave)
	case lake.Is(err, lake.Precondition), lake.Is(err, lake.AlreadyExists):
		err = lake.Errorf(lake.Conflict, "%w", err)
	}
	return table, err
}

// buried returns the drop in progress that the request means.
func (s *Server) buried(ctx context.Context, name lake.TableName, inc lake.Incarnation) (catalog.Tombstone, error) {
	if !inc.IsZero() {
		grave, err := s.catalog.Tombstone(ctx, name, inc)
		if lake.Is(err, lake.NotFound) {
			err = s.notBuried(ctx, name, inc)
		}
		return grave, err
	}
	graves, n, err := s.newestDrops(ctx, name)
	switch {
	case err != nil:
		return catalog.Tombstone{}, err
	case n == 0:
		return catalog.Tombstone{}, lake.Errorf(lake.NotFound, "no drop of table %s is in progress: it never existed, or its objects are deleted", name)
	case n > 1:
		return catalog.Tombstone{}, ambiguous(graves, n)
	}
	return graves[0], nil
}

// newestDrops returns the drops in progress of tables that had the name, the
// last ones first and no more than a refusal lists, and how many there are.
func (s *Server) newestDrops(ctx context.Context, name lake.TableName) (newest []catalog.Tombstone, n int, err error) {
	for cursor := ""; ; {
		page, next, err := s.catalog.TombstonesOf(ctx, name, cursor, undropPage)
		if err != nil {
			return nil, 0, err
		}
		n += len(page)
		newest = append(newest, page...)
		slices.SortFunc(newest, func(a, b catalog.Tombstone) int {
			return cmp.Or(b.DroppedAt.Compare(a.DroppedAt), cmp.Compare(b.ProcedureID(), a.ProcedureID()))
		})
		newest = newest[:min(len(newest), undropChoices)]
		if cursor = next; cursor == "" {
			return newest, n, nil
		}
	}
}

// notBuried tells an incarnation that is deleted from one that never was.
func (s *Server) notBuried(ctx context.Context, name lake.TableName, inc lake.Incarnation) error {
	drop, err := s.catalog.Procedure(ctx, catalog.DropKind, catalog.DropID(name, inc))
	switch {
	case lake.Is(err, lake.NotFound):
		return lake.Errorf(lake.NotFound, "incarnation %s of table %s was not dropped", inc, name)
	case err != nil:
		return err
	case drop.State == catalog.ProcedureCompleted:
		return lake.Errorf(lake.Precondition, "too late: the drop of incarnation %s is complete and its objects are deleted (procedure %s)", inc, drop.WorkflowID())
	}
	// The drop ended between the two reads, or an undrop or another drop did.
	return lake.Errorf(lake.Conflict, "the drop of incarnation %s is %s", inc, drop.State)
}

// ambiguous lists the incarnations to choose from.
func ambiguous(newest []catalog.Tombstone, n int) error {
	var list strings.Builder
	for _, g := range newest {
		fmt.Fprintf(&list, "; %s at version %d, dropped %s, kept until %s", g.Table.Snapshot.Incarnation, g.Table.Snapshot.Version,
			g.DroppedAt.Format(time.RFC3339), g.PurgeAfter.Format(time.RFC3339))
	}
	if older := n - len(newest); older > 0 {
		fmt.Fprintf(&list, "; and %d older ones", older)
	}
	return lake.Errorf(lake.Precondition, "%d dropped tables had the name, choose an incarnation%s", n, list.String())
}

// undone tells the waiting workflow that its drop is over. It would notice at
// the end of the window, and the sweep tells it, too.
func (s *Server) undone(grave catalog.Tombstone) {
	ref := workflows.Ref{Kind: workflows.DropTableKind, ID: grave.ProcedureID()}
	s.background(func(ctx context.Context) {
		if err := s.opts.Starter.Recheck(ctx, ref); err != nil && !lake.Is(err, lake.NotFound) {
			s.opts.Logger.Warn("metasrv: the workflow of an undone drop was not told; the sweep will", "procedure", ref.String(), "error", err)
		}
	})
}
