// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/services/query"
	"github.com/lakeplane/lake/services/query/ticket"
)

func secret(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

func keys(t *testing.T, active byte, verify ...byte) func(*query.Options) {
	t.Helper()
	var others [][]byte
	for _, v := range verify {
		others = append(others, secret(v))
	}
	k, err := ticket.Static(secret(active), others...)
	require.NoError(t, err)
	return func(o *query.Options) { o.Keys = k }
}

// requireInvalidTicket checks that a ticket is refused, always alike.
func requireInvalidTicket(t *testing.T, c *flightsql.Client, tk []byte, why string) {
	t.Helper()
	_, err := fetch(t, t.Context(), c, &flight.FlightInfo{Endpoint: []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: tk}}}})
	require.Equal(t, codes.Unauthenticated, status.Code(err), "%s: %v", why, err)
	require.Equal(t, "invalid statement ticket", status.Convert(err).Message(), why)
}

func TestAnyReplicaWithTheKeysRedeemsATicket(t *testing.T) {
	l := newLake(t)
	name := l.authority.create(t, "lab.notes", simple)
	l.authority.insert(t, name, rows(t, simple, `[{"id":1}]`))
	old := l.replica(keys(t, 1)).client("ann-token")
	info, err := old.Execute(t.Context(), "SELECT id FROM lab.notes")
	require.NoError(t, err)

	rotated := l.replica(keys(t, 2, 1)).client("ann-token")
	got, err := fetch(t, t.Context(), rotated, info)
	require.NoError(t, err)
	require.Equal(t, "{\"id\":1}\n", got.json(t))

	later := l.replica(keys(t, 2)).client("ann-token")
	requireInvalidTicket(t, later, info.GetEndpoint()[0].GetTicket().GetTicket(), "the old key is gone")
}

func TestATicketIsForItsPrincipalOnly(t *testing.T) {
	l := newLake(t)
	l.authority.create(t, "lab.notes", simple)
	r := l.replica()
	info, err := r.client("ann-token").Execute(t.Context(), "SELECT id FROM lab.notes")
	require.NoError(t, err)
	tk := info.GetEndpoint()[0].GetTicket().GetTicket()
	requireInvalidTicket(t, r.client("bob-token"), tk, "bob may read the table, and still not with ann's ticket")
	_, err = r.client("bob-token").CancelFlightInfo(t.Context(), &flight.CancelFlightInfoRequest{Info: info})
	require.Equal(t, codes.Unauthenticated, status.Code(err), "nor cancel her query")
	_, err = r.client("bob-token").RenewFlightEndpoint(t.Context(), &flight.RenewFlightEndpointRequest{Endpoint: info.GetEndpoint()[0]})
	require.Equal(t, codes.Unauthenticated, status.Code(err), "nor renew it")
	_, err = fetch(t, t.Context(), r.client("ann-token"), info)
	require.NoError(t, err)
}

func TestMalformedTicketsAreAllAlike(t *testing.T) {
	l := newLake(t)
	l.authority.create(t, "lab.notes", simple)
	r := l.replica()
	c := r.client("ann-token")
	info, err := c.Execute(t.Context(), "SELECT id FROM lab.notes")
	require.NoError(t, err)
	good := info.GetEndpoint()[0].GetTicket().GetTicket()
	handleAt := bytes.Index(good, []byte("LQTK")) // around it is only the type's name
	require.Positive(t, handleAt)
	for _, at := range []int{0, handleAt, handleAt + 4, handleAt + 10, len(good) / 2, len(good) - 1} {
		bad := bytes.Clone(good)
		bad[at] ^= 1
		requireInvalidTicket(t, c, bad, "one flipped bit")
	}
	handle, err := flightsql.CreateStatementQueryTicket([]byte("LQTK\x01 and no more"))
	require.NoError(t, err)
	prepared, err := c.Prepare(t.Context(), "SELECT id FROM lab.notes")
	require.NoError(t, err)
	relabelled, err := flightsql.CreateStatementQueryTicket(prepared.Handle())
	require.NoError(t, err)
	for why, tk := range map[string][]byte{
		"empty": nil, "noise": []byte("noise"), "cut": good[:len(good)-1], "short handle": handle,
		"a prepared statement's handle": relabelled,
	} {
		requireInvalidTicket(t, c, tk, why)
	}
	_, err = fetch(t, t.Context(), c, info)
	require.NoError(t, err)
}

func TestARenewedTicketOutlivesTheOldOne(t *testing.T) {
	l := newLake(t)
	name := l.authority.create(t, "lab.notes", simple)
	l.authority.insert(t, name, rows(t, simple, `[{"id":1}]`))
	r := l.replica(func(o *query.Options) { o.TicketTTL = time.Second })
	c := r.client("ann-token")
	info, err := c.Execute(t.Context(), "SELECT id FROM lab.notes")
	require.NoError(t, err)
	l.authority.insert(t, name, rows(t, simple, `[{"id":2}]`))
	time.Sleep(600 * time.Millisecond)
	renewed, err := c.RenewFlightEndpoint(t.Context(), &flight.RenewFlightEndpointRequest{Endpoint: info.GetEndpoint()[0]})
	require.NoError(t, err)
	require.True(t, renewed.GetExpirationTime().AsTime().After(info.GetEndpoint()[0].GetExpirationTime().AsTime()))
	time.Sleep(500 * time.Millisecond)
	requireInvalidTicket(t, c, info.GetEndpoint()[0].GetTicket().GetTicket(), "expired")
	got, err := fetch(t, t.Context(), c, &flight.FlightInfo{Endpoint: []*flight.FlightEndpoint{renewed}})
	require.NoError(t, err)
	require.EqualValues(t, 1, got.rows(), "still the pinned snapshot")
}
