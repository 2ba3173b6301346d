// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package migrate holds the activity of migrations (package
// workflows/migration): it takes the procedure's record through the phases and
// asks the steps of the migration at hand what each of them means.
//
// Every effect is one commit that also replaces the procedure's record (package
// lease), with the cursor or the next phase in it. So running it twice, or
// beside an older attempt, is safe, and it resumes where the record says.
package migrate

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/workflows"
)

// Page is one page of a backfill or a comparison.
type Page struct {
	// Next is where the next page begins, empty at the end.
	Next string
	// Items is how many records the page has.
	Items int
	// Ops are the page's effects, at most [MaxPageOps]; they are committed with
	// the cursor.
	Ops []metastore.Op
}

// MaxPageOps bounds the effects of a page: a transaction has room for them
// beside the procedure's record.
const MaxPageOps = metastore.MaxOps - 1

// Steps are what a migration consists of. None of them changes anything: they
// return what the commit shall do. A problem that waiting does not solve is a
// lake.Precondition: the procedure shows it and tries again on `retry`, or after
// a while. They are safe for concurrent use.
type Steps interface {
	// Preflight looks whether the migration may begin. done says that it is in
	// force already, by an earlier run.
	Preflight(ctx context.Context) (done bool, counters map[string]int64, err error)
	// Backfill fills in the page at the cursor. A record that another form holds
	// differently must be decided anew, never overwritten.
	Backfill(ctx context.Context, cursor string) (Page, error)
	// Verify compares the page at the cursor.
	Verify(ctx context.Context, cursor string) (Page, error)
	// Barrier returns what stops writers that do not know the new form, or
	// nothing where there is no need. Lift takes back what is in force of it.
	Barrier(ctx context.Context) ([]metastore.Op, error)
	Lift(ctx context.Context) ([]metastore.Op, error)
	// Publish returns the marker and what belongs to it, or nothing when it is
	// in force already. What it relies on is kept in the commit.
	Publish(ctx context.Context) ([]metastore.Op, error)
}

// Options tune the activity. The zero value is good.
type Options struct {
	// Lease is how long attempts hold the procedure.
	Lease lease.Options
	// Budget bounds one activity. Zero fields mean [DefaultBudget].
	Budget lease.Budget
	// Log hears the full text of failures; nil means none.
	Log *slog.Logger
}

// DefaultBudget keeps an activity well inside its timeout, and a migration of
// two million records inside a few hundred events.
var DefaultBudget = lease.Budget{Time: lease.DefaultTTL / 3, Items: 100_000}

// Activities advance one migration. They are safe for concurrent use.
type Activities struct {
	steps  Steps
	opts   Options
	runner lease.Runner
}

// New returns the activity of a migration.
func New(records lease.Records, steps Steps, opts Options) (*Activities, error) {
	if err := opts.Lease.Validate(); err != nil {
		return nil, err
	}
	if opts.Budget.Time < 0 || opts.Budget.Items < 0 {
		return nil, lake.Errorf(lake.Invalid, "migration: budgets must not be negative")
	}
	opts.Budget = opts.Budget.Or(DefaultBudget)
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Activities{steps: steps, opts: opts, runner: lease.Runner{Records: records, Options: opts.Lease, Log: opts.Log}}, nil
}

// Advance goes on with the migration until its budget is used up, an approval is
// awaited, an operator holds it, or it is over.
func (a *Activities) Advance(ctx context.Context, step workflows.MigrationStep) (workflows.MigrationProgress, error) {
	var out workflows.MigrationProgress
	err := a.runner.Run(ctx, string(step.Kind), step.ID, func(ctx context.Context, l *lease.Lease) error {
		m := &migration{Activities: a, Lease: l, meter: a.opts.Budget.Start(ctx)}
		err := m.run(ctx)
		p := l.Record()
		out = workflows.MigrationProgress{
			Phase: workflows.Phase(p.Phase), Over: p.State.Terminal(), Cancelled: p.State == catalog.ProcedureCancelled,
			Approve: m.waits, Counters: p.Counters, Estimate: lease.Estimate(p),
		}
		return err
	})
	var ended *lease.EndedError
	if errors.As(err, &ended) {
		p := ended.Record
		return workflows.MigrationProgress{
			Phase: workflows.PhaseDone, Over: true, Cancelled: p.State == catalog.ProcedureCancelled, Counters: p.Counters,
		}, nil
	}
	return out, err
}

// migration is one activity's way through the phases.
type migration struct {
	*Activities
	*lease.Lease
	meter    *lease.Meter
	waits    bool // for an approval
	released bool
}

func (m *migration) run(ctx context.Context) error {
	if m.Record().Cancelling {
		return m.cancel(ctx)
	}
	for !m.released {
		if m.meter.Spent() || m.Held() {
			return m.Release(ctx, nil)
		}
		if err := m.Renew(ctx); err != nil {
			return err
		}
		if err := m.phase(ctx); err != nil {
			return err
		}
		activity.RecordHeartbeat(ctx, m.Record().Cursor)
	}
	return nil
}

// phase makes the next step of the phase that the record is in.
func (m *migration) phase(ctx context.Context) error {
	switch workflows.Phase(m.Record().Phase) {
	case "":
		return m.enter(ctx, workflows.PhasePreflight)
	case workflows.PhasePreflight:
		return m.preflight(ctx)
	case workflows.PhaseBackfilling:
		return m.page(ctx, m.steps.Backfill, workflows.CountFilled, workflows.PhaseVerifying)
	case workflows.PhaseVerifying:
		return m.page(ctx, m.steps.Verify, workflows.CountVerified, workflows.PhaseApproval)
	case workflows.PhaseApproval:
		return m.approval(ctx)
	case workflows.PhaseBarrier:
		return m.barrier(ctx)
	case workflows.PhaseVerifyingAgain:
		return m.page(ctx, m.steps.Verify, workflows.CountVerified, workflows.PhasePublishing)
	case workflows.PhasePublishing:
		return m.publish(ctx)
	}
	return lake.Errorf(lake.Corrupt, "the record is in phase %q, which no migration has", m.Record().Phase)
}

func (m *migration) enter(ctx context.Context, phase workflows.Phase, ops ...metastore.Op) error {
	return m.Commit(ctx, func(p *catalog.Procedure) { p.Phase, p.Cursor = string(phase), "" }, ops...)
}

func (m *migration) preflight(ctx context.Context) error {
	done, counters, err := m.steps.Preflight(ctx)
	if err != nil {
		return err
	}
	if done {
		return m.end(ctx, catalog.ProcedureCompleted)
	}
	return m.Commit(ctx, func(p *catalog.Procedure) {
		p.Phase, p.Cursor = string(workflows.PhaseBackfilling), ""
		for name, n := range counters {
			count(p, name, n-p.Counters[name])
		}
	})
}

// page makes one page and moves to the next phase after the last one. Backfills
// heed an operator's rate.
func (m *migration) page(ctx context.Context, step func(context.Context, string) (Page, error), counter string, next workflows.Phase) error {
	began := time.Now()
	page, err := step(ctx, m.Record().Cursor)
	if err != nil {
		return err
	}
	err = m.Commit(ctx, func(p *catalog.Procedure) {
		if p.Progress.Of != counter {
			p.Progress = catalog.Progress{Of: counter}
		}
		if p.Cursor = page.Next; page.Next == "" {
			p.Phase, p.Progress = string(next), catalog.Progress{}
		}
		count(p, counter, int64(page.Items))
	}, page.Ops...)
	m.meter.Add(page.Items)
	if err != nil || counter != workflows.CountFilled {
		return err
	}
	return lease.Slow(ctx, m.Record().Rate, page.Items, time.Since(began))
}

func (m *migration) approval(ctx context.Context) error {
	if m.Record().Approval == nil {
		err := m.Release(ctx, nil)
		// One that came meanwhile was taken in with the release.
		m.waits, m.released = m.Record().Approval == nil, true
		return err
	}
	return m.enter(ctx, workflows.PhaseBarrier)
}

// barrier installs the barrier, unless an order came meanwhile.
func (m *migration) barrier(ctx context.Context) error {
	ops, err := m.steps.Barrier(ctx)
	if err != nil {
		return err
	}
	return m.Decide(ctx, func(p *catalog.Procedure) {
		p.Phase, p.Cursor = string(workflows.PhaseVerifyingAgain), ""
		// As many as the first time; the counter goes on.
		p.Progress = catalog.Progress{Of: workflows.CountVerified, Total: 2 * p.Counters[workflows.CountVerified], About: true}
	}, ops...)
}

// publish is the point of no return: the marker and the end of the procedure in
// one commit.
func (m *migration) publish(ctx context.Context) error {
	ops, err := m.steps.Publish(ctx)
	if err != nil {
		return err
	}
	m.released = true
	return m.Decide(ctx, func(p *catalog.Procedure) { finish(p, catalog.ProcedureCompleted) }, ops...)
}

// cancel takes back what is in force and ends the procedure. A retry begins with
// the preflight.
func (m *migration) cancel(ctx context.Context) error {
	ops, err := m.steps.Lift(ctx)
	if err != nil {
		return err
	}
	m.released = true
	return m.Decide(ctx, func(p *catalog.Procedure) {
		finish(p, catalog.ProcedureCancelled)
		p.Phase, p.Stopped, p.Cancelling, p.Approval = "", true, false, nil
	}, ops...)
}

func (m *migration) end(ctx context.Context, state catalog.ProcedureState) error {
	m.released = true
	return m.Release(ctx, func(p *catalog.Procedure) { finish(p, state) })
}

func finish(p *catalog.Procedure, state catalog.ProcedureState) {
	p.State, p.Phase, p.Cursor, p.LastError, p.Deadline = state, string(workflows.PhaseDone), "", "", time.Time{}
}

func count(p *catalog.Procedure, name string, n int64) {
	if p.Counters == nil {
		p.Counters = map[string]int64{}
	}
	p.Counters[name] += n
}
