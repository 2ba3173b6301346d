// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// rowSchema is that of every table: the rows of one append carry its marker,
// how many they are, and their number, so that a reader of any snapshot can
// tell a part of an append from all of it.
var rowSchema = arrow.NewSchema([]arrow.Field{
	{Name: "marker", Type: arrow.PrimitiveTypes.Int64},
	{Name: "rows", Type: arrow.PrimitiveTypes.Int32},
	{Name: "row", Type: arrow.PrimitiveTypes.Int32},
}, nil)

var lastMarker atomic.Int64

// operation is one logical append, which may be sent any number of times, to
// any member.
type operation struct {
	command  appendwire.Command
	messages []*flight.FlightData
	marker   int64
	rows     int
}

// newOperation makes an append of so many rows under a fresh marker.
func newOperation(t testing.TB, table lake.TableName, rows int) *operation {
	t.Helper()
	o := &operation{marker: lastMarker.Add(1), rows: rows}
	o.messages = encodeRows(t, rowBatch(o.marker, rows))
	o.command = appendwire.Command{Table: table, Operation: lake.NewID(), Digest: appendwire.DigestOf(o.messages...)}
	return o
}

func rowBatch(marker int64, rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, rowSchema)
	defer b.Release()
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(marker)
		b.Field(1).(*array.Int32Builder).Append(int32(rows))
		b.Field(2).(*array.Int32Builder).Append(int32(i))
	}
	return b.NewRecordBatch()
}

// collected keeps the messages that a Flight writer sends.
type collected struct{ messages []*flight.FlightData }

func (c *collected) Send(m *flight.FlightData) error {
	c.messages = append(c.messages, &flight.FlightData{DataHeader: m.DataHeader, DataBody: append([]byte{}, m.DataBody...)})
	return nil
}

func encodeRows(t testing.TB, batch arrow.RecordBatch) []*flight.FlightData {
	t.Helper()
	var c collected
	w := flight.NewRecordWriter(&c, ipc.WithSchema(rowSchema))
	require.NoError(t, w.Write(batch))
	require.NoError(t, w.Close())
	return c.messages
}

// put sends the append to a member once. Errors have a lake.Kind.
func (p *process) put(ctx context.Context, o *operation) (*lakepb.AppendResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.flight.DoPut(ctx)
	if err != nil {
		return nil, grpcerr.FromStatus(err)
	}
	if err := o.send(stream); err != nil {
		return nil, err
	}
	ack, err := stream.Recv()
	if err != nil {
		return nil, grpcerr.FromStatus(err)
	}
	result := new(lakepb.AppendResult)
	return result, proto.Unmarshal(ack.GetAppMetadata(), result)
}

// send writes every message. When the server has ended the stream, the reason
// is found by receiving.
func (o *operation) send(stream flight.FlightService_DoPutClient) error {
	descriptor, err := o.command.Descriptor()
	if err != nil {
		return err
	}
	for i, m := range o.messages {
		if i == 0 {
			m = &flight.FlightData{FlightDescriptor: descriptor, DataHeader: m.DataHeader, DataBody: m.DataBody}
		}
		if err := stream.Send(m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return grpcerr.FromStatus(err)
		}
	}
	return grpcerr.FromStatus(stream.CloseSend())
}

// mayHaveApplied reports whether, after this error, the append may be in the
// table. It is the SDK's rule.
func mayHaveApplied(err error) bool {
	switch lake.KindOf(err) {
	case lake.Invalid, lake.NotFound, lake.AlreadyExists, lake.Precondition, lake.Unauthenticated,
		lake.Denied, lake.Corrupt, lake.Unsupported, lake.Exhausted, lake.Conflict:
		return false
	}
	return true
}

// final reports whether a refusal will be the same next time.
func final(err error) bool {
	return !mayHaveApplied(err) && !lake.Is(err, lake.Exhausted) && !lake.Is(err, lake.Conflict)
}
