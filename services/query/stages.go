// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/prometheus/client_golang/prometheus"
)

// stage is a part of a statement's way through the replica.
type stage string

// The stages, in their order. Gate and plan are measured where they are done,
// not where their result was remembered.
const (
	stageQueue      stage = "queue"       // waiting for a permit
	stagePlanQueue  stage = "plan_queue"  // waiting for a place to be parsed or bound
	stageGate       stage = "gate"        // parsing and checking the text
	stagePlan       stage = "plan"        // binding it to its tables
	stageFirstBatch stage = "first_batch" // from the begin of DoGet to the first rows
	stageStream     stage = "stream"      // all of DoGet, with the client's reading
)

func newStages() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "lake_query_stage_seconds", Buckets: prometheus.ExponentialBuckets(0.000_1, 4, 12),
		Help: "Time that statements took, by stage: queue, plan_queue, gate, plan, first_batch, stream. Waiting for an engine slot is lake_query_slot_wait_seconds.",
	}, []string{"stage"})
}

// time returns the function that ends the stage.
func (m *metrics) time(s stage) func() {
	start := time.Now()
	return func() { m.stages.WithLabelValues(string(s)).Observe(time.Since(start).Seconds()) }
}

// firstBatch ends its stage with the first rows that emit passes on.
func (m *metrics) firstBatch(start time.Time, emit func(arrow.RecordBatch) error) func(arrow.RecordBatch) error {
	first := true
	return func(rec arrow.RecordBatch) error {
		if first {
			first = false
			m.stages.WithLabelValues(string(stageFirstBatch)).Observe(time.Since(start).Seconds())
		}
		return emit(rec)
	}
}
