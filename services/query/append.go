// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/internal/rpc"
)

// forwardAppend passes an append to the authority, message by message and
// unchanged, so that its digest still holds; nothing is kept here. The table's
// resolution is forgotten before the client learns of the new version, and
// also when the outcome is not known, so the client reads its write through
// this replica.
func (s *Server) forwardAppend(ctx context.Context, p access.Principal, in *putStream) error {
	cmd, err := appendwire.ParseCommand(in.first.GetFlightDescriptor())
	if err != nil {
		return err
	}
	if !p.May(cmd.Table.Namespace) {
		return missing(cmd.Table)
	}
	defer s.names.Evict(cmd.Table)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	up, err := s.authority.DoPut(rpc.Delegate(ctx, p))
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
	return s.acknowledge(up, in.stream, cmd.Table, lost)
}

// pump copies the client's messages. It returns the error of the client's
// side; one of the authority's side is seen where its answers are read.
func pump(up flight.FlightService_DoPutClient, in *putStream) error {
	for {
		msg, err := in.Recv()
		if errors.Is(err, io.EOF) {
			_ = up.CloseSend() // a broken stream is seen by its reader
			return nil
		} else if err != nil {
			return err
		}
		if up.Send(msg) != nil {
			return nil //nolint:nilerr // the reader of the authority's answers learns why
		}
	}
}

// acknowledge copies the authority's answers to the client.
func (s *Server) acknowledge(up flight.FlightService_DoPutClient, out flight.FlightService_DoPutServer, table lake.TableName, lost <-chan error) error {
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
		s.names.Evict(table)
		if err := out.Send(result); err != nil {
			return err
		}
	}
}
