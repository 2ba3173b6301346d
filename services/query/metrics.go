// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/services/query/admission"
	"github.com/lakeplane/lake/services/query/directory"
)

// metrics are the replica's series. Labels are bounded sets: never SQL, a
// tenant, a table or a principal.
type metrics struct {
	admission  *prometheus.CounterVec
	inflight   prometheus.Gauge
	rejections *prometheus.CounterVec
	refreshes  *prometheus.CounterVec
	pieces     *prometheus.CounterVec
	direct     prometheus.Counter
	memos      *prometheus.CounterVec
	cancels    *prometheus.CounterVec
	stages     *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer, s *Server) (*metrics, error) {
	m := &metrics{
		admission: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lake_query_admission_total", Help: "Requests at the admission gate, by outcome.",
		}, []string{"outcome"}),
		inflight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lake_query_inflight_requests", Help: "Flight requests being served.",
		}),
		rejections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lake_query_rejections_total", Help: "Flight requests that ended in an error, by gRPC code.",
		}, []string{"code"}),
		refreshes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lake_query_catalog_refresh_total", Help: "Refreshes of the table directory, by outcome.",
		}, []string{"outcome"}),
		pieces: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lake_query_fragments_total", Help: "Fragments of tables with conditions on their rows, by whether they were read or skipped.",
		}, []string{"outcome"}),
		direct: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "lake_query_direct_total", Help: "Statements that were answered by reading their table, without the SQL engine.",
		}),
		memos: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lake_query_memo_total", Help: "Looks into what is remembered of statements, by what was wanted (gate: that the text may pass, plan: its result's columns, answer: its rows) and outcome.",
		}, []string{"of", "outcome"}),
		cancels: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lake_query_cancellations_total", Help: "Queries that were cancelled, by who said so first: a client of this replica, or the authority, because another replica was asked.",
		}, []string{"from"}),
		stages: newStages(),
	}
	if r == nil {
		return m, nil
	}
	ready := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lake_query_ready", Help: "1 when the first table directory was published.",
	}, func() float64 {
		if s.Ready() {
			return 1
		}
		return 0
	})
	open := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lake_query_open_dataset_bytes", Help: "Memory of open snapshots, by their own estimate.",
	}, func() float64 { return float64(s.datasets.Bytes()) })
	hears := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lake_query_hears_cancellations", Help: "1 while the authority tells this replica which queries are cancelled at others.",
	}, func() float64 {
		if s.cancellations.hears.Load() {
			return 1
		}
		return 0
	})
	ingestions := func(state string, n *atomic.Int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "lake_query_ingestions", Help: "Bulk ingestions by whether they have rows in memory (working) or wait for their turn (waiting).",
			ConstLabels: prometheus.Labels{"state": state},
		}, func() float64 { return float64(n.Load()) })
	}
	working, waiting := ingestions("working", &s.ingestions.working), ingestions("waiting", &s.ingestions.waiting)
	for _, c := range []prometheus.Collector{working, waiting, m.admission, m.inflight, m.rejections, m.refreshes, m.pieces, m.direct, m.memos, m.cancels, m.stages, ready, open, hears} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) admitted(o admission.Outcome) { m.admission.WithLabelValues(string(o)).Inc() }

func (m *metrics) refreshed(o directory.Outcome) { m.refreshes.WithLabelValues(string(o)).Inc() }

// pruned counts the pieces of a table that a statement reads and leaves out.
func (m *metrics) pruned(in, out int) {
	m.pieces.WithLabelValues("read").Add(float64(in))
	m.pieces.WithLabelValues("skipped").Add(float64(out))
}

// What is remembered of statements.
const (
	memoGate   = "gate"
	memoPlan   = "plan"
	memoAnswer = "answer"
)

// memo counts a look into what is remembered.
func (m *metrics) memo(of string, hit bool) {
	outcome := "miss"
	if hit {
		outcome = "hit"
	}
	m.memos.WithLabelValues(of, outcome).Inc()
}

// Who said first that a query is cancelled.
const (
	cancelledByClient    = "client"
	cancelledByAuthority = "authority"
)

// cancelled counts a query that was cancelled.
func (m *metrics) cancelled(from string) { m.cancels.WithLabelValues(from).Inc() }

// request counts a request in and returns the function that counts it out.
func (m *metrics) request() func() {
	m.inflight.Inc()
	return m.inflight.Dec
}

// rejected counts a status error and returns it.
func (m *metrics) rejected(err error) error {
	if err != nil {
		m.rejections.WithLabelValues(status.Code(err).String()).Inc()
	}
	return err
}
