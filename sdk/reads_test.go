// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/sdk/sdktest"
)

const flightService = "/arrow.flight.protocol.FlightService/"

func TestReadsCutAfterTheirHeadersAreRepeated(t *testing.T) {
	s := sdktest.New(t)
	c, err := sdk.Connect(t.Context(), s.Addr())
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	_, err = c.CreateTable(t.Context(), episodes, schema)
	require.NoError(t, err)
	s.PutProcedure(&lakepb.Procedure{Kind: "drop-table", Id: "1"})
	s.Answer("SELECT 1", schema, nil, rows(1, "a"))
	query := func(params ...any) func() error {
		return func() error {
			r, err := c.Query(t.Context(), "SELECT 1", params...)
			if err != nil {
				return err
			}
			defer r.Release()
			require.True(t, r.Next() || r.Err() != nil)
			return r.Err()
		}
	}
	for method, read := range map[string]func() error{
		lakepb.Catalog_GetTable_FullMethodName:        func() error { return second(c.Table(t.Context(), episodes)) },
		lakepb.Procedures_GetProcedure_FullMethodName: func() error { return second(c.Procedure(t.Context(), sdk.ProcedureID{Kind: "drop-table", ID: "1"})) },
		flightService + "GetFlightInfo":               query(),
		flightService + "DoGet":                       query(),
		flightService + "DoAction":                    query(7),
	} {
		t.Run(method, func(t *testing.T) {
			s.Cut(method, 3)
			require.NoError(t, read())
			require.Zero(t, s.Left(method))
			s.Cut(method, 100)
			require.True(t, lake.Is(read(), lake.Unavailable))
			require.Equal(t, 96, s.Left(method), "four attempts")
			s.Cut(method, 0)
		})
	}
}

func TestWritesThatAreCutAreNotRepeated(t *testing.T) {
	s := sdktest.New(t)
	c, err := sdk.Connect(t.Context(), s.Addr())
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	s.Cut(lakepb.Catalog_CreateTable_FullMethodName, 1)
	_, err = c.CreateTable(t.Context(), episodes, schema)
	require.True(t, lake.Is(err, lake.Unavailable), "%v", err)
}
