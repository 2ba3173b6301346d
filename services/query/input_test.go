// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"context"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// ingestMessages are the messages of a bulk ingestion as a driver sends them.
func ingestMessages(t testing.TB, rec arrow.RecordBatch, opts ...ipc.Option) collected {
	t.Helper()
	schema := "lab"
	packed, err := anypb.New(&pb.CommandStatementIngest{
		TableDefinitionOptions: &flightsql.TableDefinitionOptions{IfNotExist: flightsql.TableDefinitionOptionsTableNotExistOptionFail, IfExists: flightsql.TableDefinitionOptionsTableExistsOptionAppend},
		Table:                  "notes", Schema: &schema,
	})
	require.NoError(t, err)
	cmd, err := proto.Marshal(packed)
	require.NoError(t, err)
	var msgs collected
	w := flight.NewRecordWriter(&msgs, append(opts, ipcSchema(rec))...)
	w.SetFlightDescriptor(&flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: cmd})
	require.NoError(t, w.Write(rec))
	require.NoError(t, w.Close())
	return msgs
}

// put sends messages and returns how the call ended.
func put(ctx context.Context, c *flightsql.Client, msgs collected) error {
	s, err := c.Client.DoPut(ctx)
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if s.Send(m) != nil {
			break
		}
	}
	_ = s.CloseSend()
	for {
		if _, err := s.Recv(); err == io.EOF { //nolint:errorlint // a bare EOF by gRPC's contract
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestDataThatMayNotBeDecodedAreRefused(t *testing.T) {
	l := newLake(t)
	name := l.authority.create(t, "lab.notes", simple)
	c := l.replica().client("ann-token")
	rec := rows(t, simple, `[{"id":1,"note":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]`)
	require.NoError(t, put(t.Context(), c, ingestMessages(t, rec)))

	err := put(t.Context(), c, ingestMessages(t, rec, ipc.WithZstd()))
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "compressed record batches are not taken")

	dict := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "note", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, dict)
	defer b.Release()
	b.Field(0).(*array.Int64Builder).Append(1)
	require.NoError(t, b.Field(1).(*array.BinaryDictionaryBuilder).AppendString("a"))
	coded := b.NewRecordBatch()
	defer coded.Release()
	err = put(t.Context(), c, ingestMessages(t, coded))
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "dictionary batches are not taken")

	require.EqualValues(t, 1, mustRun(t, c, "SELECT * FROM lab.notes").rows())
	_ = name
}

// Messages with flipped bytes are refused or read, and never end the server.
func TestDamagedDataDoNotHurtTheServer(t *testing.T) {
	l := newLake(t)
	l.authority.create(t, "lab.notes", simple)
	c := l.replica().client("ann-token")
	good := ingestMessages(t, rows(t, simple, `[{"id":1,"note":"abc"},{"id":2},{"id":3,"note":"defghi"}]`))
	random := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range 400 {
		var msgs collected
		for _, m := range good {
			msgs = append(msgs, proto.CloneOf(m))
		}
		m := msgs[random.IntN(len(msgs))]
		for range 1 + random.IntN(4) {
			if part := m.GetDataHeader(); random.IntN(3) > 0 || len(m.GetDataBody()) == 0 {
				part[random.IntN(len(part))] ^= byte(1 << random.IntN(8))
			} else {
				m.DataBody[random.IntN(len(m.GetDataBody()))] ^= byte(1 << random.IntN(8))
			}
		}
		if err := put(t.Context(), c, msgs); err != nil {
			require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
			refused++
		}
	}
	require.Greater(t, refused, 50)
	mustRun(t, c, "SELECT count(*), sum(id), max(length(note)) FROM lab.notes")
}
