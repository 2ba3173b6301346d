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
// Running it twice is safe: before the end of the undrop window it changes
// nothing but the lease, and once the record is past the point it only reports
// so.
func (a *Activities) Begin(ctx context.Context, in workflows.DropStep) (workflows.DropProgress, error) {
	return a.run(ctx, in, func(ctx context.Context, h *held, out *workflows.DropProgress) error {
		if passed(h.Record(), workflows.PhaseWaiting) {
			out.Done = true
			return h.Release(ctx, nil)
		}
		if end := h.tombstone.PurgeAfter; a.opts.Now().Before(end) {
			out.Wait = &end
			return h.Release(ctx, func(p *catalog.Procedure) { p.Phase = string(workflows.PhaseWaiting) })
		}
		out.Done = true
		// A pause that was acknowledged holds the drop on this side of the point.
		return h.Decide(ctx, func(p *catalog.Procedure) {
			p.Phase, p.Cursor, p.Deadline = string(workflows.PhaseObjects), "", time.Time{}
		}, h.guard())
	})
}
