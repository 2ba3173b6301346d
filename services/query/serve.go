// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"net"
	"slices"
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
	opts.Extra = append(slices.Clone(opts.Extra), s.GRPCOptions()...)
	return rpc.Serve(ctx, lis, opts, s, pb.FlightService_ServiceDesc.ServiceName, grace)
}
