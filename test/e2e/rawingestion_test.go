// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lakeplane/lake/lake"
)

// rawIngestion is a bulk ingestion of Flight SQL whose messages a test sends one
// by one.
type rawIngestion struct {
	flight.FlightService_DoPutClient
	batch *flight.FlightData
}

// beginIngestion opens a bulk ingestion into a table of numbers.
func beginIngestion(t *testing.T, conn *grpc.ClientConn, table lake.TableName) *rawIngestion {
	t.Helper()
	packed, err := anypb.New(&pb.CommandStatementIngest{
		TableDefinitionOptions: &pb.CommandStatementIngest_TableDefinitionOptions{
			IfNotExist: pb.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_FAIL,
			IfExists:   pb.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_APPEND,
		},
		Table: table.Name, Schema: &table.Namespace,
	})
	require.NoError(t, err)
	command, err := proto.Marshal(packed)
	require.NoError(t, err)
	stream, err := flight.NewFlightServiceClient(conn).DoPut(t.Context())
	require.NoError(t, err)
	messages := encodeNumbers(3)
	require.NoError(t, stream.Send(&flight.FlightData{
		FlightDescriptor: &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: command},
		DataHeader:       messages[0].DataHeader, DataBody: messages[0].DataBody,
	}))
	require.NoError(t, stream.Send(messages[1]))
	return &rawIngestion{stream, messages[1]}
}

// requireEndsWith goes on sending rows until the server ends the ingestion. It
// says first how many rows it has appended.
func (i *rawIngestion) requireEndsWith(t *testing.T, code codes.Code) {
	t.Helper()
	require.Eventually(t, func() bool { return i.Send(i.batch) != nil }, 20*time.Second, 100*time.Millisecond)
	told, err := i.Recv()
	require.NoError(t, err)
	require.NoError(t, proto.Unmarshal(told.GetAppMetadata(), new(pb.DoPutUpdateResult)))
	_, err = i.Recv()
	require.Equal(t, code, status.Code(err), "%v", err)
}
