// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

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

// What is no ticket is refused, or has nothing to cancel, and is never a fault of
// the server.
func TestMissingTickets(t *testing.T) {
	c := newLake(t).replica().client("ann-token")
	catalogs, err := c.GetCatalogs(t.Context())
	require.NoError(t, err)
	for name, endpoint := range map[string]*flight.FlightEndpoint{
		"no endpoint": nil, "no ticket": {}, "empty": {Ticket: &flight.Ticket{}}, "junk": {Ticket: &flight.Ticket{Ticket: []byte("junk")}}, "a metadata call": catalogs.GetEndpoint()[0],
	} {
		_, err := c.RenewFlightEndpoint(t.Context(), &flight.RenewFlightEndpointRequest{Endpoint: endpoint})
		require.Equal(t, codes.Unauthenticated, status.Code(err), "%s: %v", name, err)
		if endpoint == nil {
			continue
		}
		result, err := c.CancelFlightInfo(t.Context(), &flight.CancelFlightInfoRequest{Info: &flight.FlightInfo{Endpoint: []*flight.FlightEndpoint{endpoint}}})
		require.NoError(t, err, name)
		require.Equal(t, flight.CancelStatusNotCancellable, result.GetStatus(), name)
	}
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
	var ahead atomic.Int64
	clock := func(o *query.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		o.TicketTTL = 300 * time.Second
	}
	c := l.replica(clock).client("ann-token")
	info, err := c.Execute(t.Context(), "SELECT id FROM lab.notes")
	require.NoError(t, err)
	prepared, err := c.Prepare(t.Context(), "SELECT id FROM lab.notes")
	require.NoError(t, err)
	l.authority.insert(t, name, rows(t, simple, `[{"id":2}]`))
	ahead.Store(int64(200 * time.Second))
	renewed, err := c.RenewFlightEndpoint(t.Context(), &flight.RenewFlightEndpointRequest{Endpoint: info.GetEndpoint()[0]})
	require.NoError(t, err)
	require.True(t, renewed.GetExpirationTime().AsTime().After(info.GetEndpoint()[0].GetExpirationTime().AsTime()))
	ahead.Store(int64(301 * time.Second))
	requireInvalidTicket(t, c, info.GetEndpoint()[0].GetTicket().GetTicket(), "expired")
	_, err = c.RenewFlightEndpoint(t.Context(), &flight.RenewFlightEndpointRequest{Endpoint: info.GetEndpoint()[0]})
	require.Equal(t, codes.Unauthenticated, status.Code(err), "what has expired is not renewed")
	got, err := fetch(t, t.Context(), c, &flight.FlightInfo{Endpoint: []*flight.FlightEndpoint{renewed}})
	require.NoError(t, err)
	require.EqualValues(t, 1, got.rows(), "still the pinned snapshot")
	ahead.Store(int64(23 * time.Hour))
	_, err = prepared.Execute(t.Context())
	require.NoError(t, err, "a prepared statement lives for a day")
	ahead.Store(int64(24*time.Hour + time.Minute))
	_, err = prepared.Execute(t.Context())
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	require.ErrorContains(t, err, "invalid prepared statement handle")
}

// keyFile is the key file of one replica, which its operator writes anew.
type keyFile string

func (f keyFile) write(t *testing.T, active byte, verify ...byte) {
	t.Helper()
	ring := map[string]any{"active": secret(active)}
	var others [][]byte
	for _, v := range verify {
		others = append(others, secret(v))
	}
	if len(others) > 0 {
		ring["verify"] = others
	}
	text, err := json.Marshal(ring)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(string(f)+".new", text, 0o600))
	require.NoError(t, os.Rename(string(f)+".new", string(f)))
}

// TestKeysRotateUnderTwoReplicas: in the three steps that are prescribed, every
// ticket of either replica is good at both, all the time and through each step.
func TestKeysRotateUnderTwoReplicas(t *testing.T) {
	l := newLake(t)
	name := l.authority.create(t, "lab.notes", simple)
	l.authority.insert(t, name, rows(t, simple, `[{"id":1}]`))
	var files [2]keyFile
	var replicas [2]*flightsql.Client
	for i := range files {
		files[i] = keyFile(filepath.Join(t.TempDir(), "keys.json"))
		files[i].write(t, 1)
		k, err := ticket.OpenFile(string(files[i]), slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		replicas[i] = l.replica(func(o *query.Options) { o.Keys = k }).client("ann-token")
	}
	var made []*flight.FlightInfo
	everyTicketIsGood := func() {
		for _, c := range replicas {
			info, err := c.Execute(t.Context(), "SELECT id FROM lab.notes")
			require.NoError(t, err)
			made = append(made, info)
		}
		for i, info := range made {
			for j, c := range replicas {
				_, err := fetch(t, t.Context(), c, info)
				require.NoError(t, err, "ticket %d at replica %d", i, j)
			}
		}
	}
	// known waits until a replica has read its file: tickets of a third one, which
	// has the new key alone, open there, or those of the old key do not any more.
	known := func(c *flightsql.Client, other *flightsql.Client, want codes.Code) {
		info, err := other.Execute(t.Context(), "SELECT id FROM lab.notes")
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			_, err := fetch(t, t.Context(), c, info)
			return status.Code(err) == want
		}, time.Minute, 50*time.Millisecond)
	}
	old, next := l.replica(keys(t, 1)).client("ann-token"), l.replica(keys(t, 2)).client("ann-token")
	everyTicketIsGood()
	for i, f := range files {
		f.write(t, 1, 2)
		known(replicas[i], next, codes.OK)
		everyTicketIsGood()
	}
	for i, f := range files {
		f.write(t, 2, 1)
		require.Eventually(t, func() bool { // seals with the new key
			info, err := replicas[i].Execute(t.Context(), "SELECT id FROM lab.notes")
			require.NoError(t, err)
			_, err = fetch(t, t.Context(), next, info)
			return err == nil
		}, time.Minute, 50*time.Millisecond)
		everyTicketIsGood()
	}
	for i, f := range files {
		f.write(t, 2)
		known(replicas[i], old, codes.Unauthenticated)
	}
	requireInvalidTicket(t, replicas[0], made[0].GetEndpoint()[0].GetTicket().GetTicket(), "of the key that went")
}

// TestPollingAnswersAtOnce: planning is all there is to wait for.
func TestPollingAnswersAtOnce(t *testing.T) {
	l := newLake(t)
	name := l.authority.create(t, "lab.notes", simple)
	l.authority.insert(t, name, rows(t, simple, `[{"id":1}]`))
	c := l.replica().client("ann-token")
	packed, err := anypb.New(&pb.CommandStatementQuery{Query: "SELECT id FROM lab.notes"})
	require.NoError(t, err)
	cmd, err := proto.Marshal(packed)
	require.NoError(t, err)
	desc := &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: cmd}
	poll, err := c.Client.PollFlightInfo(t.Context(), desc)
	require.NoError(t, err)
	require.Nil(t, poll.GetFlightDescriptor(), "the query is complete")
	require.Equal(t, 1.0, poll.GetProgress())
	require.Equal(t, poll.GetInfo().GetEndpoint()[0].GetExpirationTime().AsTime(), poll.GetExpirationTime().AsTime())
	got, err := fetch(t, t.Context(), c, poll.GetInfo())
	require.NoError(t, err)
	require.Equal(t, "{\"id\":1}\n", got.json(t))
	packed.Value = append(packed.Value, 0xff)
	desc.Cmd, err = proto.Marshal(packed)
	require.NoError(t, err)
	_, err = c.Client.PollFlightInfo(t.Context(), desc)
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
}
