// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
)

// flightService speaks the Flight protocol: it reads commands, calls the
// server and translates its errors. The base server of the Arrow library is
// not used, because it reads every DoPut as record batches (an append is
// forwarded as it is) and decides when a schema is sent.
type flightService struct {
	pb.UnimplementedFlightServiceServer
	*Server
}

// caller returns who calls. Authentication happened before.
func caller(ctx context.Context) (access.Principal, error) {
	p, ok := access.From(ctx)
	if !ok {
		return p, lake.Errorf(lake.Unauthenticated, "the call carries no principal")
	}
	return p, nil
}

// command unpacks the protobuf Any inside a descriptor or a ticket.
func command(b []byte) (proto.Message, error) {
	var packed anypb.Any
	if err := proto.Unmarshal(b, &packed); err != nil {
		return nil, lake.Errorf(lake.Invalid, "command: not a google.protobuf.Any: %w", err)
	}
	cmd, err := packed.UnmarshalNew()
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "command %.200q: %w", packed.GetTypeUrl(), err)
	}
	return cmd, nil
}

func descriptorCommand(desc *flight.FlightDescriptor) (proto.Message, error) {
	if desc.GetType() != flight.DescriptorCMD {
		return nil, lake.Errorf(lake.Invalid, "descriptor of type %s: want a Flight SQL command", desc.GetType())
	}
	return command(desc.GetCmd())
}

func unsupportedCommand(cmd proto.Message) error {
	return lake.Errorf(lake.Unsupported, "command %s is not supported", cmd.ProtoReflect().Descriptor().Name())
}

// GetFlightInfo plans a statement or announces a metadata call.
func (f *flightService) GetFlightInfo(ctx context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	defer f.metrics.request()()
	info, err := f.info(ctx, desc)
	return info, f.metrics.rejected(grpcerr.ToStatus(err))
}

func (f *flightService) info(ctx context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	cmd, err := descriptorCommand(desc)
	if err != nil {
		return nil, err
	}
	switch cmd := cmd.(type) {
	case *pb.CommandStatementQuery:
		if err := noTransaction(cmd.GetTransactionId()); err != nil {
			return nil, err
		}
		return f.statementInfo(ctx, p, cmd.GetQuery(), nil, desc)
	case *pb.CommandPreparedStatementQuery:
		return f.preparedInfo(ctx, p, cmd.GetPreparedStatementHandle(), desc)
	}
	list, ok := f.listing(cmd)
	if !ok {
		return nil, unsupportedCommand(cmd)
	}
	return &flight.FlightInfo{
		Schema:           flight.SerializeSchema(list.schema, memory.DefaultAllocator),
		FlightDescriptor: desc,
		Endpoint:         []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: desc.GetCmd()}}},
		TotalRecords:     -1, TotalBytes: -1,
	}, nil
}

// PollFlightInfo plans like GetFlightInfo and reports the query as ready:
// execution starts with DoGet, so there is nothing to wait for.
func (f *flightService) PollFlightInfo(ctx context.Context, desc *flight.FlightDescriptor) (*flight.PollInfo, error) {
	info, err := f.GetFlightInfo(ctx, desc)
	if err != nil {
		return nil, err
	}
	poll := &flight.PollInfo{Info: info, Progress: proto.Float64(1)}
	if n := len(info.GetEndpoint()); n > 0 {
		poll.ExpirationTime = info.GetEndpoint()[n-1].GetExpirationTime()
	}
	return poll, nil
}

// GetSchema returns the schema that GetFlightInfo would announce.
func (f *flightService) GetSchema(ctx context.Context, desc *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	info, err := f.GetFlightInfo(ctx, desc)
	if err != nil {
		return nil, err
	}
	return &flight.SchemaResult{Schema: info.GetSchema()}, nil
}

// DoGet redeems a ticket.
func (f *flightService) DoGet(t *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	defer f.metrics.request()()
	return f.metrics.rejected(grpcerr.ToStatus(f.get(t, stream)))
}

func (f *flightService) get(t *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	ctx := stream.Context()
	p, err := caller(ctx)
	if err != nil {
		return err
	}
	cmd, err := command(t.GetTicket())
	if err != nil {
		return f.statement.Refuse() // a ticket is opaque: it is good or it is not
	}
	switch cmd := cmd.(type) {
	case *pb.TicketStatementQuery:
		return f.execute(ctx, p, cmd.GetStatementHandle(), stream)
	case *pb.CommandStatementQuery, *pb.CommandPreparedStatementQuery:
		return lake.Errorf(lake.Invalid, "DoGet takes the ticket of a FlightInfo, not a command: call GetFlightInfo first")
	}
	list, ok := f.listing(cmd)
	if !ok {
		return f.statement.Refuse()
	}
	leave, err := f.enter(ctx, p)
	if err != nil {
		return err
	}
	defer leave()
	w := f.newStreamWriter(stream, list.schema)
	if err := list.rows(ctx, p, w.Write); err != nil {
		return err
	}
	return w.Close()
}

func noTransaction(id []byte) error {
	if len(id) > 0 {
		return lake.Errorf(lake.Unsupported, "transactions are not supported")
	}
	return nil
}
