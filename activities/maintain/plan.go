// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package maintain

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/lakeplane/lake/activities/failure"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
)

const (
	// planPage is how many tables, with their schemas, are held at once;
	// planPages how many pages one activity looks at.
	planPage  = 64
	planPages = 50
	// recordPage is how many records one read of ended procedures asks for.
	recordPage = 256
	// judgedTables bounds the tables whose last judgement is remembered.
	judgedTables = 100_000
)

// Plan looks over a set of pages of the tables, records an intent for each that
// is worth a compaction, [Options.Tables] in a run at most, and starts it. The
// next run goes on where this one had enough. At the end it forgets the records
// of maintenances that ended long ago.
//
// Running it twice, or beside another, is safe: an intent that is open is not
// recorded again, and the procedure looks for itself what there is to do.
func (a *Activities) Plan(ctx context.Context, step workflows.PlanStep) (workflows.PlanResult, error) {
	p := &planner{Activities: a, left: a.opts.Tables - int(step.Intended)}
	err := p.run(ctx, step.Cursor)
	if err == nil && p.out.Cursor == "" {
		err = p.forget(ctx)
	}
	return p.out, failure.Of(ctx, a.opts.Log, err)
}

type planner struct {
	*Activities
	left int // intents that may be recorded
	out  workflows.PlanResult
}

func (p *planner) run(ctx context.Context, cursor string) error {
	if cursor == "" {
		cursor = p.takeUp()
	}
	for range planPages {
		page, next, err := p.catalog.List(ctx, "", cursor, planPage)
		if err != nil {
			p.leaveOff("") // a cursor that is not good any more, perhaps
			return err
		}
		// In no order, so that the same few busy tables do not come first always.
		rand.Shuffle(len(page), func(i, j int) { page[i], page[j] = page[j], page[i] })
		for _, t := range page {
			if p.left <= 0 {
				p.leaveOff(cursor)
				return nil
			}
			if err := p.visit(ctx, t); err != nil {
				return err
			}
		}
		activity.RecordHeartbeat(ctx, next)
		if cursor = next; cursor == "" {
			break
		}
	}
	p.out.Cursor = cursor
	return nil
}

// takeUp is where the last run had enough.
func (p *planner) takeUp() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	cursor := p.resume
	p.resume = ""
	return cursor
}

func (p *planner) leaveOff(cursor string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resume = cursor
}

// visit records and starts the maintenance of one table if it is worth it. One
// bad table must not keep the others waiting.
func (p *planner) visit(ctx context.Context, t catalog.Table) error {
	worth, err := p.worth(ctx, t)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && worth {
		err = p.intend(ctx, t)
	}
	if err != nil {
		p.opts.Log.WarnContext(ctx, "table not planned for", "table", t.Name.String(), "error", err)
		p.out.Failed++
		p.out.LastError = failure.Text(err)
	}
	return nil
}

// worth reports whether a clean-up is due or a compaction would save enough. A
// manifest is read only when enough versions were made since the last time to
// matter.
func (p *planner) worth(ctx context.Context, t catalog.Table) (bool, error) {
	e := p.engines[t.Snapshot.Engine]
	if e == nil {
		return false, nil
	}
	if p.reclaimable(t) {
		p.out.Looked++
		return true, nil
	}
	if !p.judged.due(t.Snapshot) {
		return false, nil
	}
	p.out.Looked++
	activity.RecordHeartbeat(ctx, p.out.Looked)
	before, after, err := e.Fragmentation(ctx, t.Snapshot)
	if err != nil {
		return false, err
	}
	saved := before - after
	if saved >= p.opts.Saved {
		return true, nil
	}
	p.judged.put(t.Snapshot, lake.Version(max(1, (p.opts.Saved-saved)/catalog.MaxGroup)))
	return false, nil
}

// reclaimable reports whether a clean-up of the table is due. It looks at nothing
// but its record: versions go once there are many to give up and those of the
// last time had the time to become old, and orphans are looked for once in a
// while where something was written.
func (p *planner) reclaimable(t catalog.Table) bool {
	if p.opts.Records == nil {
		return false
	}
	last := t.Reclaimed
	if last.At.IsZero() {
		last.At, last.Head = t.CreatedAt, 1
	}
	since := p.opts.Now().Sub(last.At)
	policy := p.opts.Retention
	many := t.Snapshot.Version > last.Floor+lake.Version(policy.Versions+p.opts.GiveUp)
	return many && since >= max(policy.For, minReclaimPause) ||
		t.Snapshot.Version > last.Head && since >= max(policy.OrphanAge, p.opts.SweepEvery)
}

// minReclaimPause keeps clean-ups of a busy table apart where versions need not
// stay.
const minReclaimPause = 10 * time.Minute

// intend records the intent and starts it, unless one that failed for good is
// remembered.
func (p *planner) intend(ctx context.Context, t catalog.Table) error {
	ref := workflows.TableMaintenanceRef(t.Name, t.Snapshot.Incarnation)
	old, err := p.catalog.Procedure(ctx, catalog.MaintenanceKind, ref.ID)
	if err == nil && (old.State == catalog.ProcedureFailed || !old.State.Terminal()) {
		return nil
	}
	if err != nil && !lake.Is(err, lake.NotFound) {
		return err
	}
	_, opened, err := p.catalog.OpenProcedure(ctx, catalog.Procedure{
		Kind: catalog.MaintenanceKind, ID: ref.ID, Namespace: t.Name.Namespace, Table: t.Name.Name,
	})
	if err != nil || !opened {
		return err
	}
	p.left--
	p.out.Intended++
	if err := p.starter.Start(ctx, string(ref.Kind), ref.ID); err != nil {
		return err // the sweep starts it
	}
	p.out.Started++
	return nil
}

// forget removes the records of maintenances that ended some time ago, so that
// there are no more of them than maintenances in that time.
func (p *planner) forget(ctx context.Context) error {
	old := p.opts.Now().Add(-p.opts.Keep)
	for cursor := ""; ; {
		page, next, err := p.catalog.Procedures(ctx, catalog.MaintenanceKind, cursor, recordPage)
		if err != nil {
			return err
		}
		for _, r := range page {
			if !r.State.Terminal() || r.UpdatedAt.After(old) {
				continue
			}
			err := p.catalog.RemoveProcedure(ctx, r)
			if err != nil && !lake.Is(err, lake.Fenced) { // begun anew meanwhile
				return err
			}
			p.out.Forgotten++
			activity.RecordHeartbeat(ctx, p.out.Forgotten)
		}
		activity.RecordHeartbeat(ctx, p.out.Forgotten)
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

// judgements remembers from which version on a table is worth another look. It
// is a saving only: a process that forgets looks once more. The zero value is
// ready.
type judgements struct {
	mu   sync.Mutex
	from map[lake.Location]lake.Version
}

func (j *judgements) due(s lake.Snapshot) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return s.Version > 2 && s.Version >= j.from[s.Location]
}

// put says that the table need not be looked at for some more versions.
func (j *judgements) put(s lake.Snapshot, more lake.Version) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.from == nil || len(j.from) >= judgedTables {
		j.from = map[lake.Location]lake.Version{}
	}
	j.from[s.Location] = s.Version + more
}
