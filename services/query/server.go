// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/services/query/admission"
	"github.com/lakeplane/lake/services/query/carry"
	"github.com/lakeplane/lake/services/query/datasets"
	"github.com/lakeplane/lake/services/query/directory"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/registration"
	"github.com/lakeplane/lake/services/query/ticket"
	"github.com/lakeplane/lake/services/query/wire"
)

// Server is one query replica. Make it with [New], register it on a gRPC
// server, and keep [Server.Run] running while it serves. It is safe for
// concurrent use.
type Server struct {
	opts      Options
	gate      Gate
	sql       sqlengine.Engine
	admission *admission.Gate
	directory *directory.Directory
	names     *registration.Cache
	datasets  *datasets.Cache
	statement *ticket.Sealer
	part      *ticket.Sealer
	prepared  *ticket.Sealer
	running   *running
	memo      *memo
	metrics   *metrics
	planner   *planner
	summaries *semaphore.Weighted // places to make them
	// ingestions are the turns of bulk ingestions.
	ingestions *turns
	// referring says that the gRPC server has the codec of package wire.
	referring atomic.Bool
	// cancellations keeps running in step with the other replicas.
	cancellations *cancellations

	catalog    lakepb.CatalogClient
	procedures lakepb.ProceduresClient
	authority  flight.FlightServiceClient
}

// New makes a server. It starts nothing; a missing or wrong option is
// lake.Invalid.
func New(opts Options) (*Server, error) {
	opts, err := opts.normalize()
	if err != nil {
		return nil, err
	}
	opts.SQL, opts.Planner = carry.Engine{Engine: opts.SQL}, carry.Engine{Engine: opts.Planner}
	s := &Server{
		opts: opts, gate: opts.Gate, sql: opts.SQL,
		admission:  admission.New(opts.Admission),
		statement:  ticket.NewSealer(ticket.Statement, opts.Keys, opts.TicketTTL, opts.Now),
		part:       ticket.NewSealer(ticket.Part, opts.Keys, opts.TicketTTL, opts.Now),
		prepared:   ticket.NewSealer(ticket.Prepared, opts.Keys, PreparedTTL, opts.Now),
		running:    newRunning(opts.Now),
		summaries:  semaphore.NewWeighted(summaryPlaces),
		ingestions: newTurns(opts.Ingestions),
		memo:       newMemo(opts.AnswerBytes),
		catalog:    lakepb.NewCatalogClient(opts.Authority),
		procedures: lakepb.NewProceduresClient(opts.Authority),
		authority:  flight.NewFlightServiceClient(opts.Authority),
	}
	if s.metrics, err = newMetrics(opts.Metrics, s); err != nil {
		return nil, err
	}
	s.cancellations = newCancellations(opts.Authority, s.running, s.metrics, opts.Log)
	s.planner = newPlanner(&s.opts, s.metrics)
	refreshed := opts.Directory.OnRefresh
	opts.Directory.OnRefresh = func(o directory.Outcome, err error) {
		s.metrics.refreshed(o)
		if err != nil && !errors.Is(err, context.Canceled) {
			opts.Log.Warn("the table directory could not be refreshed", "error", err)
		}
		if refreshed != nil {
			refreshed(o, err)
		}
	}
	s.directory = directory.New(s.catalog, opts.Directory)
	s.names = registration.New(s.catalog, opts.Registration)
	s.datasets = datasets.New(opts.Storage, opts.Datasets)
	return s, nil
}

// Register adds the server's services: Flight (with Flight SQL), Catalog and
// Procedures.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	pb.RegisterFlightServiceServer(r, &flightService{Server: s})
	lakepb.RegisterCatalogServer(r, &catalogForwarder{server: s})
	lakepb.RegisterProceduresServer(r, &proceduresForwarder{server: s})
}

// GRPCOptions are what a gRPC server needs for the replica to send batches
// without copying them. They are optional; a server made with them must be the
// one the replica is registered on.
func (s *Server) GRPCOptions() []grpc.ServerOption {
	s.referring.Store(true)
	return []grpc.ServerOption{grpc.ForceServerCodecV2(wire.NewCodec())}
}

// Run fetches the first directory, trying until it succeeds, and returns nil
// when ctx ends. The server answers before that, but is not [Server.Ready]. It
// hears of cancelled queries until [Server.Close]: what is under way when ctx
// ends can still be cancelled at any replica.
func (s *Server) Run(ctx context.Context) error {
	s.cancellations.start()
	if err := s.directory.Start(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// Ready reports whether the first directory was published.
func (s *Server) Ready() bool { return s.directory.Ready() }

// Close stops running queries and releases what the server opened. Call it
// after the gRPC server stopped. The SQL engine stays open: it is the
// caller's.
func (s *Server) Close() error {
	s.running.cancelAll()
	s.cancellations.close()
	s.directory.Close()
	s.names.Close()
	s.datasets.Close()
	return nil
}
