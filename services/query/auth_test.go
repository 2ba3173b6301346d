// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"context"
	"encoding/base64"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// The report: `bearer x` was refused because of its case.
func TestTheAuthorizationSchemesCaseDoesNotMatter(t *testing.T) {
	c := newLake(t).replica().client("")
	basic := base64.StdEncoding.EncodeToString([]byte("anybody:ann-token"))
	for header, want := range map[string]codes.Code{
		"Bearer ann-token":   codes.OK,
		"bearer ann-token":   codes.OK,
		"BEARER  ann-token":  codes.OK,
		"Bearer ANN-TOKEN":   codes.Unauthenticated,
		"Bearer ann-token x": codes.Unauthenticated,
		"Basic " + basic:     codes.OK,
		"basic " + basic:     codes.OK,
		"Basic !!!":          codes.Unauthenticated,
		"ann-token":          codes.Unauthenticated,
		"Digest ann-token":   codes.Unauthenticated,
		"":                   codes.Unauthenticated,
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", header)
		_, err := c.Execute(ctx, "SELECT 1")
		require.Equal(t, want, status.Code(err), "%q: %v", header, err)
	}
	_, err := c.Execute(t.Context(), "SELECT 1")
	require.Equal(t, codes.Unauthenticated, status.Code(err), "no header at all")
}

// The report: drivers shake hands for basic authentication only.
func TestAHandshakeWorksAndIsNeverNeeded(t *testing.T) {
	r := newLake(t).replica()
	c := r.client("")
	ctx, err := c.Client.AuthenticateBasicToken(t.Context(), "anybody", "ann-token")
	require.NoError(t, err)
	info, err := c.Execute(ctx, "SELECT 1 AS x")
	require.NoError(t, err)
	got, err := fetch(t, ctx, c, info)
	require.NoError(t, err)
	require.EqualValues(t, 1, got.rows())

	_, err = c.Client.AuthenticateBasicToken(t.Context(), "ann", "wrong")
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	mustRun(t, r.client("ann-token"), "SELECT 1") // bearer, without a handshake
}

func TestEveryCallNeedsAPrincipal(t *testing.T) {
	c := newLake(t).replica().client("").Client
	ctx := context.Background()
	desc := &flight.FlightDescriptor{Type: flight.DescriptorCMD}
	_, err := c.GetFlightInfo(ctx, desc)
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	_, err = c.GetSchema(ctx, desc)
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	_, err = c.PollFlightInfo(ctx, desc)
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	get, err := c.DoGet(ctx, &flight.Ticket{})
	require.NoError(t, err)
	_, err = get.Recv()
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	act, err := c.DoAction(ctx, &flight.Action{Type: "CloseSession"})
	require.NoError(t, err)
	_, err = act.Recv()
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	put, err := c.DoPut(ctx)
	require.NoError(t, err)
	_, err = put.Recv()
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	actions, err := c.ListActions(ctx, &flight.Empty{})
	require.NoError(t, err)
	_, err = actions.Recv()
	require.Equal(t, codes.Unauthenticated, status.Code(err))
}
