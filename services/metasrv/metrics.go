// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the server's series. Their labels are fixed words.
type metrics struct {
	admission *prometheus.CounterVec
	inflight  prometheus.Gauge
	reserved  prometheus.Gauge
	sessions  prometheus.Gauge
	stage     *prometheus.HistogramVec
	group     prometheus.Histogram
	outcomes  *prometheus.CounterVec
	campaign  *prometheus.CounterVec
	forwarded *prometheus.CounterVec
	adopted   *prometheus.CounterVec
}

// newMetrics makes the series and registers them if there is a registry.
func newMetrics(r prometheus.Registerer, s *Server) (*metrics, error) {
	m := &metrics{
		admission: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lake_metasrv_append_admission_total",
			Help: "Appends by the outcome of their admission.",
		}, []string{"outcome"}),
		inflight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lake_metasrv_inflight_appends",
			Help: "Appends being received, decoded or staged.",
		}),
		reserved: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lake_metasrv_reserved_append_bytes",
			Help: "Bytes reserved for the payloads of appends.",
		}),
		sessions: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lake_metasrv_append_sessions",
			Help: "Sessions of appends that are open.",
		}),
		stage: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lake_metasrv_append_stage_seconds",
			Help:    "Time of the stages of an append.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 3, 13), // 0.1 ms … 53 s
		}, []string{"stage"}),
		group: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "lake_metasrv_append_group_size",
			Help:    "Append operations in one version.",
			Buckets: []float64{1, 2, 4, 8, 16},
		}),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lake_metasrv_commit_total",
			Help: "Attempts to commit a version, by outcome.",
		}, []string{"outcome"}),
		campaign: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lake_metasrv_campaign_total",
			Help: "Steps of the leader election, by what they did.",
		}, []string{"outcome"}),
		forwarded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lake_metasrv_forwarded_total",
			Help: "Writes a follower passed on to the leader, by gRPC code.",
		}, []string{"code"}),
		adopted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lake_metasrv_adopted_total",
			Help: "Versions proposed by other Lance clients, by outcome.",
		}, []string{"outcome"}),
	}
	if r == nil {
		return m, nil
	}
	ready := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lake_metasrv_write_ready",
		Help: "1 while this process leads and accepts writes.",
	}, func() float64 {
		if _, err := s.election.Fence(); err != nil {
			return 0
		}
		return 1
	})
	unpublished := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lake_metasrv_unpublished_versions",
		Help: "Committed versions whose publication failed and is being tried again.",
	}, func() float64 { return float64(len(s.finisher.debts())) })
	for _, c := range []prometheus.Collector{m.admission, m.inflight, m.reserved, m.sessions, m.stage, m.group, m.outcomes, m.campaign, m.forwarded, m.adopted, ready, unpublished} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) admitted(outcome string) { m.admission.WithLabelValues(outcome).Inc() }

func (m *metrics) hold(appends int, bytes int64) {
	m.inflight.Add(float64(appends))
	m.reserved.Add(float64(bytes))
}

// since observes the time a stage took.
func (m *metrics) since(stage string, start time.Time) {
	m.stage.WithLabelValues(stage).Observe(time.Since(start).Seconds())
}
