// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Telemetry is where the parts of a process report to.
type Telemetry struct {
	// Version is the program's.
	Version string
	Log     *slog.Logger
	// Metrics are shown by [ServePage].
	Metrics *prometheus.Registry
}

// NewTelemetry makes the registry of a process, with the series of the Go
// runtime and of the operating system. process is meta, query, worker or dev.
func NewTelemetry(process, version string, log *slog.Logger) Telemetry {
	r := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "lake_process_info", Help: "1, with what the process is.",
		ConstLabels: prometheus.Labels{"process": process, "version": version},
	})
	info.Set(1)
	r.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return Telemetry{Version: version, Log: log, Metrics: r}
}

// ServePage serves /metrics, /healthz and /readyz on a listener, which it
// closes, until ctx ends. ready answers the last; nil is always ready.
func ServePage(ctx context.Context, lis net.Listener, metrics prometheus.Gatherer, ready func() bool) error {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if ready != nil && !ready() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
