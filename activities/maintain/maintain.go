// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package maintain holds the activities that look after tables: one looks for
// tables that are worth it, one compacts a table, and one deletes what its old
// versions left behind; see [Activities.Reclaim].
//
// A compaction writes new objects that nothing refers to, however long that
// takes, and then commits the next version of the table like an append does,
// except that the commit is guarded by the procedure's exact record and not by
// a leader's fence (catalog.Catalog.MaintainOps says why that is safe). Objects
// of older versions stay, so a reader pinned to one keeps reading.
//
// Every step is safe to run twice and beside an older attempt of itself: what
// an attempt wrote without committing it is garbage for the sweep of the
// location, and an attempt that was taken over fails at its commit.
package maintain

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/retention"
	"github.com/lakeplane/lake/workflows"
)

// Engine is what a compaction needs of a storage engine.
type Engine interface {
	// Fragmentation reports how many pieces of data a compaction of the
	// snapshot would read and write, without reading the data.
	Fragmentation(ctx context.Context, snap lake.Snapshot) (before, after int, err error)
	// CompactSome writes at most the given number of new pieces; nil when
	// nothing is to be joined.
	CompactSome(ctx context.Context, base lake.Snapshot, most int) (engine.Compaction, error)
	// StageCompaction and Publish are those of the engine's ports.
	StageCompaction(ctx context.Context, base lake.Snapshot, c engine.Compaction) (engine.Staged, error)
	Publish(ctx context.Context, committed lake.Snapshot) error
	// Clean is that of [engine.Cleaner].
	Clean(ctx context.Context, current lake.Snapshot) (engine.Cleaning, error)
	// HistoryPrefix is that of [engine.Engine].
	HistoryPrefix(loc lake.Location) string
}

// Catalog is what maintenance needs of the catalog.
type Catalog interface {
	lease.Records
	GetIncarnation(ctx context.Context, name lake.TableName, inc lake.Incarnation) (catalog.Table, error)
	List(ctx context.Context, namespace, cursor string, limit int) (page []catalog.Table, next string, err error)
	MaintainOps(by catalog.Procedure, table catalog.Table, next lake.Snapshot, ops []metastore.Op) (catalog.Table, []metastore.Op, error)
	ReclaimOp(by catalog.Procedure, table catalog.Table, floor lake.Version) (catalog.Table, metastore.Op, error)
	OpenProcedure(ctx context.Context, p catalog.Procedure) (record catalog.Procedure, opened bool, err error)
	Procedures(ctx context.Context, kind, cursor string, limit int) (page []catalog.Procedure, next string, err error)
	RemoveProcedure(ctx context.Context, p catalog.Procedure) error
}

// Starter starts a maintenance; workflows.Client does.
type Starter interface {
	Start(ctx context.Context, kind, id string) error
}

// Options tune the activities. The zero value is good.
type Options struct {
	// Lease is how long attempts hold the procedure.
	Lease lease.Options
	// Saved is how many pieces of data fewer a compaction must leave for the
	// planner to ask for one. 0 means [DefaultSaved].
	Saved int
	// Tables is how many maintenances one run of the planner starts at most. 0
	// means 8.
	Tables int
	// Parallel is how many compactions one worker runs at once: each takes a
	// core and the memory of a few batches. 0 means 1.
	Parallel int
	// Records is the metastore with the versions' records, and Objects the store
	// of all tables. With Records nil nothing is ever cleaned up.
	Records metastore.Store
	Objects objstore.Store
	// Retention says which versions stay.
	Retention retention.Policy
	// GiveUp is how many versions there must be to give up for the planner to ask
	// for a clean-up. 0 means 100.
	GiveUp int
	// SweepEvery is how often orphans are looked for in a table that is written
	// to. 0 means 24 h.
	SweepEvery time.Duration
	// Budget bounds one activity of a clean-up. Zero fields mean 30 s and 20,000
	// objects.
	Budget lease.Budget
	// Pieces is how many new pieces of data, each of a gigabyte at most, one
	// activity writes before it commits. 0 means 4.
	Pieces int
	// Keep is how long the record of an ended maintenance stays, for people who
	// look for it. 0 means an hour.
	Keep time.Duration
	// Beat is how often a running compaction reports and looks whether the
	// table is still there. 0 means 3 s.
	Beat time.Duration
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// Log hears the full text of failures; nil means none.
	Log *slog.Logger
}

// DefaultSaved is half a minute of an append a second.
const DefaultSaved = 32

func (o Options) withDefaults() Options {
	set := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	set(&o.Saved, DefaultSaved)
	set(&o.Tables, 8)
	set(&o.Parallel, 1)
	set(&o.Pieces, 4)
	o.Retention = o.Retention.WithDefaults()
	if o.Budget.Time == 0 {
		o.Budget.Time = 30 * time.Second
	}
	set(&o.Budget.Items, 20_000)
	set(&o.GiveUp, 100)
	if o.SweepEvery == 0 {
		o.SweepEvery = 24 * time.Hour
	}
	if o.Keep == 0 {
		o.Keep = time.Hour
	}
	if o.Beat == 0 {
		o.Beat = 3 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Validate reports every mistake.
func (o Options) Validate() error {
	o = o.withDefaults()
	errs := []error{o.Lease.Validate(), o.Retention.Validate()}
	if (o.Records == nil) != (o.Objects == nil) {
		errs = append(errs, lake.Errorf(lake.Invalid, "maintenance: the records and the objects are needed both, or neither"))
	}
	if o.Saved < 0 || o.Tables < 0 || o.Parallel < 0 || o.Pieces < 0 || o.Keep < 0 || o.Beat < 0 || o.GiveUp < 0 || o.SweepEvery < 0 || o.Budget.Time < 0 || o.Budget.Items < 0 {
		errs = append(errs, lake.Errorf(lake.Invalid, "maintenance: bounds and times must not be negative"))
	}
	if ttl := o.Lease.WithDefaults().TTL; o.Beat > ttl/4 {
		errs = append(errs, lake.Errorf(lake.Invalid, "maintenance: a beat of %s is more than a quarter of the lease's %s", o.Beat, ttl))
	}
	return errors.Join(errs...)
}

// Activities are the steps of maintenance. They are safe for concurrent use.
type Activities struct {
	catalog Catalog
	starter Starter
	engines map[string]Engine
	opts    Options
	runner  lease.Runner
	slots   chan struct{} // one for each compaction that may run
	judged  judgements

	mu     sync.Mutex
	resume string // where the planner's next run begins
}

// New returns the activities over one deployment's catalog. engines maps the
// name in a table's snapshot to the engine that wrote it; tables of another one
// are left alone.
func New(c Catalog, s Starter, engines map[string]Engine, opts Options) (*Activities, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	return &Activities{
		catalog: c, starter: s, engines: engines, opts: opts,
		runner: lease.Runner{Records: c, Options: opts.Lease, Log: opts.Log},
		slots:  make(chan struct{}, opts.Parallel),
	}, nil
}

// table returns the incarnation as it is now; ok is false when it was dropped.
func (a *Activities) table(ctx context.Context, in workflows.MaintenanceStep) (table catalog.Table, ok bool, err error) {
	table, err = a.catalog.GetIncarnation(ctx, in.Table(), in.Incarnation)
	if lake.Is(err, lake.NotFound) {
		return table, false, nil
	}
	return table, err == nil, err
}
