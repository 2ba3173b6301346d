// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lake"
)

// endpointsHeader says how many endpoints a result may have at most. It is part
// of the servers' protocol.
const endpointsHeader = "x-lake-endpoints"

// Part is a share of a query's result, to be read by [Client.ReadPart], also by
// another client of the same principal on another machine: MarshalBinary makes
// bytes of it. It is not changed once made, so it is safe for concurrent use.
type Part struct {
	// Schema is that of the rows, the same for every part.
	Schema *arrow.Schema
	// Expires is until when reading may begin; zero when the server does not say.
	Expires time.Time

	endpoint *flight.FlightEndpoint
	schema   []byte
}

// Parts plans a query, as [Client.Query] does, and returns its result in at most
// most parts, which together hold each row once, all of the same versions. Read
// them at once, in any order, in as many processes as there are: each is read on
// any replica by itself, and as often as wanted until it expires.
//
// A statement comes in several parts when it looks at each row of one table
// alone, and the table is large; all others come in one. The order of rows is
// none. most below 1 is lake.Invalid; servers have a limit of their own.
func (c *Client) Parts(ctx context.Context, sql string, most int, params ...any) ([]*Part, error) {
	if most < 1 {
		return nil, lake.Errorf(lake.Invalid, "parts: %d parts: want 1 or more", most)
	}
	info, schema, err := c.query(metadata.AppendToOutgoingContext(ctx, endpointsHeader, strconv.Itoa(most)), sql, params)
	if err != nil {
		return nil, err
	}
	parts := make([]*Part, len(info.GetEndpoint()))
	for i, e := range info.GetEndpoint() {
		parts[i] = newPart(schema, info.GetSchema(), e)
	}
	return parts, nil
}

func newPart(schema *arrow.Schema, encoded []byte, e *flight.FlightEndpoint) *Part {
	p := &Part{Schema: schema, schema: encoded, endpoint: e}
	if t := e.GetExpirationTime(); t.IsValid() {
		p.Expires = t.AsTime()
	}
	return p
}

// ReadPart returns the rows of a part as they arrive. The result must be
// released. A part that has expired, or whose versions were deleted, is
// lake.Invalid or lake.Precondition: plan the query again.
func (c *Client) ReadPart(ctx context.Context, p *Part) (*Result, error) {
	if p == nil || p.endpoint == nil {
		return nil, lake.Errorf(lake.Invalid, "read part: it was not made by Parts or UnmarshalBinary")
	}
	ctx, cancel := context.WithCancel(ctx)
	return &Result{client: c, ctx: ctx, cancel: cancel, schema: p.Schema, endpoints: []*flight.FlightEndpoint{p.endpoint}}, nil
}

// MarshalBinary implements encoding.BinaryMarshaler. The bytes are a FlightInfo
// of one endpoint (Arrow Flight, Flight.proto), so that other Flight clients can
// read the part, too. Whoever has them and the principal's token can.
func (p *Part) MarshalBinary() ([]byte, error) {
	return proto.Marshal(&flight.FlightInfo{Schema: p.schema, Endpoint: []*flight.FlightEndpoint{p.endpoint}, TotalRecords: -1, TotalBytes: -1})
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. Anything but what
// MarshalBinary made is lake.Invalid, and leaves the part as it is.
func (p *Part) UnmarshalBinary(b []byte) error {
	var info flight.FlightInfo
	if err := proto.Unmarshal(b, &info); err != nil {
		return lake.Errorf(lake.Invalid, "part: %w", err)
	}
	if len(info.GetEndpoint()) != 1 || len(info.GetEndpoint()[0].GetTicket().GetTicket()) == 0 {
		return lake.Errorf(lake.Invalid, "part: it has %d endpoints, and not one with a ticket", len(info.GetEndpoint()))
	}
	schema, err := flight.DeserializeSchema(info.GetSchema(), memory.DefaultAllocator)
	if err != nil {
		return lake.Errorf(lake.Invalid, "part: its schema: %w", err)
	}
	*p = *newPart(schema, info.GetSchema(), info.GetEndpoint()[0])
	return nil
}
