// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package drop

import (
	"context"
	"time"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/workflows"
)

// Begin passes the point of no return, or says how long to wait for it.
//
// A quick one goes on as far as it gets in a second or two: for most tables that is
// to the end, so that a drop costs one activity and not five. [workflows.DropProgress]
// says in its Phase where it left off.
//
// Running it twice is safe: before the end of the undrop window it changes
// nothing but the lease, and once the record is past the point it only reports
// so, or goes on from there.
func (a *Activities) Begin(ctx context.Context, in workflows.DropStep) (workflows.DropProgress, error) {
	return a.run(ctx, in, func(ctx context.Context, h *held, out *workflows.DropProgress) error {
		if passed(h.Record(), workflows.PhaseWaiting) {
			out.Done = true
			if !in.Quick {
				return h.Release(ctx, nil)
			}
			return a.goOn(ctx, h, in, out)
		}
		if end := h.tombstone.PurgeAfter; a.opts.Now().Before(end) {
			out.Wait = &end
			return h.Release(ctx, func(p *catalog.Procedure) { p.Phase = string(workflows.PhaseWaiting) })
		}
		out.Done = true
		// A pause that was acknowledged holds the drop on this side of the point.
		err := h.Decide(ctx, func(p *catalog.Procedure) {
			p.Phase, p.Cursor = string(workflows.PhaseObjects), ""
			if !in.Quick {
				p.Deadline = time.Time{}
			}
		}, h.guard())
		if err != nil || !in.Quick {
			return err
		}
		return a.goOn(ctx, h, in, out)
	})
}

// goOn does what an activity can of what follows the point of no return, and gives the
// record free. Each step that it does costs no activity of its own.
func (a *Activities) goOn(ctx context.Context, h *held, in workflows.DropStep, out *workflows.DropProgress) error {
	defer func() { out.Phase = workflows.Phase(h.Record().Phase) }()
	for _, part := range []struct {
		phase workflows.Phase
		do    func(context.Context, *held, workflows.DropStep) (bool, error)
	}{{workflows.PhaseObjects, a.deleteObjects}, {workflows.PhaseHistory, a.clearHistory}} {
		if passed(h.Record(), part.phase) {
			continue
		}
		if done, err := part.do(ctx, h, in); err != nil {
			return err
		} else if !done || h.Held() {
			return h.Release(ctx, nil)
		}
	}
	if err := a.outwait(ctx, a.settled(h).Sub(a.opts.Now())); err != nil {
		return err
	}
	err := a.finish(ctx, h, out)
	out.Again = false // the phase says so
	return err
}
