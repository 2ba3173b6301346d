// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rpc_test

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/internal/rpc"
)

// drainer is a service whose drain and calls last as long as a test likes.
type drainer struct {
	echo
	ready    atomic.Bool
	draining chan struct{} // closed when the drain has begun
	drained  chan struct{} // ends the drain
}

func newDrainer(get func(context.Context) error) *drainer {
	return &drainer{echo: echo{get: get}, draining: make(chan struct{}), drained: make(chan struct{})}
}

func (d *drainer) Register(r grpc.ServiceRegistrar) { lakepb.RegisterCatalogServer(r, d) }
func (d *drainer) Ready() bool                      { return d.ready.Load() }

func (d *drainer) Run(ctx context.Context) error {
	<-ctx.Done()
	close(d.draining)
	<-d.drained
	return nil
}

const serviceName = "svc"

// run serves d until stop is called, which returns how Serve ended.
func (d *drainer) run(t *testing.T, grace time.Duration) (conn *grpc.ClientConn, stop context.CancelFunc, ended chan error) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	ended = make(chan error, 1)
	opts := rpc.Options{Name: "test", Auth: access.Development(), Logger: slog.New(slog.DiscardHandler)}
	go func() { ended <- rpc.Serve(ctx, lis, opts, d, serviceName, grace) }()
	conn, err = grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn, cancel, ended
}

// A stopping server says so before it drains, lets calls end, and does not
// wait for those who only watch.
func TestServeTellsThenDrainsThenStops(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	d := newDrainer(func(context.Context) error {
		close(entered)
		<-release
		return nil
	})
	conn, stop, ended := d.run(t, time.Minute)
	watch, err := grpc_health_v1.NewHealthClient(conn).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: serviceName})
	require.NoError(t, err)
	next := func() grpc_health_v1.HealthCheckResponse_ServingStatus {
		t.Helper()
		resp, err := watch.Recv()
		require.NoError(t, err)
		return resp.GetStatus()
	}
	require.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, next())
	d.ready.Store(true)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, next())

	answered := make(chan error, 1)
	go func() {
		_, err := lakepb.NewCatalogClient(conn).GetTable(t.Context(), &lakepb.GetTableRequest{})
		answered <- err
	}()
	<-entered
	stop()
	<-d.draining
	require.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, next(), "said while the service drains")
	close(d.drained)
	_, err = watch.Recv()
	require.Error(t, err, "the watch does not hold the server up")
	select {
	case err := <-ended:
		t.Fatalf("the server ended under a call: %v", err)
	case err := <-answered:
		t.Fatalf("the call ended early: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	require.NoError(t, <-answered)
	require.NoError(t, <-ended)
}

// The drain and the calls that are left share one grace.
func TestServeHasOneGrace(t *testing.T) {
	entered := make(chan struct{})
	d := newDrainer(func(ctx context.Context) error {
		close(entered)
		<-ctx.Done() // never by itself
		return ctx.Err()
	})
	const grace = 2 * time.Second // half of it is room for a busy machine
	conn, stop, ended := d.run(t, grace)
	go func() { _, _ = lakepb.NewCatalogClient(conn).GetTable(t.Context(), &lakepb.GetTableRequest{}) }()
	<-entered
	began := time.Now()
	stop()
	<-d.draining
	time.Sleep(grace / 2) // a drain that takes half of it
	close(d.drained)
	require.NoError(t, <-ended)
	require.GreaterOrEqual(t, time.Since(began), grace)
	require.Less(t, time.Since(began), grace+grace/2, "the calls got what the drain had left")
}

func TestServeRefusesAnOpenListenerAndClosesIt(t *testing.T) {
	lis, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	err = rpc.Serve(t.Context(), lis, rpc.Options{Name: "test", Auth: access.Development()}, newDrainer(nil), serviceName, time.Second)
	require.Equal(t, lake.Invalid, lake.KindOf(err), "%v", err)
	_, err = lis.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

// A listener that breaks ends the server with the reason.
func TestServeEndsWithItsListener(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d := newDrainer(nil)
	close(d.drained)
	ended := make(chan error, 1)
	go func() {
		ended <- rpc.Serve(t.Context(), lis, rpc.Options{Name: "test", Auth: access.Development()}, d, serviceName, time.Second)
	}()
	require.NoError(t, lis.Close())
	require.ErrorIs(t, <-ended, net.ErrClosed)
}
