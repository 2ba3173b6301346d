// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"errors"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	flightpb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// connectTimeout bounds the first call when the caller's context does not.
const connectTimeout = 10 * time.Second

// Client talks to one Lake deployment. It is safe for concurrent use; all calls
// share its connections. Every method honours its context, and fails with an
// error of a lake.Kind.
type Client struct {
	conns       []*grpc.ClientConn
	catalog     lakepb.CatalogClient
	procedures  lakepb.ProceduresClient
	appends     flight.FlightServiceClient
	sql         *flightsql.Client
	sessions    sessions
	memory      *tableMemory
	writes      ownWrites
	observer    Observer
	checkpoints *checkpointDir  // nil without
	closed      context.Context //nolint:containedctx // the client's life, ended by Close
	end         context.CancelFunc
	retryWindow time.Duration
}

// Connect connects to a query replica at addr, a host:port, and makes one call
// to prove that it answers and accepts the credentials. It fails with
// lake.Unavailable when nobody answers, lake.Unauthenticated when the token is
// not accepted and lake.Invalid when addr is not usable.
//
// addr may list several replicas of one deployment, separated by commas, in
// the order of preference. Calls go to the first that is connected and says
// that it serves; they move on when it does not and return when it is back.
// Reads that meet the failure are repeated on the next; appends are repeated
// as [Client.Append] says; other calls that were on their way fail with
// lake.Unavailable. One program stays with one replica, so it reads its own
// writes. The rules about TLS, loopback and tokens hold for each address.
func Connect(ctx context.Context, addr string, opts ...Option) (*Client, error) {
	o := options{retryWindow: defaultRetryWindow, schemaTTL: defaultSchemaTTL, observer: unobserved{}}
	for _, opt := range opts {
		opt(&o)
	}
	c := &Client{retryWindow: o.retryWindow, memory: newMemory(o.schemaTTL), observer: o.observer}
	c.sessions.client, c.sessions.times = c, defaultSessionTimes
	c.closed, c.end = context.WithCancel(context.Background())
	if o.checkpoints != "" {
		var err error
		if c.checkpoints, err = openCheckpoints(o.checkpoints); err != nil {
			c.end()
			return nil, err
		}
	}
	query, err := c.dial(ctx, addr, flightpb.FlightService_ServiceDesc.ServiceName, &o)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	authority := query
	if o.metasrv != "" {
		if authority, err = c.dial(ctx, o.metasrv, lakepb.Catalog_ServiceDesc.ServiceName, &o); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	c.sql = &flightsql.Client{Client: flight.NewClientFromConn(query, nil), Alloc: memory.DefaultAllocator}
	c.catalog = lakepb.NewCatalogClient(authority)
	c.procedures = lakepb.NewProceduresClient(authority)
	c.appends = flight.NewFlightServiceClient(authority)
	return c, nil
}

// Close ends the connections. Calls in flight fail, appends among them as
// pending where an attempt may have been applied. Closing twice is harmless.
func (c *Client) Close() error {
	if c.closed.Err() != nil {
		return nil //nolint:nilerr // the error says that it is closed already
	}
	c.end()
	c.sessions.close()
	var failed error
	for _, conn := range c.conns {
		failed = errors.Join(failed, conn.Close())
	}
	if c.checkpoints != nil {
		failed = errors.Join(failed, c.checkpoints.close())
	}
	return failed
}

// dial connects to the first of some addresses that serves.
func (c *Client) dial(ctx context.Context, list, service string, o *options) (*grpc.ClientConn, error) {
	addrs, err := parseEndpoints(list)
	if err != nil {
		return nil, err
	}
	conn, err := o.newConn(addrs, service)
	if err != nil {
		return nil, err
	}
	c.conns = append(c.conns, conn)
	return conn, probe(ctx, conn, list)
}

// probe asks for the server's health. A server that answers without knowing
// the question is as good: only silence and refused credentials matter here.
func probe(ctx context.Context, conn *grpc.ClientConn, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	_, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	switch status.Code(err) {
	case codes.OK, codes.Unimplemented, codes.NotFound:
		return nil
	case codes.DeadlineExceeded, codes.Canceled:
		return &lake.Error{Kind: lake.Unavailable, Op: "connect to " + addr, Err: err}
	}
	return lake.Wrap("connect to "+addr, grpcerr.FromStatus(err))
}
