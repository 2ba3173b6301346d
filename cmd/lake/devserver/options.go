// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package devserver runs a whole Lake in one process: metasrv, query and
// worker over an embedded metastore and local files, with a Temporal server as
// a child.
package devserver

import (
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/internal/devtemporal"
	"github.com/lakeplane/lake/lake"
)

// Options say what runs and where. DataDir is required.
type Options struct {
	// DataDir holds everything durable: metastore/, objects/, temporal/, and
	// dev.json while the server runs.
	DataDir string
	// Host is the loopback address to listen on; empty means 127.0.0.1.
	Host string
	// PortBase is the first of five consecutive ports: query, meta, metrics,
	// Temporal, Temporal's UI. 0 picks free ones.
	PortBase int
	// NoTemporal runs neither a Temporal server nor a worker. Procedures then
	// wait for a start with them; all else works.
	NoTemporal bool
	// TemporalAddress uses a running Temporal server instead of a child, in
	// TemporalNamespace (empty means "lake"), with its web UI at TemporalUI
	// (may be empty).
	TemporalAddress, TemporalNamespace, TemporalUI string
	// Grace bounds an orderly stop; 0 means 30 s.
	Grace time.Duration
	// UndropWindow is how long a drop can be undone when the request does not
	// say; 0 means that deletion starts at once.
	UndropWindow time.Duration
	// Settle is how long after a drop a location that looks empty is looked at
	// again, for an append that was staging its objects at that moment; 0 means
	// 2 s, enough for 64 MiB onto a local disk.
	Settle time.Duration
	// InProcessSQL runs statements in this process instead of processes of
	// their own: easier to debug, and over when the engine crashes.
	InProcessSQL bool
	// Headless leaves the web UI of the Temporal child out.
	Headless bool
	// Version is reported to clients.
	Version string
	// BuildProgress hears how far the first build of the Temporal server is.
	BuildProgress devtemporal.Progress
	// Log; nil means slog.Default.
	Log *slog.Logger
}

func (o Options) normalize() (Options, error) {
	if o.Host == "" {
		o.Host = "127.0.0.1"
	}
	if o.Grace == 0 {
		o.Grace = 30 * time.Second
	}
	if o.Settle == 0 {
		o.Settle = 2 * time.Second
	}
	if o.TemporalNamespace == "" {
		o.TemporalNamespace = "lake"
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o, o.check()
}

// Validate reports every mistake, as [Start] does before it does anything.
func (o Options) Validate() error {
	_, err := o.normalize()
	return err
}

// check reports every mistake.
func (o Options) check() error {
	var errs []error
	bad := func(when bool, format string, args ...any) {
		if when {
			errs = append(errs, lake.Errorf(lake.Invalid, format, args...))
		}
	}
	ip := net.ParseIP(o.Host)
	bad(o.DataDir == "", "a data directory is needed")
	bad(ip == nil || !ip.IsLoopback(), "host %q: a development server has no authentication and listens on a loopback address only", o.Host)
	bad(o.PortBase < 0 || o.PortBase > lastBase, "port base %d: want 0 for free ports, or 1 to %d", o.PortBase, lastBase)
	bad(o.Grace < 0, "shutdown grace %s: want a time that is not negative", o.Grace)
	bad(o.UndropWindow < 0, "undrop window %s: want a time that is not negative", o.UndropWindow)
	bad(o.Settle < 0, "settle time %s: want a time that is not negative", o.Settle)
	bad(o.TemporalAddress != "" && !config.IsHostPort(o.TemporalAddress), "address %q of a Temporal server: want host:port", o.TemporalAddress)
	bad(o.TemporalUI != "" && !config.IsLink(o.TemporalUI), "address of a Temporal UI: want an http or https URL without a user or password")
	bad(o.NoTemporal && o.TemporalAddress != "", "a Temporal address and no Temporal exclude each other")
	bad(o.TemporalUI != "" && o.TemporalAddress == "", "the address of a Temporal UI goes with that of its server")
	return errors.Join(errs...)
}

func (o Options) managed() bool { return !o.NoTemporal && o.TemporalAddress == "" }
