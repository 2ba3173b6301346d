// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
)

// endingKey is the key of a context's Ending.
type endingKey struct{}

// Ending is closed when the server of a call wants calls without an end of
// their own to end; nil outside of a call.
func Ending(ctx context.Context) <-chan struct{} {
	c, _ := ctx.Value(endingKey{}).(<-chan struct{})
	return c
}

// Session reads the messages of a session of appends. To its reader the session
// also ends, as if the client had ended it, when the server is stopping, when
// it has lasted its time, when nothing came for some time, or when the caller
// would not be let in any more. Make one with [NewSession]; one goroutine may
// read it.
type Session struct {
	in     PutSource
	ctx    context.Context //nolint:containedctx // the call's
	idle   time.Duration
	end    *time.Timer
	quiet  *time.Timer
	asked  time.Time // when it was last seen that the caller may call
	next   chan received
	wanted chan struct{}
}

// askEvery is how long a caller who may not call any more can go on with a
// session: about what it takes to notice that a file of principals has changed.
const askEvery = time.Second

type received struct {
	message *flight.FlightData
	err     error
}

// NewSession reads the messages of in, for a call with the context ctx, for
// total at most and until none came for idle. Close it before the call returns.
func NewSession(ctx context.Context, in PutSource, total, idle time.Duration) *Session {
	s := &Session{
		in: in, ctx: ctx, idle: idle, end: time.NewTimer(total), quiet: time.NewTimer(idle), asked: time.Now(),
		next: make(chan received), wanted: make(chan struct{}, 1),
	}
	// A message is asked for when the reader wants it, so that at most one is in
	// memory; the goroutine ends with the call, whose end ends Recv.
	go s.pump()
	return s
}

func (s *Session) pump() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.wanted:
		}
		m, err := s.in.Recv()
		select {
		case <-s.ctx.Done():
			return
		case s.next <- received{m, err}:
		}
	}
}

// Recv returns the next message; io.EOF at the session's end, and lake.Invalid
// for a message of more than [appendwire.MaxSessionBytes].
func (s *Session) Recv() (*flight.FlightData, error) {
	select {
	case s.wanted <- struct{}{}:
	default: // asked for before
	}
	s.quiet.Reset(s.idle)
	select {
	case r := <-s.next:
		if r.err == nil && !s.granted() {
			return nil, io.EOF
		}
		if r.err == nil {
			r.err = fits(r.message)
		}
		return r.message, r.err
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	case <-Ending(s.ctx):
	case <-s.end.C:
		s.end.Reset(0) // for whoever asks again
	case <-s.quiet.C:
	}
	return nil, io.EOF
}

// granted asks from time to time whether the caller may still call.
func (s *Session) granted() bool {
	now := time.Now()
	if now.Sub(s.asked) < askEvery {
		return true
	}
	s.asked = now
	return stillGranted(s.ctx)
}

// fits refuses a message that is too large for a session. It ends the session, as
// a server that passes it on would have to hold it.
func fits(m *flight.FlightData) error {
	if n := appendwire.MessageSize(m); n > appendwire.MaxSessionBytes {
		return lake.Errorf(lake.Invalid, "append session: a message of %d bytes: at most %d are taken, larger appends go alone", n, appendwire.MaxSessionBytes)
	}
	return nil
}

// Close lets go of the timers.
func (s *Session) Close() {
	s.end.Stop()
	s.quiet.Stop()
}
