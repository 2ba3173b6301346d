// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

func batch(t *testing.T, mem memory.Allocator, rows, textBytes int) arrow.RecordBatch {
	t.Helper()
	b := array.NewRecordBuilder(mem, arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String},
	}, nil))
	defer b.Release()
	for i := range rows {
		if i%3 == 0 {
			b.Field(0).AppendNull()
		} else {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
		}
		b.Field(1).(*array.StringBuilder).Append(strings.Repeat("x", textBytes))
	}
	return b.NewRecordBatch()
}

func TestTheEncodingIsThatOfFlightData(t *testing.T) {
	codec := NewCodec()
	for _, rows := range []int{0, 1, 10, 5_000, 100_000} {
		rec := batch(t, memory.DefaultAllocator, rows, 5)
		payload, err := ipc.GetRecordBatchPayload(rec)
		require.NoError(t, err)
		data, err := NewData(payload, rec)
		require.NoError(t, err)
		var body bytes.Buffer
		require.NoError(t, payload.SerializeBody(&body))
		meta := payload.Meta()
		require.Equal(t, meta.Len()+body.Len(), data.Size())
		encoded, err := codec.Marshal(data)
		require.NoError(t, err)
		var got flight.FlightData
		require.NoError(t, proto.Unmarshal(encoded.Materialize(), &got))
		require.True(t, bytes.Equal(meta.Bytes(), got.GetDataHeader()))
		require.True(t, bytes.Equal(body.Bytes(), got.GetDataBody()), "%d rows", rows)
		if rows == 100_000 {
			require.Greater(t, len(encoded), 3, "large buffers are referred to")
		}
		encoded.Free()
		meta.Release()
		payload.Release()
		rec.Release()
	}
}

func TestTheBatchLivesUntilItIsWritten(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	rec := batch(t, mem, 10_000, 5)
	payload, err := ipc.GetRecordBatchPayload(rec, ipc.WithAllocator(mem))
	require.NoError(t, err)
	data, err := NewData(payload, rec)
	require.NoError(t, err)
	encoded := data.encode()
	payload.Release()
	rec.Release()
	require.Positive(t, mem.CurrentAlloc(), "the message still refers to the batch")
	encoded.Free()
	mem.AssertSize(t, 0)
}

func TestOtherMessagesAreEncodedAsEver(t *testing.T) {
	codec := NewCodec()
	require.Equal(t, "proto", codec.Name())
	want := &flight.FlightData{DataHeader: []byte{1}, AppMetadata: []byte("x")}
	encoded, err := codec.Marshal(want)
	require.NoError(t, err)
	var got flight.FlightData
	require.NoError(t, codec.Unmarshal(encoded, &got))
	require.True(t, proto.Equal(want, &got))
}
