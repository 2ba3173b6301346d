// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"github.com/lakeplane/lake/workflows"
)

// metrics are what the worker tells Prometheus. Labels are names of activities
// and error kinds, which are few; never a table, a tenant or an id.
type metrics struct {
	interceptor.WorkerInterceptorBase
	seconds *prometheus.HistogramVec
	intents prometheus.Gauge
	oldest  prometheus.Gauge
	started prometheus.Counter
	orphans prometheus.Gauge
	backlog *prometheus.GaugeVec
	waits   *prometheus.GaugeVec
	removed prometheus.Counter
	joined  prometheus.Counter
	planned *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lake_procedure_activity_seconds",
			Help:    "Time of one attempt of an activity, by outcome: ok, stopped, or the kind of its error.",
			Buckets: []float64{.005, .02, .1, .5, 2, 10, 30, 120},
		}, []string{"activity", "outcome"}),
		intents: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lake_procedure_intents", Help: "Intents that are not carried out yet, at the last sweep by this worker.",
		}),
		oldest: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lake_procedure_oldest_intent_seconds", Help: "Time since the oldest intent might have been carried out, at the last sweep by this worker.",
		}),
		started: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "lake_procedure_sweep_started_total", Help: "Workflows that the sweep started because nobody else had.",
		}),
		orphans: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lake_procedure_orphans", Help: "Open workflows without an intent, at the last sweep by this worker.",
		}),
		backlog: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lake_procedure_backlog", Help: "Intents by kind and by what they wait for: due, waiting (the undrop window), paused, await_approval or stopped; at the last sweep by this worker.",
		}, []string{"kind", "what"}),
		waits: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lake_procedure_backlog_oldest_seconds", Help: "Time since the oldest due intent of a kind might have been carried out, at the last sweep by this worker.",
		}, []string{"kind"}),
		removed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "lake_operation_gc_removed_total", Help: "Records of append operations that were forgotten.",
		}),
		joined: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "lake_maintenance_joined_total", Help: "Pieces of data that compactions joined.",
		}),
		planned: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lake_procedure_planned_total", Help: "What planners did, by planner: looked at things, recorded intents, or failed.",
		}, []string{"activity", "what"}),
	}
	for _, c := range []prometheus.Collector{m.seconds, m.intents, m.oldest, m.started, m.orphans, m.backlog, m.waits, m.removed, m.joined, m.planned} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// InterceptActivity implements [interceptor.WorkerInterceptor].
func (m *metrics) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &measured{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, metrics: m}
}

type measured struct {
	interceptor.ActivityInboundInterceptorBase
	metrics *metrics
}

// ExecuteActivity measures one attempt.
func (a *measured) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	began := time.Now()
	result, err := a.Next.ExecuteActivity(ctx, in)
	name := activity.GetInfo(ctx).ActivityType.Name
	a.metrics.seconds.WithLabelValues(name, outcome(err)).Observe(time.Since(began).Seconds())
	if err == nil {
		a.metrics.done(name, result)
	}
	return result, err
}

// done counts what a step did.
func (m *metrics) done(activity string, result any) {
	switch r := result.(type) {
	case workflows.SweepResult:
		m.swept(r)
	case workflows.OperationGCProgress:
		m.removed.Add(float64(r.Removed))
	case workflows.MaintenanceProgress:
		m.joined.Add(float64(r.Joined))
	case workflows.PlanResult:
		m.planned.WithLabelValues(activity, "looked").Add(float64(r.Looked))
		m.planned.WithLabelValues(activity, "intended").Add(float64(r.Intended))
		m.planned.WithLabelValues(activity, "failed").Add(float64(r.Failed))
	}
}

// swept shows a sweep. A sweep of several page sets shows its last one, which
// is only the case beyond ten thousand intents.
func (m *metrics) swept(r workflows.SweepResult) {
	m.intents.Set(float64(r.Intents))
	m.oldest.Set(float64(r.OldestSeconds))
	m.orphans.Set(float64(r.Orphans))
	m.started.Add(float64(r.Started))
	for kind, b := range r.Backlog {
		for what, n := range map[string]int64{"due": b.Due, "waiting": b.Waiting, "paused": b.Paused, "await_approval": b.AwaitApproval} {
			m.backlog.WithLabelValues(string(kind), what).Set(float64(n))
		}
		m.waits.WithLabelValues(string(kind)).Set(float64(b.OldestSeconds))
	}
	m.backlog.WithLabelValues(string(workflows.DropTableKind), "stopped").Set(float64(r.Stopped))
}

// outcome is the label of a result.
func outcome(err error) string {
	var app *temporal.ApplicationError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &app):
		return app.Type()
	}
	return "stopped"
}
