// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// guard is what stands around every handler of a server.
type guard struct {
	opts   Options
	series *series
	// watches ends the calls that have no end of their own; see also [Ending].
	watches context.Context //nolint:containedctx // the life of calls
}

// watchMethods are the calls by which a client waits for news for as long as
// it likes. They hold nothing that a stopping server must wait for.
var watchMethods = map[string]bool{
	grpc_health_v1.Health_Watch_FullMethodName: true,
	lakepb.Metastore_Watch_FullMethodName:      true,
	lakepb.Cancellations_Watch_FullMethodName:  true,
}

func (g guard) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	err = g.around(ctx, info.FullMethod, func(ctx context.Context) error {
		var e error
		resp, e = handler(ctx, req)
		return e
	})
	return resp, err
}

func (g guard) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx := ss.Context()
	if watchMethods[info.FullMethod] {
		watching, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(g.watches, cancel)()
		ctx = watching
	}
	ctx = context.WithValue(ctx, endingKey{}, g.watches.Done())
	return g.around(ctx, info.FullMethod, func(ctx context.Context) error {
		return handler(srv, streamWith{ss, ctx})
	})
}

// streamWith is a stream with another context.
type streamWith struct {
	grpc.ServerStream
	ctx context.Context
}

func (s streamWith) Context() context.Context { return s.ctx }

func (g guard) around(ctx context.Context, method string, call func(context.Context) error) error {
	start := time.Now()
	done := g.series.begin(g.opts.Name, method)
	err := grpcerr.ToStatus(g.recovered(ctx, method, call))
	code := status.Code(err)
	done(code)
	g.log(ctx, method, code, time.Since(start), err)
	return err
}

// recovered authenticates and calls, and turns a panic into an error: one bad
// request must not take the others of the process down.
func (g guard) recovered(ctx context.Context, method string, call func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			g.opts.Logger.Error("panic in a call", "server", g.opts.Name, "method", method, "panic", p, "stack", string(debug.Stack()))
			err = lake.Errorf(lake.Unknown, "internal error; the server's log has the details")
		}
	}()
	ctx, err = g.authenticate(ctx)
	if err != nil {
		return err
	}
	return call(ctx)
}

func (g guard) log(ctx context.Context, method string, code codes.Code, took time.Duration, err error) {
	level := slog.LevelDebug
	switch code {
	case codes.Internal, codes.Unknown, codes.DataLoss:
		level = slog.LevelError
	}
	if !g.opts.Logger.Enabled(ctx, level) {
		return
	}
	args := []any{"server", g.opts.Name, "method", method, "code", code.String(), "took", took}
	if err != nil {
		args = append(args, "error", err)
	}
	g.opts.Logger.Log(ctx, level, "call", args...)
}
