// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package appendwire_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

func TestOpeningRoundTrip(t *testing.T) {
	for _, want := range []appendwire.Opening{
		{Table: lake.TableName{Namespace: "robots", Name: "episodes"}},
		{Table: lake.TableName{Namespace: "robots", Name: "episodes"}, Incarnation: lake.NewID()},
	} {
		got, err := appendwire.ParseOpening(opening(t, want))
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.False(t, appendwire.IsCommand(opening(t, want)), "it opens no append")
	}
}

func TestOpeningRefusals(t *testing.T) {
	table := lake.TableName{Namespace: "a", Name: "b"}
	cmd := opening(t, appendwire.Opening{Table: table}).GetCmd()
	for name, d := range map[string]*flight.FlightDescriptor{
		"nil":             nil,
		"path":            {Type: flight.DescriptorPATH, Path: []string{"a", "b"}},
		"unknown type":    {Type: flight.DescriptorUNKNOWN, Cmd: cmd},
		"not protobuf":    {Type: flight.DescriptorCMD, Cmd: []byte("\xff\xff")},
		"cut short":       {Type: flight.DescriptorCMD, Cmd: cmd[:len(cmd)-1]},
		"an append":       descriptor(t, appendwire.Command{Table: table, Operation: lake.NewID()}),
		"bad name":        opening(t, appendwire.Opening{Table: lake.TableName{Namespace: "..", Name: "b"}}),
		"no name":         opening(t, appendwire.Opening{}),
		"bad incarnation": opening(t, appendwire.Opening{Table: table, Incarnation: lake.Incarnation{1}}),
	} {
		_, err := appendwire.ParseOpening(d)
		require.Equal(t, lake.Invalid, lake.KindOf(err), "%s: %v", name, err)
	}
}

func TestItemRoundTrip(t *testing.T) {
	id, digest := lake.NewID(), lake.Digest{1, 2}
	batch := &flight.FlightData{DataHeader: []byte("head"), DataBody: []byte("body"), AppMetadata: []byte("of no use")}
	m, err := appendwire.Item(batch, id, digest)
	require.NoError(t, err)
	require.Equal(t, batch.DataHeader, m.GetDataHeader())
	require.Equal(t, batch.DataBody, m.GetDataBody())
	require.Nil(t, m.GetFlightDescriptor())
	gotID, gotDigest, err := appendwire.ParseItem(m)
	require.NoError(t, err)
	require.Equal(t, id, gotID)
	require.Equal(t, digest, gotDigest)
	require.Equal(t, "of no use", string(batch.AppMetadata), "the batch is not changed: it may be sent again")
}

// TestItemOfTheLargestAppendFits: clients count the schema's and the batch's
// message against the limit, servers each message with what is added to it.
func TestItemOfTheLargestAppendFits(t *testing.T) {
	schema := new(flight.FlightData) // no schema is smaller
	batch := &flight.FlightData{DataBody: make([]byte, appendwire.MaxSessionBytes-2*appendwire.MessageSize(schema))}
	require.Equal(t, int64(appendwire.MaxSessionBytes), appendwire.MessageSize(schema)+appendwire.MessageSize(batch))
	m, err := appendwire.Item(batch, lake.NewID(), lake.Digest{1})
	require.NoError(t, err)
	require.LessOrEqual(t, appendwire.MessageSize(m), int64(appendwire.MaxSessionBytes))
}

func TestItemRefusals(t *testing.T) {
	id, digest := lake.NewID(), make([]byte, 32)
	item := func(id, digest []byte) []byte {
		b, err := proto.Marshal(&lakepb.AppendSessionItem{OperationId: id, PayloadSha256: digest})
		require.NoError(t, err)
		return b
	}
	for name, test := range map[string]struct {
		metadata []byte
		answered bool // under its operation
	}{
		"nothing":            {nil, false},
		"not protobuf":       {[]byte("\xff\xff"), false},
		"no operation":       {item(nil, digest), false},
		"short operation":    {item(id[:15], digest), false},
		"long operation":     {item(append(id[:], 1), digest), false},
		"operation as text":  {item([]byte(id.String()), digest), false},
		"zero operation":     {item(make([]byte, 16), digest), false},
		"operation of no v7": {item(bytes.Repeat([]byte{1}, 16), digest), true},
		"no digest":          {item(id[:], nil), true},
		"short digest":       {item(id[:], digest[:31]), true},
		"long digest":        {item(id[:], append(digest, 1)), true},
	} {
		got, _, err := appendwire.ParseItem(&flight.FlightData{AppMetadata: test.metadata})
		require.Equal(t, lake.Invalid, lake.KindOf(err), "%s: %v", name, err)
		require.Equal(t, test.answered, !got.IsZero(), name)
	}
}

func TestResultOfAnAppendOfASession(t *testing.T) {
	id := lake.NewID()
	want := &lakepb.AppendResult{Version: 7, Rows: 3, Replayed: true, Incarnation: lake.NewID().String()}
	r := travelled(t, appendwire.SessionResult(id, want, nil))
	require.Equal(t, id[:], r.GetOperationId())
	got, err := appendwire.Outcome(r)
	require.NoError(t, err)
	require.True(t, proto.Equal(want, got))
}

// TestErrorsOfASessionAreThoseOfACall: of each kind, and of none.
func TestErrorsOfASessionAreThoseOfACall(t *testing.T) {
	id := lake.NewID()
	for kind := lake.Unknown; kind <= lake.Fenced; kind++ {
		sent := lake.Wrap("append to a.b", lake.Errorf(kind, "because of %s", kind))
		r := travelled(t, appendwire.SessionResult(id, &lakepb.AppendResult{Version: 7}, sent))
		require.Equal(t, id[:], r.GetOperationId())
		result, err := appendwire.Outcome(r)
		require.Nil(t, result)
		require.Equal(t, kind, lake.KindOf(err), "kind %s", kind)
		require.EqualError(t, err, sent.Error())
	}
	for want, sent := range map[lake.Kind]error{
		lake.Undetermined: context.Canceled,
		lake.Unknown:      errors.New("surprise"),
		lake.Exhausted:    status.Error(codes.ResourceExhausted, "too much"),
	} {
		call := grpcerr.FromStatus(grpcerr.ToStatus(sent))
		_, err := appendwire.Outcome(travelled(t, appendwire.SessionResult(id, nil, sent)))
		require.Equal(t, want, lake.KindOf(err))
		require.EqualError(t, err, call.Error())
		require.Equal(t, status.Code(call), status.Code(err))
	}
}

// TestResultThatSaysNothingIsUnknown: it must not pass for a success, nor for a
// refusal.
func TestResultThatSaysNothingIsUnknown(t *testing.T) {
	for name, r := range map[string]*lakepb.AppendSessionResult{
		"nil":        nil,
		"empty":      {},
		"no failure": {Outcome: &lakepb.AppendSessionResult_Failed{}},
		"code zero":  {Outcome: &lakepb.AppendSessionResult_Failed{Failed: &lakepb.AppendFailure{Message: "all is well"}}},
		"no result":  {Outcome: &lakepb.AppendSessionResult_Applied{}},
	} {
		result, err := appendwire.Outcome(r)
		require.Nil(t, result, name)
		require.Equal(t, lake.Undetermined, lake.KindOf(err), "%s: %v", name, err)
	}
	for _, code := range []int32{-1, 99} {
		_, err := appendwire.Outcome(&lakepb.AppendSessionResult{Outcome: &lakepb.AppendSessionResult_Failed{Failed: &lakepb.AppendFailure{Code: code}}})
		require.Equal(t, lake.Unknown, lake.KindOf(err), "code %d", code)
	}
}

// FuzzParseItem holds what is said of ParseItem: an error is lake.Invalid, and
// what is read is what was written.
func FuzzParseItem(f *testing.F) {
	good, err := appendwire.Item(new(flight.FlightData), lake.NewID(), lake.Digest{1})
	require.NoError(f, err)
	f.Add(good.GetAppMetadata())
	f.Add(good.GetAppMetadata()[:20])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, metadata []byte) {
		id, digest, err := appendwire.ParseItem(&flight.FlightData{AppMetadata: metadata})
		if err != nil {
			require.Equal(t, lake.Invalid, lake.KindOf(err), "%v", err)
			return
		}
		require.False(t, id.IsZero())
		again, err := appendwire.Item(new(flight.FlightData), id, digest)
		require.NoError(t, err)
		sameID, sameDigest, err := appendwire.ParseItem(again)
		require.NoError(t, err)
		require.Equal(t, id, sameID)
		require.Equal(t, digest, sameDigest)
	})
}

func opening(t *testing.T, o appendwire.Opening) *flight.FlightDescriptor {
	t.Helper()
	d, err := o.Descriptor()
	require.NoError(t, err)
	return d
}

// travelled is a result as the other side reads it.
func travelled(t *testing.T, r *lakepb.AppendSessionResult) *lakepb.AppendSessionResult {
	t.Helper()
	b, err := proto.Marshal(r)
	require.NoError(t, err)
	got := new(lakepb.AppendSessionResult)
	require.NoError(t, proto.Unmarshal(b, got))
	return got
}
