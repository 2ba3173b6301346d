// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
)

// rawSession is the client's side of a session of appends, without an SDK.
type rawSession struct {
	flight.FlightService_DoPutClient
	end context.CancelFunc
}

// dialPlain connects to a server without TLS.
func dialPlain(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(64<<20)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// openSession opens a session and waits until the server says that it is open.
func openSession(t *testing.T, conn *grpc.ClientConn, table lake.TableName) *rawSession {
	t.Helper()
	s, err := trySession(t.Context(), conn, table)
	require.NoError(t, err)
	t.Cleanup(s.end)
	return s
}

// trySession opens a session, or returns the gRPC status with which it was
// refused.
func trySession(ctx context.Context, conn *grpc.ClientConn, table lake.TableName) (*rawSession, error) {
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, appendwire.SessionHeader, "1"))
	first, err := sessionOpening(table)
	var stream flight.FlightService_DoPutClient
	if err == nil {
		stream, err = flight.NewFlightServiceClient(conn).DoPut(ctx)
	}
	if err == nil {
		err = stream.Send(first)
	}
	if err == nil || errors.Is(err, io.EOF) {
		_, err = stream.Recv()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return &rawSession{stream, cancel}, nil
}

// sessionOpening is the first message of a session for a table of numbers.
func sessionOpening(table lake.TableName) (*flight.FlightData, error) {
	descriptor, err := appendwire.Opening{Table: table}.Descriptor()
	schema := encodeNumbers(1)[0]
	return &flight.FlightData{FlightDescriptor: descriptor, DataHeader: schema.DataHeader, DataBody: schema.DataBody}, err
}

// sessionItem is the message of an append of numbers in a session.
func sessionItem(t *testing.T, operation lake.OperationID, values ...int64) *flight.FlightData {
	t.Helper()
	messages := encodeNumbers(values...)
	item, err := appendwire.Item(messages[1], operation, appendwire.DigestOf(messages...))
	require.NoError(t, err)
	return item
}

// put sends one append and waits for its outcome.
func (s *rawSession) put(t *testing.T, values ...int64) (*lakepb.AppendResult, error) {
	t.Helper()
	return s.exchange(t, sessionItem(t, lake.NewID(), values...))
}

// exchange sends one message and waits for the one answer.
func (s *rawSession) exchange(t *testing.T, item *flight.FlightData) (*lakepb.AppendResult, error) {
	t.Helper()
	require.NoError(t, s.Send(item))
	told, err := s.Recv()
	require.NoError(t, err)
	var results lakepb.AppendSessionResults
	require.NoError(t, proto.Unmarshal(told.GetAppMetadata(), &results))
	require.Len(t, results.GetResults(), 1)
	return appendwire.Outcome(results.GetResults()[0])
}

// requireEnded waits for the end of a session that nobody broke.
func (s *rawSession) requireEnded(t *testing.T) {
	t.Helper()
	_, err := s.Recv()
	require.ErrorIs(t, err, io.EOF)
}

// keptMessages keeps what a Flight writer sends.
type keptMessages struct{ messages []*flight.FlightData }

func (k *keptMessages) Send(m *flight.FlightData) error {
	k.messages = append(k.messages, &flight.FlightData{DataHeader: m.DataHeader, DataBody: append([]byte{}, m.DataBody...)})
	return nil
}

// encodeNumbers are the messages of a schema and a batch of numbers.
func encodeNumbers(values ...int64) []*flight.FlightData {
	batch := batchOf(values...)
	defer batch.Release()
	var k keptMessages
	w := flight.NewRecordWriter(&k, ipc.WithSchema(numbers))
	if err := errors.Join(w.Write(batch), w.Close()); err != nil {
		panic(err) // it goes to memory
	}
	return k.messages
}
