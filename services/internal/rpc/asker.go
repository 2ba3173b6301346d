// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/flight"
)

// Asker receives a stream's messages when they are asked for, so that its user
// can wait for other things beside, and yet at most one message is in memory. Make
// one with [NewAsker]; one goroutine may use it.
type Asker struct {
	in     PutSource
	ctx    context.Context //nolint:containedctx // the call's
	next   chan Received
	wanted chan struct{}
}

// Received is a message, or why there is none.
type Received struct {
	Message *flight.FlightData
	Err     error
}

// NewAsker asks in, for a call with the context ctx, whose end ends it.
func NewAsker(ctx context.Context, in PutSource) *Asker {
	a := &Asker{in: in, ctx: ctx, next: make(chan Received), wanted: make(chan struct{}, 1)}
	go a.pump()
	return a
}

func (a *Asker) pump() {
	for {
		select {
		case <-a.ctx.Done():
			return
		case <-a.wanted:
		}
		m, err := a.in.Recv()
		select {
		case <-a.ctx.Done():
			return
		case a.next <- Received{m, err}:
		}
	}
}

// Ask asks for the next message, unless it is asked for already, and returns
// where it arrives. Nothing arrives after the end of the call.
func (a *Asker) Ask() <-chan Received {
	select {
	case a.wanted <- struct{}{}:
	default: // asked for before
	}
	return a.next
}
