// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
)

// Options say how a server is built.
type Options struct {
	// Name tells the servers of one process apart in metrics and logs, such
	// as "query" or "meta". Required.
	Name string
	// Auth authenticates every call. Required.
	Auth access.Authenticator
	// TLS is the server's certificate and policy; nil serves plaintext.
	TLS *tls.Config
	// AllowInsecure permits plaintext beyond loopback, for a deployment whose
	// proxy terminates TLS. It never permits a development principal there.
	AllowInsecure bool
	// Logger receives one line a call, at debug level unless it failed on our
	// side. nil means slog.Default.
	Logger *slog.Logger
	// Metrics receives the server's series; nil means none.
	Metrics prometheus.Registerer
	// MaxMessageBytes bounds a received message. 0 means 16 MiB.
	MaxMessageBytes int
	// MaxStreams bounds the concurrent calls of one connection. 0 means 1,000.
	MaxStreams uint32
	// Also registers services beside the server's own, for [Serve].
	Also []func(grpc.ServiceRegistrar)
	// Extra are appended, for what one service alone needs, such as a codec.
	Extra []grpc.ServerOption
}

// The keepalive finds dead peers and lets clients behind idle-killing
// middleboxes ping without being thrown out.
var (
	keepaliveParams = keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}
	keepalivePolicy = keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}
)

// Received data lie in memory until a handler asks for them, as much as the
// window of a stream. gRPC's own windows grow to 16 MiB on a fast connection, and
// hundreds of appends may wait to be admitted. A message that is longer than the
// window is let in whole when its handler asks for it, so only a stream of small
// messages from far away is held up. What one connection has to take in at once
// is not bounded by its own window, which is given back on receipt.
const (
	streamWindow     = 1 << 20
	connectionWindow = 16 << 20
)

// NewServer returns a server without services. It panics when Name or Auth is
// missing, which is a mistake of the program.
func NewServer(opts Options) *grpc.Server { return newServer(context.Background(), opts) }

// newServer returns a server whose watches end with the context watches.
func newServer(watches context.Context, opts Options) *grpc.Server {
	if opts.Name == "" || opts.Auth == nil {
		panic("rpc: a server needs a name and an authenticator")
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	if opts.MaxMessageBytes == 0 {
		opts.MaxMessageBytes = 16 << 20
	}
	if opts.MaxStreams == 0 {
		opts.MaxStreams = 1000
	}
	g := guard{opts: opts, series: newSeries(opts.Metrics), watches: watches}
	all := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(opts.MaxMessageBytes),
		grpc.MaxConcurrentStreams(opts.MaxStreams),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connectionWindow),
		grpc.ConnectionTimeout(20 * time.Second),
		grpc.KeepaliveParams(keepaliveParams),
		grpc.KeepaliveEnforcementPolicy(keepalivePolicy),
		grpc.ChainUnaryInterceptor(g.unary),
		grpc.ChainStreamInterceptor(g.stream),
	}
	if opts.TLS != nil {
		all = append(all, grpc.Creds(credentials.NewTLS(opts.TLS)))
	}
	return grpc.NewServer(append(all, opts.Extra...)...)
}

// CheckListener refuses, with lake.Invalid, a listener that others can reach
// while calls are plaintext or not authenticated.
func CheckListener(addr net.Addr, opts Options) error {
	switch {
	case loopback(addr):
		return nil
	case opts.Auth.LoopbackOnly():
		return lake.Errorf(lake.Invalid, "%s server on %s: without a principals file it may listen on loopback only", opts.Name, addr)
	case opts.TLS == nil && !opts.AllowInsecure:
		return lake.Errorf(lake.Invalid, "%s server on %s: without TLS it may listen on loopback only, unless a proxy that terminates TLS is declared", opts.Name, addr)
	}
	return nil
}

// loopback reports whether only this machine can reach addr. Addresses that
// are not of the network, such as an in-memory pipe, count.
func loopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}

// Stop ends a server: no new calls, then a wait for those under way until ctx
// ends, then the rest is cut off.
func Stop(ctx context.Context, s *grpc.Server) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.GracefulStop()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.Stop()
		<-done
	}
}
