// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdktest

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	flightpb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
)

// Front is one address of a [Server], as a replica in front of an authority is:
// all fronts of a server see the same tables. It is safe for concurrent use.
type Front struct {
	server *Server
	addr   string
	health *health.Server

	mu    sync.Mutex
	grpc  *grpc.Server // nil while stopped
	done  chan struct{}
	calls int
}

// NewFront starts another front on a loopback port that ends with the test.
func (s *Server) NewFront(t TB) *Front {
	t.Helper()
	f, err := s.front()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	return f
}

func (s *Server) front() (*Front, error) {
	f := &Front{server: s, addr: "127.0.0.1:0", health: health.NewServer()}
	f.SetServing(true)
	return f, f.Start()
}

// Addr is the host:port to connect to. It stays the same when the front is
// stopped and started.
func (f *Front) Addr() string { return f.addr }

// Calls counts the calls that came to this address, without health checks.
func (f *Front) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// SetServing sets what the front answers to health checks; calls are served
// anyway.
func (f *Front) SetServing(serving bool) {
	state := healthpb.HealthCheckResponse_NOT_SERVING
	if serving {
		state = healthpb.HealthCheckResponse_SERVING
	}
	for _, service := range []string{"", lakepb.Catalog_ServiceDesc.ServiceName, flightpb.FlightService_ServiceDesc.ServiceName} {
		f.health.SetServingStatus(service, state)
	}
}

// Start serves, on the same address as before if there was one. It is a
// mistake to start a front that runs.
func (f *Front) Start() error {
	listener, err := net.Listen("tcp", f.addr)
	if err != nil {
		return err
	}
	server := grpc.NewServer(
		grpc.MaxRecvMsgSize(lake.MaxAppendBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.ChainUnaryInterceptor(f.unary), grpc.ChainStreamInterceptor(f.stream),
	)
	lakepb.RegisterCatalogServer(server, f.server)
	lakepb.RegisterProceduresServer(server, f.server)
	flight.RegisterFlightServiceServer(server, f.server)
	healthpb.RegisterHealthServer(server, f.health)
	done := make(chan struct{})
	f.mu.Lock()
	f.addr, f.grpc, f.done = listener.Addr().String(), server, done
	f.mu.Unlock()
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	return nil
}

// Stop breaks every connection at once, as the end of a process does. The
// tables stay. Stopping twice is harmless.
func (f *Front) Stop() {
	f.mu.Lock()
	server, done := f.grpc, f.done
	f.grpc = nil
	f.mu.Unlock()
	if server != nil {
		server.Stop()
		<-done
	}
}

func (f *Front) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	f.note(ctx, info.FullMethod)
	if err := f.server.cut(info.FullMethod, func(md metadata.MD) error { return grpc.SendHeader(ctx, md) }); err != nil {
		return nil, err
	}
	return handle(ctx, req)
}

func (f *Front) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	f.note(stream.Context(), info.FullMethod)
	if err := f.server.cut(info.FullMethod, stream.SendHeader); err != nil {
		return err
	}
	return handle(srv, stream)
}

func (f *Front) note(ctx context.Context, method string) {
	f.server.note(ctx)
	switch method {
	case healthpb.Health_Check_FullMethodName, healthpb.Health_Watch_FullMethodName:
		return
	}
	f.mu.Lock()
	f.calls++
	f.mu.Unlock()
}
