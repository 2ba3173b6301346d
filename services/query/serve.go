// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/internal/rpc"
)

// ListenOptions say how [Server.Serve] listens; the binary fills them in.
type ListenOptions = rpc.Options

// maxRequestBytes bounds a received message. Drivers send each batch of a bulk
// ingestion as it is, however large; a larger one has to be cut by its owner.
const maxRequestBytes = lake.MaxAppendBytes

// Serve runs the replica on a listener until ctx ends: the gRPC server with
// health, and [Server.Run]. Calls under way then get the grace to end, and are
// cut off after it. It closes the listener, not the replica. A listener that
// others can reach without TLS and authentication is refused.
func (s *Server) Serve(ctx context.Context, lis net.Listener, opts ListenOptions, grace time.Duration) error {
	if opts.Name == "" {
		opts.Name = "query"
	}
	if opts.Logger == nil {
		opts.Logger = s.opts.Log
	}
	if opts.Metrics == nil {
		opts.Metrics = s.opts.Metrics
	}
	if opts.MaxMessageBytes == 0 {
		opts.MaxMessageBytes = maxRequestBytes
	}
	if err := rpc.CheckListener(lis.Addr(), opts); err != nil {
		return errors.Join(err, lis.Close())
	}
	opts.Extra = append(slices.Clone(opts.Extra), s.GRPCOptions()...)
	server := rpc.NewServer(opts)
	s.Register(server)
	health := rpc.RegisterHealth(server, pb.FlightService_ServiceDesc.ServiceName)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() {
		defer cancel() // a broken listener ends the rest
		served <- server.Serve(lis)
	}()
	var watching sync.WaitGroup
	watching.Go(func() { s.watchReadiness(ctx, health) })
	err := s.Run(ctx)
	cancel()
	watching.Wait()
	stop, done := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer done()
	rpc.Stop(stop, server)
	return errors.Join(err, <-served)
}

// watchReadiness keeps the health of the Flight service current, and ends all
// of it with ctx, before the server drains.
func (s *Server) watchReadiness(ctx context.Context, health *rpc.Health) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		health.Set(pb.FlightService_ServiceDesc.ServiceName, s.Ready())
		select {
		case <-ctx.Done():
			health.Drain()
			return
		case <-tick.C:
		}
	}
}
