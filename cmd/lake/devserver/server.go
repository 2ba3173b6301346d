// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devserver

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/metasrv"
	"github.com/lakeplane/lake/services/query"
	"github.com/lakeplane/lake/services/query/admission"
	"github.com/lakeplane/lake/services/query/gate"
)

// readyTimeout bounds the wait for a server whose parts are all started.
const readyTimeout = 30 * time.Second

// Server is a running Lake. Stop ends it; its other methods are safe for
// concurrent use.
type Server struct {
	opts     Options
	state    State
	storage  storage
	temporal *temporal
	meta     *metasrv.Server
	query    *query.Server
	conn     *grpc.ClientConn
	metrics  *http.Server

	// front are the parts that stop first: query and the worker.
	front, back *part
	// failed is closed when a part ends by itself.
	failed chan struct{}
}

// Start runs a server and returns when it takes reads and writes. Whatever
// stands in the way is said before anything is started: a data directory in
// use, taken ports, wrong options.
func Start(ctx context.Context, opts Options) (*Server, error) {
	opts, err := opts.normalize()
	if err != nil {
		return nil, err
	}
	if opts.DataDir, err = filepath.Abs(opts.DataDir); err != nil {
		return nil, lake.Errorf(lake.Invalid, "data directory: %w", err)
	}
	s := &Server{opts: opts, failed: make(chan struct{})}
	s.front, s.back = newParts(s.failed)
	if s.storage, err = openStorage(opts); err != nil {
		return nil, err
	}
	p, err := takePorts(opts)
	if err != nil {
		return nil, errors.Join(err, s.storage.close())
	}
	if err := s.start(ctx, p); err != nil {
		p.close()
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, p ports) (err error) {
	if s.temporal, err = openTemporal(ctx, s.opts, p); err != nil {
		return err
	}
	s.state = State{
		PID: os.Getpid(), Since: time.Now().UTC().Truncate(time.Second), Version: s.opts.Version, DataDir: s.opts.DataDir,
		Query: p.query.Addr().String(), Meta: p.meta.Addr().String(), Metrics: "http://" + p.metrics.Addr().String() + "/metrics",
	}
	if s.temporal != nil {
		s.state.Temporal, s.state.TemporalUI = s.temporal.address, s.temporal.ui
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := s.makeTiers(registry); err != nil {
		return err
	}
	if err := s.run(p, registry); err != nil {
		return err
	}
	if err := s.awaitReady(ctx); err != nil {
		return err
	}
	return s.state.write()
}

// makeTiers wires metasrv and query.
func (s *Server) makeTiers(registry prometheus.Registerer) (err error) {
	options := metasrv.Options{
		Store: s.storage.meta, Engine: s.storage.tables, Sweep: s.storage.sweep,
		Election:     catalog.ElectionOptions{Exclusive: true, Address: s.state.Meta, Logger: s.opts.Log},
		UndropWindow: s.opts.UndropWindow, Grace: s.opts.Grace / 4, Logger: s.opts.Log, Metrics: registry,
	}
	if options.UndropWindow == 0 {
		options.UndropWindow = -1 // none, where 0 would be the default of a deployment
	}
	if s.temporal != nil {
		options.Starter = s.temporal.starter()
	}
	if s.meta, err = metasrv.New(options); err != nil {
		return err
	}
	s.conn, err = grpc.NewClient("passthrough:///"+s.state.Meta, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(lake.MaxAppendBytes)))
	if err != nil {
		return lake.Errorf(lake.Unknown, "connect query to meta: %w", err)
	}
	s.query, err = query.New(query.Options{
		Authority: s.conn, Storage: s.storage.tables, SQL: s.storage.sql, Planner: s.storage.planner,
		Gate: gate.New(s.storage.sql, gate.DefaultLimits()), Metrics: registry, Log: s.opts.Log, Version: s.opts.Version,
		// Everybody is the same tenant here, and a burst of somebody's own
		// programs should wait rather than fail.
		Admission: admission.Options{PerTenant: 64, Queue: 10 * time.Second},
	})
	return err
}

// run starts what serves and works.
func (s *Server) run(p ports, registry *prometheus.Registry) error {
	s.back.run(func(ctx context.Context) error {
		return s.meta.Serve(ctx, p.meta, metasrv.ListenOptions{Name: "meta", Auth: access.Development()})
	})
	s.front.run(func(ctx context.Context) error {
		return s.query.Serve(ctx, p.query, query.ListenOptions{Name: "query", Auth: access.Development()}, s.opts.Grace/2)
	})
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	s.metrics = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	s.back.run(func(context.Context) error {
		if err := s.metrics.Serve(p.metrics); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	if s.temporal == nil {
		return nil
	}
	w, err := s.temporal.worker(s.opts, s.storage, registry)
	if err != nil {
		return err
	}
	s.front.run(w.Run)
	return nil
}

// awaitReady waits until the server leads and has its first directory.
func (s *Server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !s.meta.Leading() || !s.query.Ready() {
		select {
		case <-ctx.Done():
			return lake.Errorf(lake.Unavailable, "the server did not become ready: %w", context.Cause(ctx))
		case <-s.failed:
			return lake.Errorf(lake.Unavailable, "the server ended while it started")
		case <-tick.C:
		}
	}
	return nil
}

// State says where the server is.
func (s *Server) State() State { return s.state }

// Failed is closed when a part of the server ended by itself; Stop tells why.
func (s *Server) Failed() <-chan struct{} { return s.failed }

// Stop ends the server within its grace period: no new calls, then a wait for
// those under way and for running procedure steps, then the authority, the
// Temporal child, and the stores. It returns the first failures of all parts.
func (s *Server) Stop() error {
	began := time.Now()
	s.state.remove()
	errs := []error{s.front.stop()}
	if s.metrics != nil {
		errs = append(errs, s.metrics.Close())
	}
	errs = append(errs, s.back.stop())
	if s.query != nil {
		errs = append(errs, s.query.Close())
	}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	left := max(s.opts.Grace-time.Since(began), time.Second)
	errs = append(errs, s.temporal.stop(left), s.storage.close())
	return errors.Join(errs...)
}

// Kill ends the Temporal child at once, for a process about to exit.
func (s *Server) Kill() { s.temporal.kill() }
