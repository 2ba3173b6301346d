// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package operationgc holds the activities that forget append operations.
//
// A record of an operation answers a repetition of it. It may go when every
// repetition is refused by its age, on every replica whose clock is within the
// allowed skew (catalog.Catalog.Forgettable). Each commit removes the exact
// records of a page and moves the cursor of the procedure's record, so an older
// attempt fails at its next write, and a page that is repeated finds nothing.
package operationgc

import (
	"context"
	"errors"
	"log/slog"
	"maps"

	"go.temporal.io/sdk/activity"

	"github.com/lakeplane/lake/activities/failure"
	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/workflows"
)

// Catalog is what the activities need of the catalog.
type Catalog interface {
	lease.Records
	Operations(ctx context.Context, cursor string, limit int) (page []catalog.OperationRecord, next string, err error)
	Forgettable(r catalog.OperationRecord) bool
	OpenProcedure(ctx context.Context, p catalog.Procedure) (record catalog.Procedure, opened bool, err error)
}

// Starter starts the procedure; workflows.Client does.
type Starter interface {
	Start(ctx context.Context, kind, id string) error
}

// Options tune the activities. The zero value is good.
type Options struct {
	// Lease is how long attempts hold the procedure.
	Lease lease.Options
	// Budget bounds one activity. Zero fields mean [DefaultBudget]; its items
	// are the records looked at.
	Budget lease.Budget
	// Log hears the full text of failures; nil means none.
	Log *slog.Logger
}

// DefaultBudget keeps an activity well inside its timeout, and a pass over two
// million operations inside a few hundred events.
var DefaultBudget = lease.Budget{Time: lease.DefaultTTL / 3, Items: 100_000}

const (
	// readPage is how many records one read asks for, writePage how many one
	// commit removes: a transaction has room for them beside the record.
	readPage  = 1000
	writePage = metastore.MaxOps - 1
)

// Activities are the steps of the operation GC. They are safe for concurrent
// use.
type Activities struct {
	catalog Catalog
	starter Starter
	opts    Options
	runner  lease.Runner
}

// New returns the activities over one deployment's catalog.
func New(c Catalog, s Starter, opts Options) (*Activities, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts.Budget = opts.Budget.Or(DefaultBudget)
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Activities{
		catalog: c, starter: s, opts: opts,
		runner: lease.Runner{Records: c, Options: opts.Lease, Log: opts.Log},
	}, nil
}

// Validate reports every mistake.
func (o Options) Validate() error {
	err := o.Lease.Validate()
	if o.Budget.Time < 0 || o.Budget.Items < 0 {
		err = errors.Join(err, lake.Errorf(lake.Invalid, "operation GC: budgets must not be negative"))
	}
	return err
}

// Plan records the intent to look at all operations, and starts the procedure.
// While one is under way it changes nothing.
func (a *Activities) Plan(ctx context.Context, _ workflows.PlanStep) (workflows.PlanResult, error) {
	ref := workflows.OperationGCRef()
	out := workflows.PlanResult{Looked: 1}
	expected, err := a.expected(ctx)
	if err != nil {
		return out, failure.Of(ctx, a.opts.Log, err)
	}
	_, opened, err := a.catalog.OpenProcedure(ctx, catalog.Procedure{Kind: catalog.OperationGCKind, ID: ref.ID, Progress: expected})
	if err != nil {
		return out, failure.Of(ctx, a.opts.Log, err)
	}
	if opened {
		out.Intended = 1
	}
	if err := a.starter.Start(ctx, string(ref.Kind), ref.ID); err != nil {
		out.Failed, out.LastError = 1, failure.Text(err)
		return out, nil // the sweep starts it
	}
	out.Started = 1
	return out, nil
}

// expected guesses by the run before how many operations there are: it saw so many,
// and removed those that were too old, while about as many came since.
func (a *Activities) expected(ctx context.Context) (catalog.Progress, error) {
	old, err := a.catalog.Procedure(ctx, catalog.OperationGCKind, workflows.OperationGCID)
	if lake.Is(err, lake.NotFound) {
		err = nil
	}
	return catalog.Progress{Of: workflows.CountOperationsSeen, Total: old.Counters[workflows.CountOperationsSeen], About: true}, err
}

// Forget goes over a set of pages and removes what may go.
//
// Running it twice is safe: it starts at the record's cursor, and each commit
// removes exact records and replaces the procedure's.
func (a *Activities) Forget(ctx context.Context, _ workflows.OperationGCStep) (workflows.OperationGCProgress, error) {
	var out workflows.OperationGCProgress
	ref := workflows.OperationGCRef()
	err := a.runner.Run(ctx, string(ref.Kind), ref.ID, func(ctx context.Context, l *lease.Lease) error {
		p := &pass{Activities: a, lease: l, cursor: l.Record().Cursor}
		err := p.run(ctx)
		out = workflows.OperationGCProgress{Over: p.over, Counters: l.Record().Counters, Removed: p.removed, Estimate: lease.Estimate(l.Record())}
		return err
	})
	var ended *lease.EndedError
	if errors.As(err, &ended) {
		return workflows.OperationGCProgress{Over: true, Counters: ended.Record.Counters}, nil
	}
	return out, err
}

// pass is one activity's way through the pages.
type pass struct {
	*Activities
	lease   *lease.Lease
	cursor  string // of the next read
	seen    int64  // since the last commit
	removed int64
	over    bool
}

func (p *pass) run(ctx context.Context) error {
	for meter := p.opts.Budget.Start(ctx); ; {
		page, next, err := p.catalog.Operations(ctx, p.cursor, readPage)
		if err != nil {
			return err
		}
		if err := p.forget(ctx, page); err != nil {
			return err
		}
		p.cursor = next
		activity.RecordHeartbeat(ctx, p.removed)
		if meter.Add(len(page)); next == "" {
			p.over = true
			return p.lease.Release(ctx, p.finish)
		}
		if meter.Spent() || p.lease.Held() {
			return p.lease.Release(ctx, p.move)
		}
		if err := p.lease.Renew(ctx); err != nil {
			return err
		}
	}
}

// forget removes what may go of one page. The cursor stays at the page's
// beginning until all of it is done: a repetition finds what is left.
func (p *pass) forget(ctx context.Context, page []catalog.OperationRecord) error {
	var ops []metastore.Op
	flush := func() error {
		if len(ops) == 0 {
			return nil
		}
		err := p.lease.Commit(ctx, func(r *catalog.Procedure) {
			p.move(r)
			add(r, workflows.CountOperationsRemoved, int64(len(ops)))
		}, ops...)
		if err == nil {
			p.seen, p.removed, ops = 0, p.removed+int64(len(ops)), nil
			// A page is thirty commits, which a metastore that is slow takes longer
			// for than an attempt that is silent lives.
			activity.RecordHeartbeat(ctx, p.removed)
		}
		return err
	}
	for _, r := range page {
		p.seen++
		if !p.catalog.Forgettable(r) {
			continue
		}
		if ops = append(ops, r.RemoveOp()); len(ops) == writePage {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// move takes the cursor and what was seen into the record.
func (p *pass) move(r *catalog.Procedure) {
	r.Phase, r.Cursor = string(workflows.PhaseForgetting), p.cursor
	r.Progress.Of = workflows.CountOperationsSeen
	add(r, workflows.CountOperationsSeen, p.seen)
}

// finish ends the procedure.
func (p *pass) finish(r *catalog.Procedure) {
	p.move(r)
	r.State, r.Phase, r.Cursor, r.LastError = catalog.ProcedureCompleted, string(workflows.PhaseDone), "", ""
}

// Count goes over a set of pages and counts what [Activities.Forget] would
// remove. It changes nothing but its own record, if it was started by one: a dry
// run begins where its argument says, so a repetition counts a page set anew.
func (a *Activities) Count(ctx context.Context, step workflows.OperationGCStep) (workflows.OperationGCProgress, error) {
	ref := workflows.OperationGCDryRunRef()
	_, err := a.catalog.Procedure(ctx, string(ref.Kind), ref.ID)
	if lake.Is(err, lake.NotFound) { // started by hand
		out, err := a.count(ctx, step)
		return out, failure.Of(ctx, a.opts.Log, err)
	}
	if err != nil {
		return workflows.OperationGCProgress{}, failure.Of(ctx, a.opts.Log, err)
	}
	var out workflows.OperationGCProgress
	err = a.runner.Run(ctx, string(ref.Kind), ref.ID, func(ctx context.Context, l *lease.Lease) error {
		var err error
		if out, err = a.count(ctx, step); err != nil {
			return err
		}
		return l.Release(ctx, func(p *catalog.Procedure) {
			p.Phase, p.Cursor, p.Counters = string(workflows.PhaseForgetting), out.Cursor, maps.Clone(out.Counters)
			if out.Over {
				p.State, p.Phase, p.LastError = catalog.ProcedureCompleted, string(workflows.PhaseDone), ""
			}
		})
	})
	var ended *lease.EndedError
	if errors.As(err, &ended) {
		return workflows.OperationGCProgress{Over: true, Counters: ended.Record.Counters}, nil
	}
	return out, err
}

func (a *Activities) count(ctx context.Context, step workflows.OperationGCStep) (workflows.OperationGCProgress, error) {
	out := workflows.OperationGCProgress{Cursor: step.Cursor, Counters: maps.Clone(step.Counters)}
	if out.Counters == nil { // none is an answer, too
		out.Counters = workflows.Counters{workflows.CountOperationsSeen: 0, workflows.CountOperationsRemoved: 0}
	}
	for meter := a.opts.Budget.Start(ctx); ; {
		page, next, err := a.catalog.Operations(ctx, out.Cursor, readPage)
		if err != nil {
			return out, err
		}
		for _, r := range page {
			out.Counters[workflows.CountOperationsSeen]++
			if a.catalog.Forgettable(r) {
				out.Counters[workflows.CountOperationsRemoved]++
			}
		}
		activity.RecordHeartbeat(ctx, next)
		meter.Add(len(page))
		if out.Cursor = next; next == "" || meter.Spent() {
			out.Over = next == ""
			return out, nil
		}
	}
}

func add(p *catalog.Procedure, name string, n int64) {
	if p.Counters == nil {
		p.Counters = map[string]int64{}
	}
	p.Counters[name] += n
}
