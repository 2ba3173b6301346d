// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
)

// metastoreMetrics are the series of a [MetastoreService]. Their labels are
// the methods and lake's kinds of errors.
type metastoreMetrics struct{ seconds *prometheus.HistogramVec }

func newMetastoreMetrics(r prometheus.Registerer) (*metastoreMetrics, error) {
	m := &metastoreMetrics{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "lake_metastore_call_seconds",
		Help:    "Time of a call of the metastore service, by method and kind of outcome. Of a watch: until it is in force.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 14), // 0.1 ms … 15 s
	}, []string{"method", "outcome"})}
	if r == nil {
		return m, nil
	}
	return m, r.Register(m.seconds)
}

// begin starts the clock of a call, and returns the function that stops it.
func (m *metastoreMetrics) begin(method string) func(resp any, err error) {
	start := time.Now()
	return func(resp any, err error) {
		m.seconds.WithLabelValues(method, outcomeOf(resp, err)).Observe(time.Since(start).Seconds())
	}
}

// outcomeOf returns the word for how a call ended. A conflict is an answer on
// the wire and a kind of outcome to whoever watches the store.
func outcomeOf(resp any, err error) string {
	if err != nil {
		return lake.KindOf(err).String()
	}
	if c, ok := resp.(*lakepb.MetastoreCommitResponse); ok && c.GetConflict() != nil {
		return lake.Conflict.String()
	}
	return "ok"
}
