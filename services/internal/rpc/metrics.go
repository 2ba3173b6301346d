// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
)

// series are the metrics of all servers of a process. Labels are bounded:
// server names, registered methods and status codes.
type series struct {
	seconds  *prometheus.HistogramVec
	inflight *prometheus.GaugeVec
}

// newSeries registers the series, or takes those another server of the process
// has registered. It returns nil, which measures nothing, without a registry.
func newSeries(r prometheus.Registerer) *series {
	if r == nil {
		return nil
	}
	return &series{
		seconds: register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lake_rpc_duration_seconds",
			Help:    "Time from the start of a call to its end, by server, method and status code.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2.5, 14), // 0.5 ms … 75 s
		}, []string{"server", "method", "code"})),
		inflight: register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lake_rpc_inflight_requests",
			Help: "Calls under way, by server and method.",
		}, []string{"server", "method"})),
	}
}

func register[C prometheus.Collector](r prometheus.Registerer, c C) C {
	err := r.Register(c)
	var twice prometheus.AlreadyRegisteredError
	if errors.As(err, &twice) {
		if same, ok := twice.ExistingCollector.(C); ok {
			return same
		}
	}
	if err != nil {
		panic("rpc: " + err.Error()) // two different series under one name
	}
	return c
}

// begin counts a call in and returns the function that counts it out.
func (s *series) begin(server, method string) func(codes.Code) {
	if s == nil {
		return func(codes.Code) {}
	}
	start := time.Now()
	inflight := s.inflight.WithLabelValues(server, method)
	inflight.Inc()
	return func(code codes.Code) {
		inflight.Dec()
		s.seconds.WithLabelValues(server, method, code.String()).Observe(time.Since(start).Seconds())
	}
}
