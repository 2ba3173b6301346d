// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/metadata"

	"github.com/lakeplane/lake/internal/appendwire"
)

// PutSource is the client's side of a DoPut that is passed on.
type PutSource interface {
	Recv() (*flight.FlightData, error)
}

// PutSink takes the answers of a DoPut that is passed on.
type PutSink interface {
	Send(*flight.PutResult) error
}

// RelayPut passes a DoPut on to another server, message by message and
// unchanged, so that its digest still holds, with the size its client
// announced. Nothing is kept: the client waits for the other server by gRPC's
// own flow control. ctx is the incoming call's, with what the outgoing call
// shall carry beside it. answered is called before each answer is passed back.
//
// A session of appends also ends for the other server when this one is
// stopping, see [Session]; what it has in hand is answered.
//
// It returns when the other server has ended the stream. The error is the
// other server's, or that of the client's stream when it broke first.
func RelayPut(ctx context.Context, to flight.FlightServiceClient, in PutSource, out PutSink, answered func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if size := metadata.ValueFromIncomingContext(ctx, appendwire.SizeHeader); len(size) > 0 {
		ctx = metadata.AppendToOutgoingContext(ctx, appendwire.SizeHeader, size[0])
	}
	if appendwire.IsSession(ctx) {
		ctx = metadata.AppendToOutgoingContext(ctx, appendwire.SessionHeader, "1")
		session := NewSession(ctx, in, appendwire.SessionLife, appendwire.SessionIdle)
		defer session.Close()
		in = session
	}
	up, err := to.DoPut(ctx)
	if err != nil {
		return err
	}
	lost := make(chan error, 1)
	go func() { // ends with the client's stream or with ctx
		if err := pump(up, in); err != nil {
			lost <- err
			cancel()
		}
	}()
	for {
		result, err := up.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			select {
			case clientErr := <-lost: // the cause, where our cancellation is the effect
				return clientErr
			default:
				return err
			}
		}
		answered()
		if err := out.Send(result); err != nil {
			return err
		}
	}
}

// pump copies the client's messages. It returns the error of the client's
// side; one of the other side is seen where its answers are read.
func pump(up flight.FlightService_DoPutClient, in PutSource) error {
	for {
		msg, err := in.Recv()
		if errors.Is(err, io.EOF) {
			_ = up.CloseSend() // a broken stream is seen by its reader
			return nil
		} else if err != nil {
			return err
		}
		if up.Send(msg) != nil {
			return nil //nolint:nilerr // the reader of the answers learns why
		}
	}
}
