// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakeplane/lake/metastore"
	recordsmetered "github.com/lakeplane/lake/metastore/metered"
	"github.com/lakeplane/lake/objstore"
	objectsmetered "github.com/lakeplane/lake/objstore/metered"
	"github.com/lakeplane/lake/objstore/s3"
)

// MeasureRecords returns a metastore whose calls are counted and timed in a
// registry. Its abilities are those of the one given. It fails when the
// registry has the series already: a process has one metastore.
func MeasureRecords(store metastore.Store, r prometheus.Registerer) (metastore.Store, error) {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "lake_metastore_request_seconds",
		Help:    "Time of a request to the metastore as this process sees it, by operation and outcome.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 14), // 0.1 ms … 15 s
	}, []string{"operation", "outcome"})
	if err := r.Register(seconds); err != nil {
		return nil, err
	}
	var found [recordsmetered.Operations][recordsmetered.Outcomes]series
	return recordsmetered.New(store, func(op recordsmetered.Operation, outcome recordsmetered.Outcome, took time.Duration) {
		found[op][outcome].observe(seconds, op.String(), outcome.String(), took)
	}), nil
}

// objectMetrics are the series of an object store. One that is nil measures
// nothing.
type objectMetrics struct {
	seconds *prometheus.HistogramVec
	retries *prometheus.CounterVec
}

func newObjectMetrics(r prometheus.Registerer) (*objectMetrics, error) {
	if r == nil {
		return nil, nil
	}
	m := &objectMetrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lake_objstore_request_seconds",
			Help:    "Time of a request to the object store with its retries, by operation and outcome. Reads of objects in memory are none.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 16), // 0.1 ms … 93 s
		}, []string{"operation", "outcome"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lake_objstore_retries_total",
			Help: "Attempts of requests to a bucket that were made again, by reason: throttled, refused, no_answer.",
		}, []string{"reason"}),
	}
	if err := r.Register(m.seconds); err != nil {
		return nil, err
	}
	return m, r.Register(m.retries)
}

// measure returns the store with its requests counted and timed.
func (m *objectMetrics) measure(store objstore.Store) objstore.Store {
	if m == nil {
		return store
	}
	var found [objectsmetered.Operations][objectsmetered.Outcomes]series
	return objectsmetered.New(store, func(op objectsmetered.Operation, outcome objectsmetered.Outcome, took time.Duration) {
		found[op][outcome].observe(m.seconds, op.String(), outcome.String(), took)
	})
}

// retried returns what counts the retries of a store in a bucket. Their series
// begin at 0, so that the first retry is an increase.
func (m *objectMetrics) retried() func(s3.Reason) {
	if m == nil {
		return nil
	}
	for _, reason := range []s3.Reason{s3.Throttled, s3.Refused, s3.NoAnswer} {
		m.retries.WithLabelValues(string(reason))
	}
	return func(reason s3.Reason) { m.retries.WithLabelValues(string(reason)).Inc() }
}

// series remembers one of a histogram's, which is shown from its first
// observation on. Finding it by its labels takes longer than all the rest of a
// measurement.
type series struct {
	found atomic.Pointer[prometheus.Observer]
}

func (s *series) observe(of *prometheus.HistogramVec, operation, outcome string, took time.Duration) {
	o := s.found.Load()
	if o == nil {
		found := of.WithLabelValues(operation, outcome)
		o = &found
		s.found.Store(o)
	}
	(*o).Observe(took.Seconds())
}
