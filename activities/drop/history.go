// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package drop

import (
	"context"

	"go.temporal.io/sdk/activity"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/workflows"
)

// historyPage is how many history rows one commit deletes: a transaction has
// room for them beside the record and the guard of the tombstone.
const historyPage = metastore.MaxOps - 2

// ClearHistory deletes a set of pages of the table's version records.
//
// Running it twice is safe: each commit deletes exact rows and replaces the
// record, so an older attempt fails whole, and rows that are gone are not found
// again.
func (a *Activities) ClearHistory(ctx context.Context, in workflows.DropStep) (workflows.DropProgress, error) {
	return a.run(ctx, in, func(ctx context.Context, h *held, out *workflows.DropProgress) error {
		if passed(h.Record(), workflows.PhaseHistory) {
			out.Done = true
			return h.Release(ctx, nil)
		}
		var err error
		if out.Done, err = a.clearHistory(ctx, h, in); err != nil {
			return err
		}
		return h.Release(ctx, nil)
	})
}

// clearHistory deletes version records until none is left, which it reports, or until
// the activity should return.
func (a *Activities) clearHistory(ctx context.Context, h *held, in workflows.DropStep) (done bool, err error) {
	if err := h.begun(); err != nil {
		return false, err
	}
	budget, _ := a.budget(in)
	for meter := budget.Start(ctx); ; {
		n, last, err := a.clearPage(ctx, h)
		if err != nil || last {
			return last, err
		}
		activity.RecordHeartbeat(ctx, h.Record().Cursor)
		if meter.Add(n); meter.Spent() || h.Held() {
			return false, nil
		}
	}
}

// clearPage deletes one scanned page and moves the cursor, or, with the last page, the
// phase.
func (a *Activities) clearPage(ctx context.Context, h *held) (n int, last bool, err error) {
	prefix := h.engine.HistoryPrefix(h.snapshot().Location)
	page, err := a.store.Scan(ctx, prefix, h.Record().Cursor, historyPage)
	if err != nil {
		return 0, false, lake.Wrap("scan version records", err)
	}
	ops := []metastore.Op{h.guard()}
	for _, row := range page.Records {
		ops = append(ops, metastore.Remove(row.Key, row.Value))
	}
	last = page.Next == ""
	err = h.Commit(ctx, func(p *catalog.Procedure) {
		p.Cursor = page.Next
		count(p, workflows.CountHistory, int64(len(page.Records)))
		if last {
			p.Phase = string(workflows.PhaseFinishing)
		}
	}, ops...)
	return len(page.Records), last && err == nil, err
}
