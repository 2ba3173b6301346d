// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"

	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// putStream is a DoPut whose first message was read to learn what it is.
type putStream struct {
	stream flight.FlightService_DoPutServer
	first  *flight.FlightData
}

// Recv returns the first message once more, and then those that follow.
func (in *putStream) Recv() (*flight.FlightData, error) {
	if d := in.first; d != nil {
		in.first = nil
		return d, nil
	}
	return in.stream.Recv()
}

// DoPut serves appends, sessions of them, bulk ingestion and the binding of parameters.
func (f *flightService) DoPut(stream flight.FlightService_DoPutServer) error {
	if !appendwire.IsSession(stream.Context()) { // which is open more than it is served
		defer f.metrics.request()()
	}
	return f.metrics.rejected(grpcerr.ToStatus(f.put(stream)))
}

func (f *flightService) put(stream flight.FlightService_DoPutServer) error {
	ctx := stream.Context()
	p, err := caller(ctx)
	if err != nil {
		return err
	}
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return lake.Errorf(lake.Invalid, "DoPut: the stream ended before its first message")
	} else if err != nil {
		return err
	}
	in := &putStream{stream: stream, first: first}
	if appendwire.IsSession(ctx) || appendwire.IsCommand(first.GetFlightDescriptor()) {
		return f.forwardAppend(ctx, p, in)
	}
	cmd, err := descriptorCommand(first.GetFlightDescriptor())
	if err != nil {
		return err
	}
	switch cmd := cmd.(type) {
	case *pb.CommandPreparedStatementQuery:
		return f.bindParameters(p, cmd.GetPreparedStatementHandle(), in)
	case *pb.CommandStatementIngest:
		return f.ingest(ctx, p, cmd, in)
	case *pb.CommandStatementUpdate, *pb.CommandPreparedStatementUpdate:
		return errNoSQLWrites
	}
	return unsupportedCommand(cmd)
}

var errNoSQLWrites = lake.Errorf(lake.Invalid, "SQL statements only read: append rows by bulk ingestion, and create or drop tables by the Catalog service")
