// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/internal/rpc"
)

// forwardedHeader marks a call that one member passed on to another. It is
// passed on once: two members that take each other for the leader must not
// send a call in circles.
const forwardedHeader = "x-lake-forwarded"

// peers keeps the connection to the leader that was needed last.
type peers struct {
	dial func(address string) (PeerConn, error)

	mu      sync.Mutex
	address string
	conn    PeerConn
}

// peer is the leader as one call sees it: where to call and with what context.
type peer struct {
	ctx           context.Context //nolint:containedctx // lives as long as the call
	holder        string
	catalog       lakepb.CatalogClient
	flight        flight.FlightServiceClient
	cancellations lakepb.CancellationsClient
}

// to returns the connection to an address. Another leader's address replaces
// the connection: calls still on the old one fail, as their server is no
// leader any more.
func (p *peers) to(address string) (PeerConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil && p.address == address {
		return p.conn, nil
	}
	conn, err := p.dial(address)
	if err != nil {
		return nil, lake.Errorf(lake.Unavailable, "the leader's address %q: %w", address, err)
	}
	err = p.drop()
	p.address, p.conn = address, conn
	return conn, err
}

func (p *peers) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drop()
}

func (p *peers) drop() error {
	if p.conn == nil {
		return nil
	}
	err := p.conn.Close()
	p.conn = nil
	return err
}

// elsewhere returns the leader to pass a write on to, or nil when the write is
// this process's own to make or refuse. The principal travels with the call.
func (s *Server) elsewhere(ctx context.Context, p access.Principal) (*peer, error) {
	leader, err := s.leaderFor(ctx)
	if leader != nil {
		leader.ctx = rpc.Delegate(leader.ctx, p)
	}
	return leader, err
}

// leaderFor is elsewhere for a call that this process makes for itself.
func (s *Server) leaderFor(ctx context.Context) (*peer, error) {
	if s.peers.dial == nil || s.Leading() {
		return nil, nil
	}
	leader, known := s.election.Leader()
	if !known || leader.Address == "" || leader.Holder == s.election.Holder() {
		return nil, nil
	}
	if len(metadata.ValueFromIncomingContext(ctx, forwardedHeader)) > 0 {
		return nil, lake.Errorf(lake.Unavailable, "the leadership is moving: the call was passed on to a process that does not lead")
	}
	conn, err := s.peers.to(leader.Address)
	if err != nil {
		return nil, err
	}
	return &peer{
		ctx:    metadata.AppendToOutgoingContext(ctx, forwardedHeader, s.election.Holder()),
		holder: leader.Holder, catalog: lakepb.NewCatalogClient(conn), flight: flight.NewFlightServiceClient(conn),
		cancellations: lakepb.NewCancellationsClient(conn),
	}, nil
}

// forwarded makes the call at the leader, unless there was an error in finding
// it.
func forwarded[T any](s *Server, leader *peer, err error, call func(*peer) (*T, error)) (*T, error) {
	var result *T
	if err == nil {
		result, err = call(leader)
	}
	s.metrics.forwarded.WithLabelValues(status.Code(err).String()).Inc()
	return result, err
}

// passPut passes an append on to the leader, without reading it into memory,
// and reports whether it did.
func (s *Server) passPut(stream flight.FlightService_DoPutServer) (passed bool, err error) {
	p, err := caller(stream.Context())
	if err != nil {
		return false, err
	}
	leader, err := s.elsewhere(stream.Context(), p)
	if leader == nil || err != nil {
		return false, err
	}
	err = rpc.RelayPut(leader.ctx, leader.flight, stream, stream, func() {})
	s.metrics.forwarded.WithLabelValues(status.Code(err).String()).Inc()
	return true, err
}

// closePeers lets go of the connection to the leader.
func (s *Server) closePeers() {
	if err := s.peers.close(); err != nil {
		s.opts.Logger.Warn("metasrv: the connection to the leader did not close", "error", err)
	}
}
