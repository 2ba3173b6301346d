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
	in    *Asker
	ctx   context.Context //nolint:containedctx // the call's
	idle  time.Duration
	end   *time.Timer
	quiet *time.Timer
	grant *Grant
}

// NewSession reads the messages of in, for a call with the context ctx, for
// total at most and until none came for idle. Close it before the call returns.
func NewSession(ctx context.Context, in PutSource, total, idle time.Duration) *Session {
	return &Session{
		in: NewAsker(ctx, in), ctx: ctx, idle: idle,
		end: time.NewTimer(total), quiet: time.NewTimer(idle), grant: GrantOf(ctx),
	}
}

// Recv returns the next message; io.EOF at the session's end, and lake.Invalid
// for a message of more than [appendwire.MaxSessionBytes].
func (s *Session) Recv() (*flight.FlightData, error) {
	s.quiet.Reset(s.idle)
	select {
	case r := <-s.in.Ask():
		if r.Err == nil && !s.grant.Lasts() {
			return nil, io.EOF
		}
		if r.Err == nil {
			r.Err = fits(r.Message)
		}
		return r.Message, r.Err
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	case <-Ending(s.ctx):
	case <-s.end.C:
		s.end.Reset(0) // for whoever asks again
	case <-s.quiet.C:
	}
	return nil, io.EOF
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
