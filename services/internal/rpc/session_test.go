// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rpc_test

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/internal/rpc"
)

// sender is a client whose messages a test makes, and which waits for as long
// as its call when there are none.
type sender struct {
	ctx      context.Context //nolint:containedctx // the call's
	messages chan *flight.FlightData
	broken   chan error
	asked    chan struct{}
}

func newSender(ctx context.Context) *sender {
	return &sender{ctx: ctx, messages: make(chan *flight.FlightData, 100), broken: make(chan error, 1), asked: make(chan struct{}, 100)}
}

func (s *sender) Recv() (*flight.FlightData, error) {
	s.asked <- struct{}{}
	select {
	case m := <-s.messages:
		return m, nil
	case err := <-s.broken:
		return nil, err
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func numbered(i int) *flight.FlightData {
	return &flight.FlightData{AppMetadata: []byte(strconv.Itoa(i))}
}

const long = time.Hour

func TestASessionEnds(t *testing.T) {
	for label, tc := range map[string]struct {
		total, idle time.Duration
		end         func(s *sender, cancel context.CancelFunc)
		want        error
	}{
		"when it has lasted its time":    {time.Millisecond, long, nil, io.EOF},
		"when nothing comes":             {long, time.Millisecond, nil, io.EOF},
		"with its client":                {long, long, func(s *sender, _ context.CancelFunc) { s.broken <- io.EOF }, io.EOF},
		"with its client's connection":   {long, long, func(s *sender, _ context.CancelFunc) { s.broken <- io.ErrUnexpectedEOF }, io.ErrUnexpectedEOF},
		"with its call":                  {long, long, func(_ *sender, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"at once, when its time is over": {0, long, nil, io.EOF},
	} {
		t.Run(label, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			in := newSender(ctx)
			s := rpc.NewSession(ctx, in, tc.total, tc.idle)
			defer s.Close()
			if tc.end != nil {
				tc.end(in, cancel)
			}
			_, err := s.Recv()
			require.ErrorIs(t, err, tc.want)
			if errors.Is(tc.want, io.EOF) && tc.end == nil && tc.total < long {
				_, err = s.Recv()
				require.ErrorIs(t, err, io.EOF, "and stays ended")
			}
		})
	}
}

// TestASessionKeepsTheOrder, and asks for a message only when one is wanted.
func TestASessionKeepsTheOrder(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in := newSender(ctx)
	s := rpc.NewSession(ctx, in, long, 50*time.Millisecond)
	defer s.Close()
	for i := range 50 {
		in.messages <- numbered(i)
	}
	for i := range 50 {
		m, err := s.Recv()
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(i), string(m.GetAppMetadata()))
		require.Len(t, in.asked, i+1, "at most one message is in memory")
	}
	_, err := s.Recv() // nothing comes, and the message asked for is still to come
	require.ErrorIs(t, err, io.EOF)
	in.messages <- numbered(50)
	m, err := s.Recv()
	require.NoError(t, err)
	require.Equal(t, "50", string(m.GetAppMetadata()))
}

// TestSessionsEndBeforeTheServer: a stopping server ends them after it has
// drained, and waits for what their handlers do then.
func TestSessionsEndBeforeTheServer(t *testing.T) {
	opened, ended, last := make(chan struct{}), make(chan error, 1), make(chan struct{})
	d := newDrainer(func(ctx context.Context) error {
		in := newSender(ctx)
		s := rpc.NewSession(ctx, in, long, long)
		defer s.Close()
		close(opened)
		_, err := s.Recv()
		ended <- err
		<-last
		return nil
	})
	conn, stop, served := d.run(t, time.Minute)
	answered := make(chan error, 1)
	go func() {
		stream, err := lakepb.NewCatalogClient(conn).CatalogSnapshot(t.Context(), &lakepb.CatalogSnapshotRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		answered <- err
	}()
	<-opened
	stop()
	<-d.draining
	select {
	case err := <-ended:
		require.Fail(t, "the session ended before the server had drained", "%v", err)
	default:
	}
	close(d.drained)
	require.ErrorIs(t, <-ended, io.EOF)
	close(last)
	require.ErrorIs(t, <-answered, io.EOF, "the handler has its say")
	require.NoError(t, <-served)
}

// changing is an authenticator whose answer changes.
type changing struct {
	now atomic.Pointer[access.Principal]
}

func (*changing) LoopbackOnly() bool { return false }

func (c *changing) Authenticate(context.Context, string) (access.Principal, error) {
	if p := c.now.Load(); p != nil {
		return *p, nil
	}
	return access.Principal{}, lake.Errorf(lake.Unauthenticated, "withdrawn")
}

// echoSession answers each message of a session.
type echoSession struct{ flight.BaseFlightServer }

func (*echoSession) DoPut(stream flight.FlightService_DoPutServer) error {
	s := rpc.NewSession(stream.Context(), stream, long, long)
	defer s.Close()
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(&flight.PutResult{AppMetadata: m.GetAppMetadata()}); err != nil {
			return err
		}
	}
}

// TestASessionEndsWithItsGrant: whoever may not call any more cannot go on with
// a session for long either.
func TestASessionEndsWithItsGrant(t *testing.T) {
	ann := access.Principal{Name: "ann", Tenant: "red", Role: access.User, Namespaces: []string{"a", "b"}}
	less, other := ann, ann
	less.Namespaces = []string{"b"}
	other.Tenant = "blue"
	for label, then := range map[string]*access.Principal{"withdrawn": nil, "narrowed": &less, "another tenant's": &other} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			auth := new(changing)
			auth.now.Store(&ann)
			conn := connect(t, rpc.Options{Auth: auth}, func(server *grpc.Server) {
				flight.RegisterFlightServiceServer(server, new(echoSession))
			})
			stream, err := flight.NewFlightServiceClient(conn).DoPut(t.Context())
			require.NoError(t, err)
			goesOn := func() bool {
				if err := stream.Send(numbered(1)); err != nil {
					return false
				}
				_, err := stream.Recv()
				return err == nil
			}
			for began := time.Now(); time.Since(began) < 1500*time.Millisecond; {
				require.True(t, goesOn(), "its caller is asked for and found")
			}
			auth.now.Store(then)
			require.Eventually(t, func() bool { return !goesOn() }, 10*time.Second, 10*time.Millisecond)
		})
	}
}
