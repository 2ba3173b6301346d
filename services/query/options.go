// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"log/slog"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/admission"
	"github.com/lakeplane/lake/services/query/datasets"
	"github.com/lakeplane/lake/services/query/directory"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/gate"
	"github.com/lakeplane/lake/services/query/registration"
	"github.com/lakeplane/lake/services/query/ticket"
)

// CatalogName is the one SQL catalog of a Lake: tables are addressed as
// namespace.table or lake.namespace.table.
const CatalogName = "lake"

const (
	// DefaultExecutionTimeout bounds one running query.
	DefaultExecutionTimeout = 30 * time.Minute
	// DefaultPlanningTimeout bounds the planning of one statement.
	DefaultPlanningTimeout = 10 * time.Second
	// DefaultPlannerPlaces is how many are planned at once.
	DefaultPlannerPlaces = 2
	// DefaultDiscoveryRows bounds the rows of one metadata call.
	DefaultDiscoveryRows = 10_000
	// DefaultEndpoints, DefaultMaxEndpoints and DefaultEndpointRows are those of
	// [Options]; EndpointsLimit bounds the first two.
	DefaultEndpoints    = 1
	DefaultMaxEndpoints = 8
	DefaultEndpointRows = 1 << 18
	EndpointsLimit      = 64
	// DefaultIngestions is how many bulk ingestions have rows in memory at once.
	DefaultIngestions = 4
	// DefaultAnswerBytes is the memory for remembered answers.
	DefaultAnswerBytes = 16 << 20
	// PreparedTTL is how long a prepared statement's handle is good for.
	PreparedTTL = 24 * time.Hour
)

// Gate decides which SQL texts may reach the engine; a *gate.Gate is one. A
// refusal is lake.Invalid and says what was refused and where.
type Gate interface {
	Check(ctx context.Context, sql string) (gate.Parsed, error)
}

// Options configures a [Server]. Fields marked required have no default.
type Options struct {
	// Authority is the connection to metasrv; required. Its calls carry the
	// replica's own credentials, whose role must be one that may act for
	// others: forwarded calls name the caller beside them.
	Authority grpc.ClientConnInterface
	// Append takes an append in place of Authority where that is in this process.
	// The stream is the client's, and its context carries the principal, whose
	// right to the table is checked. nil sends appends to Authority.
	Append func(flight.FlightService_DoPutServer) error
	// Storage opens snapshots; required.
	Storage engine.Engine
	// SQL runs statements; required. The server does not close it.
	SQL sqlengine.Engine
	// Planner binds statements; nil means SQL. A second, small engine keeps
	// planning apart from running queries, which hold their places in SQL for
	// as long as their clients read. The server does not close it.
	Planner sqlengine.Engine
	// PlannerPlaces is how many statements Planner takes at once, and Gate its
	// parser; default 2. Others wait in order of arrival.
	PlannerPlaces int
	// PlanningTimeout bounds the planning of one statement, which takes
	// milliseconds, and apart from that its wait for a place; default 10 s.
	PlanningTimeout time.Duration
	// Gate checks statements; required.
	Gate Gate
	// Keys seal tickets; nil means an ephemeral key, which only suits a single
	// replica on one machine.
	Keys ticket.Keys
	// TicketTTL is how long a ticket can be redeemed; default 300 s, 1 s to 1 h.
	TicketTTL time.Duration
	// Now is the clock of tickets; nil means time.Now.
	Now func() time.Time
	// Endpoints is in how many parts large scans are given to clients that do not
	// say; default 1. A client says by [EndpointsHeader], and gets at most
	// MaxEndpoints; default 8. A part has at least about EndpointRows rows before
	// conditions are looked at; default 262,144. Each part is admitted on its own.
	Endpoints, MaxEndpoints int
	EndpointRows            uint64
	// AnswerBytes is how much memory small answers may take that are given again
	// to whoever repeats a statement over the same snapshots; default 16 MiB,
	// negative for none.
	AnswerBytes int64
	// Ingestions is how many bulk ingestions may have rows in memory at once, some
	// 150 MiB each; default 4. Others wait in order of arrival.
	Ingestions int
	// Admission, Directory, Registration and Datasets tune the parts of those
	// names.
	Admission    admission.Options
	Directory    directory.Options
	Registration registration.Options
	Datasets     datasets.Options
	// ExecutionTimeout bounds one running query; default 30 min.
	ExecutionTimeout time.Duration
	// DiscoveryRows bounds the rows of one metadata call; default 10,000.
	DiscoveryRows int
	// Metrics is where the server's metrics are registered; nil means nowhere.
	Metrics prometheus.Registerer
	// Log receives what no client sees; nil means slog.Default().
	Log *slog.Logger
	// Version is reported to clients as the server's version; default "dev".
	Version string
}

// normalize checks the options and fills in defaults.
func (o Options) normalize() (Options, error) {
	switch {
	case o.Authority == nil:
		return o, lake.Errorf(lake.Invalid, "query: Options.Authority is missing")
	case o.Storage == nil:
		return o, lake.Errorf(lake.Invalid, "query: Options.Storage is missing")
	case o.SQL == nil:
		return o, lake.Errorf(lake.Invalid, "query: Options.SQL is missing")
	case o.Gate == nil:
		return o, lake.Errorf(lake.Invalid, "query: Options.Gate is missing")
	case o.Endpoints < 0 || o.MaxEndpoints < 0 || o.MaxEndpoints > 0 && o.Endpoints > o.MaxEndpoints || max(o.Endpoints, o.MaxEndpoints) > EndpointsLimit:
		return o, lake.Errorf(lake.Invalid, "query: %d endpoints, %d at most: want 1 to %d, and no more than at most", o.Endpoints, o.MaxEndpoints, EndpointsLimit)
	case o.TicketTTL != 0 && (o.TicketTTL < ticket.MinTTL || o.TicketTTL > ticket.MaxTTL):
		return o, lake.Errorf(lake.Invalid, "query: a ticket lifetime of %s: want %s to %s", o.TicketTTL, ticket.MinTTL, ticket.MaxTTL)
	}
	if o.Planner == nil {
		o.Planner = o.SQL
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Keys == nil {
		o.Keys = ticket.Ephemeral()
	}
	if o.Endpoints == 0 {
		o.Endpoints = DefaultEndpoints
	}
	if o.MaxEndpoints == 0 {
		o.MaxEndpoints = max(DefaultMaxEndpoints, o.Endpoints)
	}
	if o.EndpointRows == 0 {
		o.EndpointRows = DefaultEndpointRows
	}
	if o.AnswerBytes == 0 {
		o.AnswerBytes = DefaultAnswerBytes
	}
	if o.Ingestions <= 0 {
		o.Ingestions = DefaultIngestions
	}
	if o.TicketTTL == 0 {
		o.TicketTTL = ticket.DefaultTTL
	}
	if o.ExecutionTimeout == 0 {
		o.ExecutionTimeout = DefaultExecutionTimeout
	}
	if o.PlannerPlaces <= 0 {
		o.PlannerPlaces = DefaultPlannerPlaces
	}
	if o.PlanningTimeout <= 0 {
		o.PlanningTimeout = DefaultPlanningTimeout
	}
	if o.DiscoveryRows == 0 {
		o.DiscoveryRows = DefaultDiscoveryRows
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	return o, nil
}
