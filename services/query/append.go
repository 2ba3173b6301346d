// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/internal/rpc"
)

// forwardAppend passes an append, or a session of them, to the authority, message by message and
// unchanged, so that its digest still holds; nothing is kept here. The table's
// resolution is forgotten before the client learns of the new version, and
// also when the outcome is not known, so the client reads its write through
// this replica.
func (s *Server) forwardAppend(ctx context.Context, p access.Principal, in *putStream) error {
	table, err := appendedTo(ctx, in.first.GetFlightDescriptor())
	if err != nil {
		return err
	}
	if !p.May(table.Namespace) {
		return missing(table)
	}
	answered := func() { s.names.Evict(table) }
	defer answered()
	if s.opts.Append != nil {
		return s.opts.Append(&passedStream{FlightService_DoPutServer: in.stream, in: in, answered: answered})
	}
	return rpc.RelayPut(rpc.Delegate(ctx, p), s.authority, in, in.stream, answered)
}

// appendedTo is the table that an append, or a session, opens with.
func appendedTo(ctx context.Context, d *flight.FlightDescriptor) (lake.TableName, error) {
	if appendwire.IsSession(ctx) {
		o, err := appendwire.ParseOpening(d)
		return o.Table, err
	}
	cmd, err := appendwire.ParseCommand(d)
	return cmd.Table, err
}

// passedStream is the client's stream as an authority in this process has it.
type passedStream struct {
	flight.FlightService_DoPutServer
	in       *putStream
	answered func()
}

// Recv returns the client's next message.
func (s *passedStream) Recv() (*flight.FlightData, error) { return s.in.Recv() }

// Send passes an answer on.
func (s *passedStream) Send(result *flight.PutResult) error {
	s.answered()
	return s.FlightService_DoPutServer.Send(result)
}
