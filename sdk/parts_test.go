// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

func partRows(t *testing.T, c *sdk.Client, p *sdk.Part) (n int64) {
	t.Helper()
	r, err := c.ReadPart(t.Context(), p)
	require.NoError(t, err)
	require.True(t, r.Schema().Equal(schema))
	for b, err := range r.Batches() {
		require.NoError(t, err)
		n += b.NumRows()
	}
	return n
}

func TestPartsAreReadApartAndElsewhere(t *testing.T) {
	s, c := connect(t)
	s.Answer("SELECT 1", schema, nil, rows(2, "a"), rows(3, "b"))
	parts, err := c.Parts(t.Context(), "SELECT 1", 4)
	require.NoError(t, err)
	require.Equal(t, []string{"4"}, s.Endpoints())
	require.Len(t, parts, 2)
	require.Equal(t, int64(3), partRows(t, c, parts[1]), "in any order")
	require.Equal(t, int64(2), partRows(t, c, parts[0]))
	require.Equal(t, int64(2), partRows(t, c, parts[0]), "and again")

	bytes, err := parts[1].MarshalBinary()
	require.NoError(t, err)
	var sent sdk.Part
	require.NoError(t, sent.UnmarshalBinary(bytes))
	require.True(t, sent.Schema.Equal(schema))
	require.Equal(t, parts[1].Expires, sent.Expires)
	other, err := sdk.Connect(t.Context(), s.Addr())
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	require.Equal(t, int64(3), partRows(t, other, &sent))
}

func TestPartsRefuseWhatIsNone(t *testing.T) {
	s, c := connect(t)
	s.Answer("SELECT 1", schema, nil, rows(2, "a"))
	_, err := c.Parts(t.Context(), "SELECT 1", 0)
	require.Equal(t, lake.Invalid, lake.KindOf(err))
	require.ErrorContains(t, err, "want 1 or more")
	_, err = c.ReadPart(t.Context(), &sdk.Part{})
	require.Equal(t, lake.Invalid, lake.KindOf(err))
	parts, err := c.Parts(t.Context(), "SELECT 1", 1)
	require.NoError(t, err)
	good, err := parts[0].MarshalBinary()
	require.NoError(t, err)
	none, err := proto.Marshal(&flight.FlightInfo{})
	require.NoError(t, err)
	noSchema, err := proto.Marshal(&flight.FlightInfo{Endpoint: []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: []byte("x")}}}})
	require.NoError(t, err)
	for name, bad := range map[string][]byte{"cut": good[:len(good)-1], "empty": nil, "no endpoint": none, "no schema": noSchema} {
		kept := *parts[0]
		require.Equal(t, lake.Invalid, lake.KindOf(kept.UnmarshalBinary(bad)), name)
		require.Equal(t, int64(2), partRows(t, c, &kept), "it is as it was")
	}
}
