// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package drop

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/workflows"
)

// measureTime is how long one activity counts what is left, of the twenty seconds
// it has. A count that is not over then goes on in the next one.
const measureTime = 3 * time.Second

// measurePatience is how long a drop goes on before it is measured: most are over by
// then, and a listing takes half as long as the deletes.
const measurePatience = 5 * time.Second

func (a *Activities) patience() time.Duration { return min(measurePatience, a.opts.Budget.Time/4) }

// measure counts the objects that are left, as far as it gets, so that people see
// how far the drop is. It does nothing when that is known.
func (a *Activities) measure(ctx context.Context, h *held) error {
	p := h.Record().Progress
	if p.Of == workflows.CountObjects && p.Total > 0 {
		return nil
	}
	if p.Of != workflows.CountObjects || p.Upto < h.Record().Cursor {
		p = catalog.Progress{Of: workflows.CountObjects, PerSecond: p.PerSecond, At: p.At}
		p.Counted, p.Upto = h.Record().Counters[p.Of], h.Record().Cursor
	}
	over, err := a.countAhead(ctx, h, &p)
	if err != nil {
		return err
	}
	if over {
		p.Total, p.Counted, p.Upto = p.Counted, 0, ""
	}
	return h.Commit(ctx, func(r *catalog.Procedure) { r.Progress = p })
}

// countAhead goes on with a count and reports whether it came to the end.
func (a *Activities) countAhead(ctx context.Context, h *held, p *catalog.Progress) (over bool, err error) {
	end := time.Now().Add(min(measureTime, a.opts.Budget.Time/4))
	for infos, err := range objstore.Pages(ctx, a.objects, h.prefix(), p.Upto, objstore.MaxPage) {
		if err != nil {
			return false, lake.Wrap("count objects", err)
		}
		p.Counted, p.Upto = p.Counted+int64(len(infos)), infos[len(infos)-1].Key
		activity.RecordHeartbeat(ctx, h.Record().Cursor)
		if time.Now().After(end) {
			return false, nil
		}
	}
	return true, nil
}

// historyProgress is how far the clearing of version records is at its beginning:
// a record a version, less those that maintenance removed.
func (a *Activities) historyProgress(h *held) catalog.Progress {
	table := h.tombstone.Table
	versions := int64(table.Snapshot.Version) - int64(table.Reclaimed.Floor)
	return catalog.Progress{Of: workflows.CountHistory, Total: max(versions, 0), About: true}
}
