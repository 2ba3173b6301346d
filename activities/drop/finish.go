// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package drop

import (
	"context"
	"time"

	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
)

// Finish verifies that nothing is left and ends the drop: one commit removes
// the engine's mark and the exact tombstone and closes the record.
//
// Running it twice is safe: the second finds the record closed. When something
// is left after all, it sends the drop back to deleting objects; the tombstone
// stays until the location is seen empty.
func (a *Activities) Finish(ctx context.Context, in workflows.DropStep) (workflows.DropProgress, error) {
	return a.run(ctx, in, func(ctx context.Context, h *held, out *workflows.DropProgress) error {
		if !passed(h.Record(), workflows.PhaseHistory) {
			out.Again = true
			return h.Release(ctx, nil)
		}
		return a.finish(ctx, h, out)
	})
}

// settled is when a location that looks empty is believed to be.
func (a *Activities) settled(h *held) time.Time { return h.tombstone.DroppedAt.Add(a.opts.Settle) }

// finish ends the drop, or says for what to wait or that something is left.
func (a *Activities) finish(ctx context.Context, h *held, out *workflows.DropProgress) error {
	settled := a.settled(h)
	if a.opts.Now().Before(settled) {
		out.Wait = &settled
		return h.Release(ctx, nil)
	}
	if until, err := a.maintained(ctx, h); err != nil || until != nil {
		if err != nil {
			return err
		}
		out.Wait = until
		return h.Release(ctx, nil)
	}
	empty, err := a.empty(ctx, h)
	if err != nil {
		return err
	}
	if !empty {
		out.Again = true
		return h.Release(ctx, func(p *catalog.Procedure) {
			p.Phase, p.Cursor, p.Progress = string(workflows.PhaseObjects), "", catalog.Progress{}
		}, h.guard())
	}
	ops := append(h.engine.Forget(h.snapshot()), h.tombstone.RemoveOp())
	out.Over, out.Done = true, true
	return h.Release(ctx, func(p *catalog.Procedure) {
		p.State, p.Phase, p.Cursor, p.LastError = catalog.ProcedureCompleted, string(workflows.PhaseDone), "", ""
	}, ops...)
}

// outwait waits where that is shorter than what a quick activity may take: a timer
// and another activity cost more.
func (a *Activities) outwait(ctx context.Context, left time.Duration) error {
	if left > quickBudget.Time {
		return nil
	}
	return lease.Wait(ctx, left)
}

// maintained returns until when a maintenance of the table may still be writing
// under its location, nil when none can: its attempt stops by itself as soon as
// it sees that the table is gone, and at its deadline at the latest.
func (a *Activities) maintained(ctx context.Context, h *held) (*time.Time, error) {
	table := h.tombstone.Table
	p, err := a.catalog.Procedure(ctx, catalog.MaintenanceKind, catalog.MaintenanceID(table.Name, table.Snapshot.Incarnation))
	switch {
	case lake.Is(err, lake.NotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case p.State.Terminal() || !a.opts.Now().Before(p.Deadline):
		return nil, nil
	}
	return &p.Deadline, nil
}

// empty reports whether no object and no version record is left.
func (a *Activities) empty(ctx context.Context, h *held) (bool, error) {
	infos, more, err := a.objects.List(ctx, h.prefix(), "", 1)
	if err != nil {
		return false, lake.Wrap("verify that no object is left", err)
	}
	if len(infos) > 0 || more {
		return false, nil
	}
	prefix := h.engine.HistoryPrefix(h.snapshot().Location)
	for cursor := ""; ; {
		page, err := a.store.Scan(ctx, prefix, cursor, historyPage)
		if err != nil {
			return false, lake.Wrap("verify that no version record is left", err)
		}
		if len(page.Records) > 0 {
			return false, nil
		}
		if cursor = page.Next; cursor == "" {
			return true, nil
		}
	}
}
