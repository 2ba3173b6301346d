// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
)

// action serves one Flight action: it reads the body and returns the result.
type action func(f *flightService, ctx context.Context, p access.Principal, body []byte) (proto.Message, error)

// packedActions carry their messages in a google.protobuf.Any.
var packedActions = map[string]action{
	flightsql.CreatePreparedStatementActionType: createPrepared,
	flightsql.ClosePreparedStatementActionType:  closePrepared,
	flightsql.CancelQueryActionType:             cancelQuery,
}

// plainActions carry their messages as they are.
var plainActions = map[string]action{
	flight.CancelFlightInfoActionType:    cancelFlightInfo,
	flight.RenewFlightEndpointActionType: renewEndpoint,
	flight.SetSessionOptionsActionType:   setSession,
	flight.GetSessionOptionsActionType:   getSession,
	flight.CloseSessionActionType:        closeSession,
}

// refusedActions are of the standard and not for this server.
var refusedActions = map[string]string{
	flightsql.BeginTransactionActionType:            "transactions are not supported",
	flightsql.EndTransactionActionType:              "transactions are not supported",
	flightsql.BeginSavepointActionType:              "transactions are not supported",
	flightsql.EndSavepointActionType:                "transactions are not supported",
	flightsql.CreatePreparedSubstraitPlanActionType: "Substrait plans are not supported",
}

var actionTypes = []*flight.ActionType{
	{Type: flightsql.CreatePreparedStatementActionType, Description: "Prepares a SELECT statement."},
	{Type: flightsql.ClosePreparedStatementActionType, Description: "Closes a prepared statement."},
	{Type: flightsql.CancelQueryActionType, Description: "Stops a query (older form of CancelFlightInfo)."},
	{Type: flight.CancelFlightInfoActionType, Description: "Stops a query."},
	{Type: flight.RenewFlightEndpointActionType, Description: "Extends the life of an endpoint's ticket."},
	{Type: flight.SetSessionOptionsActionType, Description: "Sets session options; only the catalog."},
	{Type: flight.GetSessionOptionsActionType, Description: "Lists session options."},
	{Type: flight.CloseSessionActionType, Description: "Ends a session."},
}

// ListActions lists what DoAction serves.
func (f *flightService) ListActions(_ *flight.Empty, stream flight.FlightService_ListActionsServer) error {
	for _, t := range actionTypes {
		if err := stream.Send(t); err != nil {
			return err
		}
	}
	return nil
}

// DoAction serves one action.
func (f *flightService) DoAction(a *flight.Action, stream flight.FlightService_DoActionServer) error {
	defer f.metrics.request()()
	return f.metrics.rejected(grpcerr.ToStatus(f.act(a, stream)))
}

func (f *flightService) act(a *flight.Action, stream flight.FlightService_DoActionServer) error {
	ctx := stream.Context()
	p, err := caller(ctx)
	if err != nil {
		return err
	}
	run, packed := packedActions[a.GetType()]
	if !packed {
		run = plainActions[a.GetType()]
	}
	if run == nil {
		if why, ok := refusedActions[a.GetType()]; ok {
			return lake.Errorf(lake.Unsupported, "action %s: %s", a.GetType(), why)
		}
		return lake.Errorf(lake.Unsupported, "action %.200q is not supported", a.GetType())
	}
	result, err := run(f, ctx, p, a.GetBody())
	if err != nil {
		return err
	}
	body, err := encodeResult(result, packed)
	if err != nil {
		return err
	}
	return stream.Send(&flight.Result{Body: body})
}

func encodeResult(result proto.Message, packed bool) ([]byte, error) {
	if result == nil {
		return nil, nil
	}
	if packed {
		wrapped, err := anypb.New(result)
		if err != nil {
			return nil, err
		}
		result = wrapped
	}
	return proto.Marshal(result)
}

// unpack reads the body of a packed action.
func unpack(body []byte, into proto.Message) error {
	var packed anypb.Any
	if err := proto.Unmarshal(body, &packed); err != nil {
		return lake.Errorf(lake.Invalid, "action: not a google.protobuf.Any: %w", err)
	}
	if err := packed.UnmarshalTo(into); err != nil {
		return lake.Errorf(lake.Invalid, "action: %w", err)
	}
	return nil
}

// plain reads the body of a plain action.
func plain(body []byte, into proto.Message) error {
	if err := proto.Unmarshal(body, into); err != nil {
		return lake.Errorf(lake.Invalid, "action: %w", err)
	}
	return nil
}

func createPrepared(f *flightService, ctx context.Context, p access.Principal, body []byte) (proto.Message, error) {
	var req pb.ActionCreatePreparedStatementRequest
	if err := unpack(body, &req); err != nil {
		return nil, err
	}
	return f.prepare(ctx, p, &req)
}

func closePrepared(f *flightService, _ context.Context, p access.Principal, body []byte) (proto.Message, error) {
	var req pb.ActionClosePreparedStatementRequest
	if err := unpack(body, &req); err != nil {
		return nil, err
	}
	f.closePrepared(p, req.GetPreparedStatementHandle())
	return nil, nil
}

func cancelFlightInfo(f *flightService, ctx context.Context, p access.Principal, body []byte) (proto.Message, error) {
	var req flight.CancelFlightInfoRequest
	if err := plain(body, &req); err != nil {
		return nil, err
	}
	status, err := f.cancel(ctx, p, req.GetInfo())
	return &flight.CancelFlightInfoResult{Status: status}, err
}

func cancelQuery(f *flightService, ctx context.Context, p access.Principal, body []byte) (proto.Message, error) {
	var req pb.ActionCancelQueryRequest //nolint:staticcheck // older clients still send it
	if err := unpack(body, &req); err != nil {
		return nil, err
	}
	var info flight.FlightInfo
	if err := plain(req.GetInfo(), &info); err != nil {
		return nil, err
	}
	status, err := f.cancel(ctx, p, &info)
	return &pb.ActionCancelQueryResult{ //nolint:staticcheck // older clients still expect it
		Result: pb.ActionCancelQueryResult_CancelResult(status),
	}, err
}

// statementHandle reads a ticket, which may be missing.
func statementHandle(t *flight.Ticket) ([]byte, error) {
	cmd, err := command(t.GetTicket())
	if err != nil {
		return nil, err
	}
	q, ok := cmd.(*pb.TicketStatementQuery)
	if !ok {
		return nil, unsupportedCommand(cmd)
	}
	return q.GetStatementHandle(), nil
}

func renewEndpoint(f *flightService, _ context.Context, p access.Principal, body []byte) (proto.Message, error) {
	var req flight.RenewFlightEndpointRequest
	if err := plain(body, &req); err != nil {
		return nil, err
	}
	handle, err := statementHandle(req.GetEndpoint().GetTicket())
	if err != nil {
		return nil, f.statement.Refuse()
	}
	endpoint, err := f.renew(p, handle)
	if err != nil {
		return nil, err
	}
	endpoint.AppMetadata = req.GetEndpoint().GetAppMetadata()
	return endpoint, nil
}
