// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devserver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/lakeplane/lake/cmd/lake/process"
	"github.com/lakeplane/lake/lake"
)

// readyTimeout bounds the wait for a server whose parts are all started.
const readyTimeout = 30 * time.Second

// Server is a running Lake. Stop ends it; its other methods are safe for
// concurrent use.
type Server struct {
	opts      Options
	telemetry process.Telemetry
	state     State
	storage   storage
	temporal  *temporal
	meta      *process.Meta
	query     *process.Query

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
	s := &Server{opts: opts, telemetry: process.NewTelemetry("dev", opts.Version, opts.Log), failed: make(chan struct{})}
	s.front, s.back = newParts(s.failed)
	if s.storage, err = openStorage(ctx, opts, s.telemetry.Metrics); err != nil {
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
		LanceNamespace: "http://" + p.namespace.Addr().String(),
	}
	if s.temporal != nil {
		s.state.Temporal, s.state.TemporalUI = s.temporal.config.Address, s.temporal.config.UI
	}
	if err := s.makeTiers(); err != nil {
		return err
	}
	if err := s.run(p); err != nil {
		return err
	}
	if err := s.awaitReady(ctx); err != nil {
		return err
	}
	return s.state.write()
}

// makeTiers puts metasrv and query together.
func (s *Server) makeTiers() (err error) {
	if s.meta, err = process.NewMeta(s.opts.meta(), s.storage.records, s.storage.objects, s.temporal.link(), s.state.Meta, s.telemetry); err != nil {
		return err
	}
	s.query, err = process.NewQuery(s.opts.query(s.state.Meta), s.storage.objects, s.meta, s.telemetry)
	return err
}

// run starts what serves and works.
func (s *Server) run(p ports) error {
	s.back.run(func(ctx context.Context) error { return s.meta.Serve(ctx, p.meta) })
	s.front.run(func(ctx context.Context) error { return s.meta.ServeLanceNamespace(ctx, p.namespace) })
	s.front.run(func(ctx context.Context) error { return s.query.Serve(ctx, p.query) })
	s.back.run(func(ctx context.Context) error {
		return process.ServePage(ctx, p.metrics, s.telemetry.Metrics, func() bool { return s.meta.Ready() && s.query.Ready() })
	})
	if s.temporal == nil {
		return nil
	}
	w, err := process.NewWorker(s.opts.worker(s.temporal), s.storage.records, s.storage.objects, s.temporal.Temporal, true, s.telemetry)
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
	errs := []error{s.front.stop(), s.back.stop()}
	if s.query != nil {
		errs = append(errs, s.query.Close())
	}
	left := max(s.opts.Grace-time.Since(began), time.Second)
	errs = append(errs, s.temporal.stop(left), s.storage.close())
	return errors.Join(errs...)
}

// Kill ends the Temporal child at once, for a process about to exit.
func (s *Server) Kill() { s.temporal.kill() }
