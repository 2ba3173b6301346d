// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pool

import "github.com/prometheus/client_golang/prometheus"

// metrics are the pool's series.
type metrics struct {
	registry prometheus.Registerer
	restarts *prometheus.CounterVec
	waited   prometheus.Histogram
	started  prometheus.Histogram
	all      []prometheus.Collector
}

func newMetrics(r prometheus.Registerer, e *Engine) (*metrics, error) {
	labels := prometheus.Labels{"pool": e.opts.Name}
	m := &metrics{
		registry: r,
		restarts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lake_query_slot_restarts_total", ConstLabels: labels,
			Help: "Engine slots that ended, by reason: crash, killed, internal, memory, stuck, silent, protocol, table, age, bloat, start, lost.",
		}, []string{"reason"}),
		waited: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "lake_query_slot_wait_seconds", ConstLabels: labels, Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
			Help: "How long statements waited for an engine slot.",
		}),
		started: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "lake_query_slot_start_seconds", ConstLabels: labels, Buckets: prometheus.ExponentialBuckets(0.01, 2, 10),
			Help: "How long engine slots took to start.",
		}),
	}
	m.all = []prometheus.Collector{m.restarts, m.waited, m.started}
	for _, state := range []string{"idle", "busy", "starting"} {
		m.all = append(m.all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "lake_query_slots", ConstLabels: prometheus.Labels{"pool": e.opts.Name, "state": state},
			Help: "Engine slots, by what they do.",
		}, func() float64 {
			idle, busy, starting := e.census()
			return float64(map[string]int{"idle": idle, "busy": busy, "starting": starting}[state])
		}))
	}
	if r == nil {
		return m, nil
	}
	for _, c := range m.all {
		if err := r.Register(c); err != nil {
			m.unregister()
			return nil, err
		}
	}
	return m, nil
}

// unregister makes the names free for another pool.
func (m *metrics) unregister() {
	if m.registry == nil {
		return
	}
	for _, c := range m.all {
		m.registry.Unregister(c)
	}
}
