// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package drop holds the activities that delete what a dropped table leaves
// behind: its objects, its manifest history, its tombstone.
//
// Every activity is safe to run twice and beside an older attempt of itself. It
// claims the procedure's record (package lease) and reads from it how far the
// drop got, not from its arguments; an attempt that finds its step done says
// so. Changes of the metastore are fenced by the record and by the tombstone.
// Deletes of objects cannot be fenced; they touch only keys under the location
// of the dead incarnation, which nothing live shares, and deleting a missing
// object succeeds.
//
// What makes the deletes right is the order: the point of no return is one
// commit that keeps the tombstone and moves the record past the phase in which
// an undrop is allowed. Before that commit nothing is deleted, after it no
// undrop can commit, since an undrop must find the record in that phase.
package drop

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/workflows"
)

// Engine is what a drop needs of a storage engine.
type Engine interface {
	// Forget returns the operations that the commit ending a drop includes.
	Forget(snap lake.Snapshot) []metastore.Op
	// HistoryPrefix is the metastore prefix of a location's version records.
	HistoryPrefix(loc lake.Location) string
}

// Catalog is what a drop needs of the catalog.
type Catalog interface {
	lease.Records
	Tombstone(ctx context.Context, name lake.TableName, inc lake.Incarnation) (catalog.Tombstone, error)
}

// Options tune the activities. The zero value is good.
type Options struct {
	// Lease is how long attempts hold the procedure.
	Lease lease.Options
	// Budget bounds one activity. Zero fields mean [DefaultBudget].
	Budget lease.Budget
	// ListPage is how many objects one commit of the cursor covers, rounded up
	// to whole pages of a listing. A larger page costs fewer syncs of folders,
	// and a crash repeats more. 0 means [MaxListPage].
	ListPage int
	// Parallel is how many objects are deleted at once from a store that cannot
	// delete a batch. 0 means 16.
	Parallel int
	// Settle is how old a tombstone must be before a location that looks empty
	// is believed to be. An append that was staging objects when the table was
	// dropped can never commit, but may still be writing; it gives up within
	// this time. 0 means [DefaultSettle]; make it a nanosecond where no writer
	// can be left.
	Settle time.Duration
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// Log hears the full text of failures; nil means none.
	Log *slog.Logger
}

// MaxListPage bounds what a crash repeats and leaves uncounted.
const MaxListPage = 16 * objstore.MaxPage

// DefaultBudget keeps an activity well inside its timeout, and a drop of two
// million objects inside a few hundred events. Time is what bounds it: each activity
// lists anew what is left.
var DefaultBudget = lease.Budget{Time: 20 * time.Second, Items: 1_000_000}

// quickBudget bounds an activity that was asked to be quick, and quickPage what one
// commit of it covers: a table of a few hundred objects is gone within it.
var quickBudget = lease.Budget{Time: 2 * time.Second, Items: 2000}

const quickPage = 2 * objstore.MaxPage

// budget bounds one activity, and page says what a commit of its cursor covers.
func (a *Activities) budget(in workflows.DropStep) (b lease.Budget, page int) {
	b, page = a.opts.Budget, a.opts.ListPage
	if in.Quick {
		b = lease.Budget{Time: min(b.Time, quickBudget.Time), Items: min(b.Items, quickBudget.Items)}
		page = min(page, quickPage)
	}
	return b, page
}

// DefaultSettle is twice as long as a client pursues an append.
const DefaultSettle = time.Minute

func (o Options) withDefaults() Options {
	if o.Settle == 0 {
		o.Settle = DefaultSettle
	}
	o.Budget = o.Budget.Or(DefaultBudget)
	if o.ListPage == 0 {
		o.ListPage = MaxListPage
	}
	if o.Parallel == 0 {
		o.Parallel = 16
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Lease.Now == nil {
		o.Lease.Now = o.Now
	}
	return o
}

// Validate reports every mistake.
func (o Options) Validate() error {
	o = o.withDefaults()
	errs := []error{o.Lease.Validate()}
	if o.ListPage < 1 || o.ListPage > MaxListPage {
		errs = append(errs, lake.Errorf(lake.Invalid, "drop: listing page %d, want 1..%d", o.ListPage, MaxListPage))
	}
	if o.Parallel < 1 || o.Parallel > 256 {
		errs = append(errs, lake.Errorf(lake.Invalid, "drop: %d deletes at once, want 1..256", o.Parallel))
	}
	if o.Settle < 0 || o.Budget.Time < 0 || o.Budget.Items < 0 {
		errs = append(errs, lake.Errorf(lake.Invalid, "drop: settle time and budgets must not be negative"))
	}
	return errors.Join(errs...)
}

// Activities are the steps of a drop. They are safe for concurrent use.
type Activities struct {
	catalog Catalog
	store   metastore.Store
	objects objstore.Store
	batches objstore.BatchDeleter
	engines map[string]Engine
	opts    Options
	runner  lease.Runner
}

// New returns the activities over one deployment's stores. engines maps the
// name in a table's snapshot to the engine that wrote it.
func New(c Catalog, store metastore.Store, objects objstore.Store, engines map[string]Engine, opts Options) (*Activities, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	return &Activities{
		catalog: c, store: store, objects: objects, engines: engines, opts: opts,
		batches: objstore.Batches(objects, opts.Parallel),
		runner:  lease.Runner{Records: c, Options: opts.Lease, Log: opts.Log},
	}, nil
}

// held is a drop that this attempt may work on: the lease, and the tombstone
// that says what to delete. Only [Activities.run] makes one.
type held struct {
	*lease.Lease
	tombstone catalog.Tombstone
	engine    Engine
}

// guard keeps the exact tombstone in a commit: its absence or change means that
// this drop is not what it was.
func (h *held) guard() metastore.Op {
	remove := h.tombstone.RemoveOp()
	return metastore.Guard(remove.Key, remove.Expect)
}

// snapshot is the last version of the dropped table.
func (h *held) snapshot() lake.Snapshot { return h.tombstone.Table.Snapshot }

// prefix is the only prefix that may be listed or deleted from, with its
// boundary.
func (h *held) prefix() string { return h.snapshot().Location.Prefix() }

// run claims the procedure, finds the tombstone and calls body with both. A
// drop that is over needs no body: the progress says how it ended.
func (a *Activities) run(ctx context.Context, in workflows.DropStep, body func(context.Context, *held, *workflows.DropProgress) error) (workflows.DropProgress, error) {
	var out workflows.DropProgress
	ref := in.Ref()
	err := a.runner.Run(ctx, string(ref.Kind), ref.ID, func(ctx context.Context, l *lease.Lease) error {
		tombstone, err := a.catalog.Tombstone(ctx, in.Table(), in.Incarnation)
		if lake.Is(err, lake.NotFound) {
			return undone(ctx, l, &out)
		}
		if err != nil {
			return err
		}
		h := &held{Lease: l, tombstone: tombstone, engine: a.engines[tombstone.Table.Snapshot.Engine]}
		if err := a.check(h); err != nil {
			return err
		}
		defer func() { out.Counters, out.Estimate = l.Record().Counters, lease.Estimate(l.Record()) }()
		return body(ctx, h, &out)
	})
	var ended *lease.EndedError
	if errors.As(err, &ended) {
		return workflows.DropProgress{
			Over: true, Done: true, Stopped: ended.Record.Stopped, Counters: ended.Record.Counters,
			Undone: ended.Record.State == catalog.ProcedureCancelled && !ended.Record.Stopped,
		}, nil
	}
	return out, err
}

// check refuses a tombstone that would make the drop delete anything but the
// place of the incarnation it names.
func (a *Activities) check(h *held) error {
	snap := h.snapshot()
	if h.engine == nil {
		return lake.Errorf(lake.Unsupported, "the table was written by engine %q, which this worker does not have", snap.Engine)
	}
	if want := lake.Place(h.tombstone.Table.Name, snap.Incarnation); snap.Location != want {
		return lake.Errorf(lake.Corrupt, "the tombstone's location %q is not the incarnation's place %q", snap.Location, want)
	}
	return objstore.CheckPrefix(h.prefix())
}

// undone ends a drop whose tombstone was taken away. The commit that ends a
// drop removes the tombstone and closes the record together, so an open record
// without a tombstone was undropped.
func undone(ctx context.Context, l *lease.Lease, out *workflows.DropProgress) error {
	out.Over, out.Undone, out.Done = true, true, true
	return l.Release(ctx, func(p *catalog.Procedure) {
		p.State, p.Phase = catalog.ProcedureCancelled, string(workflows.PhaseDone)
	})
}

// passed reports whether the record is already in a phase after the one given.
func passed(p catalog.Procedure, phase workflows.Phase) bool {
	return order[workflows.Phase(p.Phase)] > order[phase]
}

// order is the order of the phases in the record. A record that no activity
// has touched has an empty phase, which comes before all.
var order = map[workflows.Phase]int{
	workflows.PhaseWaiting:   1,
	workflows.PhaseObjects:   2,
	workflows.PhaseHistory:   3,
	workflows.PhaseFinishing: 4,
	workflows.PhaseDone:      5,
}
