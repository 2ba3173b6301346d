// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"cmp"
	"context"
	"net"
	"sync"
	"time"

	flightpb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/internal/rpc"
)

// Server is one member of the metadata group. It answers reads always and
// takes writes while it leads. It is safe for concurrent use.
type Server struct {
	lakepb.UnimplementedCatalogServer
	lakepb.UnimplementedProceduresServer

	opts      Options
	catalog   *catalog.Catalog
	election  *catalog.Election
	leader    leader
	admission *admission
	sessions  *semaphore.Weighted // places for sessions of appends
	inflight  inflight
	hands     *hands
	commits   *committers
	schemas   schemaCache
	published publishedVersions
	tables    tableCache
	finisher  *finisher
	peers     peers
	cancelled *board
	metrics   *metrics

	// work is the context of what no longer depends on a client: appends with
	// a verified payload, and started procedures.
	work     context.Context
	stopWork context.CancelFunc
	working  sync.WaitGroup
	closing  closing
}

var (
	_ lakepb.CatalogServer    = (*Server)(nil)
	_ lakepb.ProceduresServer = (*Server)(nil)
)

// New returns a server. It does no I/O. Mistakes in the options are reported
// together, as lake.Invalid.
func New(opts Options) (*Server, error) {
	opts, err := opts.normalize()
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, catalog: opts.Catalog, peers: peers{dial: opts.Peers}}
	observe := opts.Election.Observe
	opts.Election.Observe = func(event catalog.ElectionEvent) {
		s.metrics.campaign.WithLabelValues(string(event)).Inc()
		if event == catalog.CampaignWon {
			s.finisher.takenOver()
		}
		if observe != nil {
			observe(event)
		}
	}
	if s.election, err = catalog.NewElection(opts.Store, opts.Election); err != nil {
		return nil, err
	}
	if s.metrics, err = newMetrics(opts.Metrics, s); err != nil {
		return nil, lake.Errorf(lake.Invalid, "metasrv: metrics: %w", err)
	}
	if s.cancelled, err = newBoard(opts.Metrics); err != nil {
		return nil, lake.Errorf(lake.Invalid, "metasrv: metrics: %w", err)
	}
	s.finisher = newFinisher(s)
	s.work, s.stopWork = context.WithCancel(context.Background())
	s.leader = leader{election: s.election, catalog: s.catalog}
	s.admission = newAdmission(opts.Append, s.metrics)
	s.sessions = semaphore.NewWeighted(int64(opts.Append.Sessions))
	s.commits = newCommitters(s)
	s.hands = newHands()
	return s, nil
}

// Register adds the server's services: Catalog, Procedures, Cancellations, and
// Flight for appends.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	lakepb.RegisterCatalogServer(r, s)
	lakepb.RegisterProceduresServer(r, s)
	lakepb.RegisterCancellationsServer(r, &cancellationsService{server: s})
	flightpb.RegisterFlightServiceServer(r, &flightService{server: s})
}

// Catalog is the catalog the server works with.
func (s *Server) Catalog() *catalog.Catalog { return s.catalog }

// Ready reports whether the server is of use: it leads, or knows who does.
func (s *Server) Ready() bool {
	if _, err := s.election.Fence(); err == nil {
		return true
	}
	_, known := s.election.Leader()
	return known
}

// Leading reports whether the server takes writes now.
func (s *Server) Leading() bool {
	_, err := s.election.Fence()
	return err == nil
}

// Run takes part in the election until ctx ends. Then it takes no more writes,
// waits for those under way, for [Options.Grace] at most, and resigns. Call it
// once; nothing is written unless it runs.
func (s *Server) Run(ctx context.Context) error {
	electing, resign := context.WithCancel(context.WithoutCancel(ctx))
	resigned := make(chan struct{})
	go func() {
		defer close(resigned)
		s.election.Run(electing)
	}()
	var announcing sync.WaitGroup
	if s.opts.Announce {
		announcing.Go(func() { s.announce(ctx) })
	}
	defer announcing.Wait()
	s.finisher.run(ctx) // until ctx ends
	s.drain()
	resign()
	<-resigned
	return nil
}

// drain refuses new writes and waits for those under way.
func (s *Server) drain() {
	s.closing.close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.working.Wait()
	}()
	timer := time.NewTimer(s.opts.Grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		s.opts.Logger.Warn("metasrv: appends still under way at the end of the grace period are cut off")
	}
	s.stopWork()
	<-done
	s.hands.rest()
}

// maxMessageBytes bounds a received message: a row is never divided, so a single
// one may have the bytes of a whole append, beside its descriptor.
const maxMessageBytes = lake.MaxAppendBytes + 64<<10

// ListenOptions say how [Server.Serve] listens; the binary fills them in.
type ListenOptions = rpc.Options

// Serve runs the server on a listener, which it closes, until ctx ends: the
// gRPC server with health, and [Server.Run]. A listener that others can reach
// without TLS and authentication is refused. The stop takes at most
// [Options.Grace] and the time to resign.
func (s *Server) Serve(ctx context.Context, lis net.Listener, opts ListenOptions) error {
	opts.Name = cmp.Or(opts.Name, "meta")
	opts.Logger = cmp.Or(opts.Logger, s.opts.Logger)
	opts.MaxMessageBytes = cmp.Or(opts.MaxMessageBytes, maxMessageBytes)
	if opts.Metrics == nil {
		opts.Metrics = s.opts.Metrics
	}
	defer s.closePeers() // what is passed on to the leader ends with the calls
	return rpc.Serve(ctx, lis, opts, s, lakepb.Catalog_ServiceDesc.ServiceName, s.opts.Grace)
}

// closing says that a server takes no more writes, and counts those it took.
type closing struct {
	mu     sync.Mutex
	closed bool
}

func (c *closing) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

func (c *closing) refuse() error {
	if c.closed {
		return lake.Errorf(lake.Unavailable, "the server is stopping")
	}
	return nil
}

// taking fails with lake.Unavailable when the server takes no writes.
func (s *Server) taking(ctx context.Context) error {
	if _, err := s.leader.fence(ctx); err != nil {
		return err
	}
	s.closing.mu.Lock()
	defer s.closing.mu.Unlock()
	return s.closing.refuse()
}

// begin counts one piece of work in, or fails with lake.Unavailable when the
// server is stopping. The caller counts it out with working.Done.
func (s *Server) begin() error {
	s.closing.mu.Lock()
	defer s.closing.mu.Unlock()
	if err := s.closing.refuse(); err != nil {
		return err
	}
	s.working.Add(1)
	return nil
}

// caller returns the principal of a call.
func caller(ctx context.Context) (access.Principal, error) {
	p, ok := access.From(ctx)
	if !ok {
		return access.Principal{}, lake.Errorf(lake.Unauthenticated, "the call carries no principal")
	}
	return p, nil
}

// granted returns the table that a caller names, if it may know of it.
func granted(ctx context.Context, named *lakepb.TableName) (lake.TableName, error) {
	p, err := caller(ctx)
	if err != nil {
		return lake.TableName{}, err
	}
	name, err := tableName(named)
	if err == nil && !p.May(name.Namespace) {
		err = noTable(name)
	}
	return name, err
}

// onTable does work about a table that the caller may know of, in any member of
// the group. verb begins the error.
func onTable[Req interface{ GetName() *lakepb.TableName }, Resp any](ctx context.Context, s *Server, verb string, req Req,
	do func(context.Context, lake.TableName, Req) (Resp, error),
) (resp Resp, err error) {
	name, err := granted(ctx, req.GetName())
	if err != nil {
		return resp, err
	}
	if err := s.begin(); err != nil {
		return resp, err
	}
	defer s.working.Done()
	resp, err = do(ctx, name, req)
	return resp, lake.Wrap(verb+" table "+name.String(), err)
}

// noTable is the answer for a table that does not exist, and for one that the
// caller may not know of.
func noTable(name lake.TableName) error { return lake.Errorf(lake.NotFound, "no table %s", name) }
