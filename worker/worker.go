// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package worker runs Lake's durable procedures: it registers every workflow
// and activity, keeps the schedules, and stops without losing a step.
//
// Any number of workers may run; what keeps two of them from doing one thing
// twice is in the metastore (package activities/lease), not here.
package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/lakeplane/lake/activities/drop"
	"github.com/lakeplane/lake/activities/maintain"
	"github.com/lakeplane/lake/activities/migrate"
	"github.com/lakeplane/lake/activities/operationgc"
	"github.com/lakeplane/lake/activities/sweep"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/workflows"
	"github.com/lakeplane/lake/workflows/droptable"
	"github.com/lakeplane/lake/workflows/migration"
	wfoperationgc "github.com/lakeplane/lake/workflows/operationgc"
	"github.com/lakeplane/lake/workflows/procedureplan"
	"github.com/lakeplane/lake/workflows/proceduresweep"
	"github.com/lakeplane/lake/workflows/tablemaintenance"
)

// Options is what a worker is made of. Temporal, Store, Objects and Engines are
// needed; the worker owns none of them.
type Options struct {
	// Temporal is a client of the namespace that holds the procedures. A lazy
	// one lets the worker wait for Temporal instead of failing without it.
	Temporal client.Client
	// Namespace is that namespace.
	Namespace string
	Store     metastore.Store
	Objects   objstore.Store
	// Engines maps the engine name in a snapshot to the engine. Tables of those
	// that are a [maintain.Engine], too, are compacted.
	Engines map[string]drop.Engine
	// Drop, Sweep, OperationGC and Maintain tune the activities.
	Drop        drop.Options
	Sweep       sweep.Options
	OperationGC operationgc.Options
	Maintain    maintain.Options
	// CatalogFinalize tunes the activity of that migration.
	CatalogFinalize migrate.Options
	// SweepEvery is the period of the procedure sweep. 0 means a minute.
	SweepEvery time.Duration
	// OperationGCEvery is the period of the operation GC. 0 means an hour.
	OperationGCEvery time.Duration
	// MaintainEvery is how often tables are looked over for maintenance. 0
	// means ten minutes.
	MaintainEvery time.Duration
	// Ensure lets Start update schedules that differ. Without, it creates those
	// that are missing, so that workers of two releases do not undo each other's;
	// [Ensure] is then for an operator.
	Ensure bool
	// BuildID is the version of this worker in the worker deployment
	// [DeploymentName]. Empty is a worker without a version. One with a version
	// gets no work until [Ensure] has made its build the current one.
	BuildID string
	// StopGrace is how long Run waits for activities when it is told to stop.
	// They return at their next page. 0 means 30 s.
	StopGrace time.Duration
	// Classes are the classes of activities it takes; empty means all.
	Classes []workflows.Class
	// ShortSlots and BulkSlots are how many activities of each class it runs at
	// once. 0 means [DefaultShortSlots] and [DefaultBulkSlots].
	ShortSlots, BulkSlots int
	// Metrics gets the worker's metrics; nil means none.
	Metrics prometheus.Registerer
	// Log hears of failures; nil means none.
	Log *slog.Logger
}

// How many activities of each class a worker runs at once, by default.
const (
	DefaultShortSlots = 32
	DefaultBulkSlots  = 8
)

// inPlaceSlots is how many small drops a worker runs inside workflow tasks for each of
// its places for short activities: what a small drop does most is to wait, until the
// appends that were under way have given up.
const inPlaceSlots = 4

func (o Options) withDefaults() Options {
	for value, standard := range map[*time.Duration]time.Duration{
		&o.SweepEvery: time.Minute, &o.OperationGCEvery: time.Hour, &o.MaintainEvery: 10 * time.Minute, &o.StopGrace: 30 * time.Second,
	} {
		if *value == 0 {
			*value = standard
		}
	}
	if len(o.Classes) == 0 {
		o.Classes = workflows.Classes
	}
	// A page is bound by a store, not by this process's cores.
	o.ShortSlots, o.BulkSlots = cmp.Or(o.ShortSlots, DefaultShortSlots), cmp.Or(o.BulkSlots, DefaultBulkSlots)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	for _, log := range []**slog.Logger{&o.Drop.Log, &o.Sweep.Log, &o.OperationGC.Log, &o.Maintain.Log, &o.CatalogFinalize.Log} {
		if *log == nil {
			*log = o.Log
		}
	}
	return o
}

// Validate reports every mistake.
func (o Options) Validate() error {
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, lake.Errorf(lake.Invalid, "worker: no %s", what))
		}
	}
	need(o.Temporal != nil, "Temporal client")
	need(o.Namespace != "", "Temporal namespace")
	need(o.Store != nil, "metastore")
	need(o.Objects != nil, "object store")
	need(len(o.Engines) > 0, "engine")
	if min(o.SweepEvery, o.OperationGCEvery, o.MaintainEvery, o.StopGrace) < 0 {
		errs = append(errs, lake.Errorf(lake.Invalid, "worker: periods must not be negative"))
	}
	if min(o.ShortSlots, o.BulkSlots) < 0 {
		errs = append(errs, lake.Errorf(lake.Invalid, "worker: %d places for short and %d for bulk activities: want 1 or more, 0 for the default", o.ShortSlots, o.BulkSlots))
	}
	for _, c := range o.Classes {
		if !slices.Contains(workflows.Classes, c) {
			errs = append(errs, lake.Errorf(lake.Invalid, "worker: class %q: want one of %v", c, workflows.Classes))
		}
	}
	return errors.Join(append(errs, o.Drop.Validate(), o.OperationGC.Validate(), o.Maintain.Validate())...)
}

// Worker polls for work between Start and Stop.
type Worker struct {
	opts    Options
	queues  []sdk.Worker // one for each class
	started int          // how many of them poll
	polling atomic.Bool
}

// New makes a worker. It does no I/O.
func New(opts Options) (*Worker, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	steps, err := newActivities(opts)
	if err != nil {
		return nil, err
	}
	sdkOpts, err := sdkOptions(opts)
	if err != nil {
		return nil, err
	}
	w := &Worker{opts: opts}
	for _, class := range opts.Classes {
		w.queues = append(w.queues, queue(opts, class, sdkOpts, steps))
	}
	return w, nil
}

// queue is the part of a worker that takes the activities of one class. It knows
// all of them: histories of older releases have every activity in one queue.
func queue(o Options, class workflows.Class, opts sdk.Options, steps activities) sdk.Worker {
	opts.MaxConcurrentActivityExecutionSize = o.ShortSlots
	opts.MaxConcurrentLocalActivityExecutionSize = inPlaceSlots * o.ShortSlots
	if class == workflows.BulkClass {
		opts.MaxConcurrentActivityExecutionSize = o.BulkSlots
		opts.DisableWorkflowWorker = true
		opts.MaxConcurrentActivityTaskPollers = min(2, o.BulkSlots)
	}
	w := sdk.New(o.Temporal, class.Queue(), opts)
	steps.register(w)
	if class != workflows.BulkClass {
		RegisterWorkflows(w)
	}
	return w
}

func sdkOptions(o Options) (sdk.Options, error) {
	out := sdk.Options{
		// Names are contracts with histories, so nothing is found by its Go name.
		DisableRegistrationAliasing: true,
		// A cancellation reaches an activity with the answer to a heartbeat.
		MaxHeartbeatThrottleInterval: 500 * time.Millisecond,
		// The default is none: activities would be cut off half-way.
		WorkerStopTimeout: o.StopGrace,
		OnFatalError: func(err error) {
			o.Log.Error("worker stopped by a fatal error", "error", err)
		},
	}
	if o.BuildID != "" {
		out.DeploymentOptions = sdk.DeploymentOptions{
			UseVersioning: true,
			Version:       sdk.WorkerDeploymentVersion{DeploymentName: DeploymentName, BuildID: o.BuildID},
			// A procedure goes on with the newest release: its code replays every
			// history of the releases before (see the replay corpus).
			DefaultVersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
		}
	}
	out.Interceptors = append(out.Interceptors, &quiet{}, &limit{})
	if o.Metrics != nil {
		m, err := newMetrics(o.Metrics)
		if err != nil {
			return out, lake.Wrap("register the worker's metrics", err)
		}
		out.Interceptors = append(out.Interceptors, m)
	}
	return out, nil
}

// RegisterWorkflows registers the workflows alone, as a replay needs them.
func RegisterWorkflows(r sdk.WorkflowRegistry) {
	for name, f := range map[string]any{
		workflows.DropTableWorkflow:        droptable.DropTable,
		workflows.TableMaintenanceWorkflow: tablemaintenance.TableMaintenance,
		workflows.OperationGCWorkflow:      wfoperationgc.OperationGC,
		workflows.CatalogFinalizeWorkflow:  migration.Workflow(workflows.CatalogFinalizeWorkflow),
		workflows.ProcedurePlanWorkflow:    procedureplan.ProcedurePlan,
		workflows.ProcedureSweepWorkflow:   proceduresweep.ProcedureSweep,
	} {
		r.RegisterWorkflowWithOptions(f, workflow.RegisterOptions{Name: name})
	}
}

// Start begins to poll, after it created the search attributes and schedules that
// are missing, or brought all of them up to date (Options.Ensure). It fails when Temporal cannot be reached; Run waits instead.
func (w *Worker) Start(ctx context.Context) error {
	if err := w.ensure(ctx); err != nil {
		return err
	}
	for _, q := range w.queues[w.started:] {
		if err := q.Start(); err != nil {
			return &lake.Error{Kind: lake.Unavailable, Op: "start worker", Err: err}
		}
		w.started++
	}
	w.polling.Store(true)
	return nil
}

// ensure brings the Temporal namespace up to date, or creates what is missing.
func (w *Worker) ensure(ctx context.Context) error {
	mode := Missing
	if w.opts.Ensure {
		mode = Bring
	}
	d := Deployment{
		Namespace: w.opts.Namespace,
		Periods:   Periods{Sweep: w.opts.SweepEvery, OperationGC: w.opts.OperationGCEvery, Maintain: w.opts.MaintainEvery},
	}
	changes, err := Ensure(ctx, w.opts.Temporal, d, mode)
	if lake.Is(err, lake.Precondition) {
		// Who may not add search attributes may find them there all the same.
		w.opts.Log.Warn("the Temporal namespace was not brought up to date", "error", err)
		return nil
	}
	for _, c := range changes {
		if c.Action == "differs" {
			w.opts.Log.Warn("a schedule is not as this worker is configured: `lake worker ensure` updates it", "schedule", c.Name, "difference", c.Detail)
		}
	}
	return err
}

// Ready reports whether the worker polls: it has reached Temporal once and was
// not stopped. It is safe for concurrent use.
func (w *Worker) Ready() bool { return w.polling.Load() }

// Stop ends polling, lets running activities reach their next page and returns
// when they have, or after the grace.
func (w *Worker) Stop() {
	w.polling.Store(false)
	var stopping sync.WaitGroup
	for _, q := range w.queues[:w.started] {
		stopping.Go(q.Stop)
	}
	stopping.Wait()
}

// Pauses between two tries to reach Temporal.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 15 * time.Second
)

// Run starts the worker, waiting for Temporal as long as it takes, works until
// ctx ends and stops.
func (w *Worker) Run(ctx context.Context) error {
	if !w.startPatiently(ctx) {
		w.Stop() // one of the classes may have begun
		return nil
	}
	w.opts.Log.Info("worker is polling", "classes", w.opts.Classes, "namespace", w.opts.Namespace)
	<-ctx.Done()
	w.Stop()
	return nil
}

// startPatiently tries to start until it succeeds; false means that ctx ended.
func (w *Worker) startPatiently(ctx context.Context) bool {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		err := w.Start(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		w.opts.Log.Warn("worker cannot start; procedures wait", "retry_after", pause, "error", err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
}

// Logger adapts a slog logger for Temporal clients, so that their lines look
// like Lake's. The SDK's information lines become debug lines: it writes one
// for each worker and poller.
func Logger(log *slog.Logger) sdklog.Logger { return logger{log} }

type logger struct{ log *slog.Logger }

func (l logger) Debug(msg string, kv ...any) { l.log.Debug(msg, kv...) }
func (l logger) Info(msg string, kv ...any)  { l.log.Debug(msg, kv...) }
func (l logger) Warn(msg string, kv ...any)  { l.log.Warn(msg, kv...) }
func (l logger) Error(msg string, kv ...any) { l.log.Error(msg, kv...) }
