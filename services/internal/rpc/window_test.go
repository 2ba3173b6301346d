// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/internal/rpc"
)

// busyPut reads the streams whose first message says so, and leaves the others.
type busyPut struct{ flight.BaseFlightServer }

func (*busyPut) DoPut(s flight.FlightService_DoPutServer) error {
	first, err := s.Recv()
	if err != nil {
		return err
	}
	if string(first.GetAppMetadata()) != "read" {
		<-s.Context().Done()
		return s.Context().Err()
	}
	for err == nil {
		_, err = s.Recv()
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	return s.Send(new(flight.PutResult))
}

// farConn hears late of what the other side has sent, so that gRPC takes the
// connection for one worth filling.
type farConn struct{ net.Conn }

func (c farConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	time.Sleep(5 * time.Millisecond)
	return n, err
}

func dialFar(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	return farConn{conn}, err
}

// TestWhatNobodyReadsIsBounded: a stream whose handler does not read takes
// little memory, also on a connection that is fast and far.
func TestWhatNobodyReadsIsBounded(t *testing.T) {
	opts := rpc.Options{Auth: access.Development()}
	client := flight.NewFlightServiceClient(connect(t, opts, func(server *grpc.Server) {
		flight.RegisterFlightServiceServer(server, new(busyPut))
	}, grpc.WithContextDialer(dialFar)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begin := func(what string) flight.FlightService_DoPutClient {
		stream, err := client.DoPut(ctx)
		require.NoError(t, err)
		require.NoError(t, stream.Send(&flight.FlightData{AppMetadata: []byte(what)}))
		return stream
	}
	body := &flight.FlightData{DataBody: make([]byte, 64<<10)}
	fast := begin("read")
	for range 2048 {
		require.NoError(t, fast.Send(body))
	}
	require.NoError(t, fast.CloseSend())
	_, err := fast.Recv()
	require.NoError(t, err)

	unread := begin("leave")
	var sent atomic.Int64
	ended := make(chan error, 1)
	go func() {
		for {
			if err := unread.Send(body); err != nil {
				ended <- err
				return
			}
			sent.Add(int64(len(body.DataBody)))
		}
	}()
	// Nothing tells that a sender is stuck but that it does not go on.
	for last := int64(-1); last != sent.Load(); time.Sleep(300 * time.Millisecond) {
		last = sent.Load()
	}
	require.Positive(t, sent.Load())
	require.Less(t, sent.Load(), int64(2<<20), "its window, and what the client keeps before it waits")
	cancel()
	require.Error(t, <-ended)
}
