// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/lakeplane/lake/internal/reads"
	"github.com/lakeplane/lake/lake"
)

const (
	// defaultRetryWindow is how long Append repeats ambiguous failures.
	defaultRetryWindow = 30 * time.Second
	// maxMessageBytes bounds a received message. Servers keep theirs below
	// 4 MiB; the slack is for a single large row.
	maxMessageBytes = lake.MaxAppendBytes + 1<<20
)

// keepaliveParams find a server that vanished without closing its connections
// while a call waits for it. Servers of Lake allow a ping every five seconds.
var keepaliveParams = keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}

// connectParams try a server that is away again within seconds; gRPC's own
// limit is two minutes, for which nobody would use a replica that is back.
var connectParams = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
	MinConnectTimeout: 5 * time.Second,
}

// Option configures [Connect].
type Option func(*options)

type options struct {
	metasrv     string
	token       string
	tls         *tls.Config
	insecure    bool
	retryWindow time.Duration
	schemaTTL   time.Duration
	checkpoints string
	observer    Observer
	dial        []grpc.DialOption
}

// WithMetasrv sends catalog calls, procedures and appends straight to the
// authority at addr instead of through the query replica. addr may be a list,
// as for [Connect].
func WithMetasrv(addr string) Option { return func(o *options) { o.metasrv = addr } }

// WithToken sends a bearer token with every call. It is refused over a
// plaintext connection, except to loopback or with [WithInsecure].
func WithToken(token string) Option { return func(o *options) { o.token = token } }

// WithTLS connects by TLS with the given configuration, also to loopback.
// Without it, other hosts are reached by TLS with the system's roots and
// loopback in plaintext.
func WithTLS(config *tls.Config) Option { return func(o *options) { o.tls = config } }

// WithInsecure allows plaintext to hosts that are not loopback. Rows and
// tokens can then be read by anyone on the way.
func WithInsecure() Option { return func(o *options) { o.insecure = true } }

// WithRetryWindow sets how long [Client.Append] repeats failures that may pass;
// the default is 30 seconds. Zero tries once. A context that ends earlier ends
// the tries.
func WithRetryWindow(d time.Duration) Option { return func(o *options) { o.retryWindow = d } }

// WithSchemaTTL sets how long the client believes what it knows of a table, its
// schema and incarnation; the default is 30 seconds. Zero remembers nothing:
// then appends are checked by the authority only and are not pinned.
func WithSchemaTTL(d time.Duration) Option { return func(o *options) { o.schemaTTL = d } }

// WithCheckpoints keeps every append in a file of dir from before it is first
// sent until its outcome is known, so that a process which ends in between
// leaves something to resume, see [Client.PendingAppends]. dir is made with
// mode 0700 when it is missing; one that others may read is refused.
//
// Each append then writes and syncs its rows once, and is pinned to the table's
// incarnation, which costs a round trip when the client does not know it.
func WithCheckpoints(dir string) Option { return func(o *options) { o.checkpoints = dir } }

// WithObserver tells o what the client's appends do.
func WithObserver(o Observer) Option {
	return func(opts *options) {
		if opts.observer = o; o == nil {
			opts.observer = unobserved{}
		}
	}
}

// WithDialOptions adds options of the gRPC connections, such as interceptors
// for tracing.
func WithDialOptions(opts ...grpc.DialOption) Option {
	return func(o *options) { o.dial = append(o.dial, opts...) }
}

// dialOptions decides how the addresses are reached.
func (o *options) dialOptions(addrs []string) ([]grpc.DialOption, error) {
	plaintext, err := o.plaintext(addrs)
	if err != nil {
		return nil, err
	}
	transport := credentials.NewTLS(o.tls)
	if plaintext {
		transport = insecure.NewCredentials()
	}
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes)),
		grpc.WithUserAgent("lake-sdk-go"),
		grpc.WithKeepaliveParams(keepaliveParams),
		grpc.WithConnectParams(connectParams),
		grpc.WithChainUnaryInterceptor(reads.Repeating),
	}
	if o.token != "" {
		if strings.ContainsAny(o.token, "\r\n\x00") {
			return nil, lake.Errorf(lake.Invalid, "the token holds a line break or NUL: it must be one line of text")
		}
		opts = append(opts, grpc.WithPerRPCCredentials(bearer{o.token, !plaintext}))
	}
	return append(opts, o.dial...), nil
}

// isLoopback reports whether host:port can only be this machine.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// bearer is the credential of every call.
type bearer struct {
	token  string
	secure bool
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (b bearer) RequireTransportSecurity() bool { return b.secure }
