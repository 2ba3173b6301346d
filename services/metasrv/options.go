// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/retention"
	"github.com/lakeplane/lake/workflows"
)

// Starter begins the workflow of a recorded procedure and wakes one that waits.
// A failure costs only time: a sweep does what is missing.
type Starter interface {
	// Start begins the procedure of a kind and id. One that runs already looks
	// at its record again.
	Start(ctx context.Context, kind, id string) error
	// Recheck makes a procedure that waits look at its record again;
	// lake.NotFound when its workflow is not open.
	Recheck(ctx context.Context, ref workflows.Ref) error
	// Resume ends a procedure's wait, after a pause or a failure, and Cancel its
	// workflow; lake.NotFound when that is not open.
	Resume(ctx context.Context, ref workflows.Ref) error
	Cancel(ctx context.Context, ref workflows.Ref) error
	// UIURL is where people watch the workflow, or empty.
	UIURL(workflowID string) string
}

// PeerConn is a connection to another member of the group.
type PeerConn interface {
	grpc.ClientConnInterface
	io.Closer
}

// noStarter leaves every procedure to the sweep.
type noStarter struct{}

func (noStarter) Start(context.Context, string, string) error  { return nil }
func (noStarter) Recheck(context.Context, workflows.Ref) error { return errNoTemporal }
func (noStarter) Resume(context.Context, workflows.Ref) error  { return errNoTemporal }
func (noStarter) Cancel(context.Context, workflows.Ref) error  { return errNoTemporal }
func (noStarter) UIURL(string) string                          { return "" }

var errNoTemporal error = &lake.Error{Kind: lake.NotFound, Message: "no Temporal server is configured: a worker meets the order in the record"}

// Options say what a [Server] works with. Fields without a default are
// required.
type Options struct {
	// Store is the metastore. The caller keeps it, and closes it after the
	// server has stopped.
	Store metastore.Store
	// Engine stores the tables.
	Engine engine.Engine
	// Catalog is the catalog over Store; nil makes one.
	Catalog *catalog.Catalog
	// Election tunes the leader election.
	Election catalog.ElectionOptions
	// Peers connects to another member of the group at the address it
	// advertises in its [catalog.ElectionOptions]. A follower then passes writes
	// on to the leader; the connection's credentials need a role that may act
	// for others. nil lets a follower refuse writes with lake.Unavailable. The
	// server keeps one connection and closes it.
	Peers func(address string) (PeerConn, error)
	// Starter starts procedures; nil leaves them to the sweep.
	Starter Starter
	// Sweep deletes everything under the location of an incarnation that was
	// staged and never registered; nil leaves it to the workers' sweep. It is
	// called at most once a location, and may fail.
	Sweep func(ctx context.Context, loc lake.Location) error
	// Append bounds the appends.
	Append AppendOptions
	// Retention is the workers' policy, to tell what a clean-up would delete.
	Retention retention.Policy
	// UndropWindow is how long a drop can be undone when the request does not
	// say. 0 means 24 hours, a negative value none.
	UndropWindow time.Duration
	// Grace bounds how long a stopping server waits for appends under way.
	// 0 means 20 s.
	Grace time.Duration
	// Announce lets the member keep a peer record, by which migrations know it,
	// with its Version.
	Announce bool
	Version  string
	// Logger; nil means slog.Default.
	Logger *slog.Logger
	// Metrics receives the server's series; nil means none.
	Metrics prometheus.Registerer
}

// MaxSessions is the most that [AppendOptions.Sessions] may be. A replica passes
// all of its clients' sessions on by one connection, which has 1,000 calls at
// most, and needs some of them for everything else.
const MaxSessions = 900

// AppendOptions bound what appends may use of the process.
type AppendOptions struct {
	// Concurrent is how many appends are received, decoded and staged at
	// once. 0 means 8.
	Concurrent int
	// Sessions is how many sessions of appends may be open, at most
	// [MaxSessions]. 0 means 512.
	Sessions int
	// Wait is how long an append waits to be admitted. 0 means 100 ms.
	Wait time.Duration
	// StreamBytes bounds the payload of one append. 0 means
	// [lake.MaxAppendBytes], which is also the most.
	StreamBytes int64
	// BufferedBytes bounds the payloads held in memory. Each append reserves
	// StreamBytes until it is received, then what it has. 0 means 256 MiB.
	BufferedBytes int64
	// ReceiveTimeout bounds how long a client may take to send its payload,
	// during which it holds its reservation. 0 means one minute.
	ReceiveTimeout time.Duration
	// Waiting bounds the staged appends of one table that wait for their
	// commit. 0 means 1,024.
	Waiting int
	// StagedFor is how long after its rows were staged an append may still be
	// committed. 0 means [retention.StagedFor], which is also the most: a clean-up
	// takes older data for orphans.
	StagedFor time.Duration
}

const (
	defaultUndropWindow = 24 * time.Hour
	// maxUndropWindow keeps a typing error from keeping objects for ever.
	maxUndropWindow = 90 * 24 * time.Hour
)

func (o Options) normalize() (Options, error) {
	o.UndropWindow = cmp.Or(o.UndropWindow, defaultUndropWindow)
	o.UndropWindow = max(o.UndropWindow, 0)
	o.Grace = cmp.Or(o.Grace, 20*time.Second)
	o.Append.Concurrent = cmp.Or(o.Append.Concurrent, 8)
	o.Append.Sessions = cmp.Or(o.Append.Sessions, 512)
	o.Append.Wait = cmp.Or(o.Append.Wait, 100*time.Millisecond)
	o.Append.StreamBytes = cmp.Or(o.Append.StreamBytes, lake.MaxAppendBytes)
	o.Append.BufferedBytes = cmp.Or(o.Append.BufferedBytes, 256<<20)
	o.Append.ReceiveTimeout = cmp.Or(o.Append.ReceiveTimeout, time.Minute)
	o.Append.Waiting = cmp.Or(o.Append.Waiting, 1024)
	o.Append.StagedFor = cmp.Or(o.Append.StagedFor, retention.StagedFor)
	if o.Starter == nil {
		o.Starter = noStarter{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Election.Logger = cmp.Or(o.Election.Logger, o.Logger)
	if o.Catalog == nil && o.Store != nil {
		o.Catalog = catalog.New(o.Store, catalog.Options{})
	}
	return o, o.check()
}

// check reports every mistake.
func (o Options) check() error {
	var errs []error
	bad := func(when bool, format string, args ...any) {
		if when {
			errs = append(errs, lake.Errorf(lake.Invalid, "metasrv: "+format, args...))
		}
	}
	a := o.Append
	bad(o.Store == nil, "a metastore is needed")
	bad(o.Engine == nil, "an engine is needed")
	bad(o.UndropWindow > maxUndropWindow, "undrop window %s: at most %s", o.UndropWindow, maxUndropWindow)
	bad(o.Grace < 0 || a.Wait < 0 || a.ReceiveTimeout < 0, "times must not be negative")
	bad(a.Concurrent < 0 || a.Waiting < 0 || a.Sessions < 0, "counts must not be negative")
	bad(a.Sessions > MaxSessions, "%d sessions of appends: at most %d", a.Sessions, MaxSessions)
	bad(a.StagedFor < 0 || a.StagedFor > retention.StagedFor, "rows staged for %s: want at most %s", a.StagedFor, retention.StagedFor)
	bad(a.StreamBytes < 0 || a.StreamBytes > lake.MaxAppendBytes, "%d bytes a stream: want 1..%d", a.StreamBytes, int64(lake.MaxAppendBytes))
	bad(a.BufferedBytes < a.StreamBytes, "%d buffered bytes are less than the %d of one stream", a.BufferedBytes, a.StreamBytes)
	return errors.Join(errs...)
}
