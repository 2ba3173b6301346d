// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// A ticket answers from the snapshot it was made for, whatever becomes of the
// table: appends, a compaction that replaces every file, a drop and another
// table of the same name. When the snapshot is gone it fails and says so.
func TestATicketKeepsItsSnapshot(t *testing.T) {
	d := startDev(t, t.TempDir())
	c := d.client(t)
	name := lake.TableName{Namespace: "robots", Name: "episodes"}
	_, err := c.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	const appends = 12
	want := map[int64]bool{}
	for i := range int64(appends) {
		_, err := c.Append(t.Context(), name, batchOf(i))
		require.NoError(t, err)
		want[i] = true
	}
	stock := stockClient(t, d.state.Query)
	info, err := stock.Execute(t.Context(), "SELECT * FROM robots.episodes")
	require.NoError(t, err)
	redeem := func() (map[int64]bool, error) { return redeemNumbers(t, stock, info.GetEndpoint()[0].GetTicket()) }

	_, err = c.Append(t.Context(), name, batchOf(100))
	require.NoError(t, err)
	compaction, err := c.CompactTable(t.Context(), name, sdk.CompactOptions{})
	require.NoError(t, err)
	require.Greater(t, compaction.PartsBefore, compaction.PartsAfter)
	require.Equal(t, sdk.Completed, awaitProcedure(t, c, compaction.Procedure).State)
	_, err = c.Append(t.Context(), name, batchOf(101))
	require.NoError(t, err)
	got, err := redeem()
	require.NoError(t, err)
	require.Equal(t, want, got, "after appends and a compaction")
	require.EqualValues(t, appends+2, query(t, c, "SELECT * FROM robots.episodes").NumRows())

	drop, err := c.DropTable(t.Context(), name, sdk.DropOptions{})
	require.NoError(t, err)
	_, err = c.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	_, err = c.Append(t.Context(), name, batchOf(999))
	require.NoError(t, err)
	for range 2 { // before the objects are deleted, and after
		if got, err = redeem(); err == nil {
			require.Equal(t, want, got, "never the rows of another table")
		} else {
			require.Equal(t, codes.FailedPrecondition, status.Code(err), "%v", err)
			require.ErrorContains(t, err, "the pinned table snapshot is unavailable")
		}
		awaitProcedure(t, c, drop.Procedure)
	}
}

// stockClient is the Flight SQL client of the Arrow library.
func stockClient(t *testing.T, address string) *flightsql.Client {
	t.Helper()
	c, err := flightsql.NewClient(address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// redeemNumbers reads the numbers of a ticket's only column.
func redeemNumbers(t *testing.T, c *flightsql.Client, ticket *flight.Ticket) (map[int64]bool, error) {
	t.Helper()
	r, err := c.DoGet(t.Context(), ticket)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	require.True(t, arrow.TypeEqual(numbers.Field(0).Type, r.Schema().Field(0).Type))
	got := map[int64]bool{}
	for r.Next() {
		for _, n := range r.RecordBatch().Column(0).(*array.Int64).Int64Values() {
			got[n] = true
		}
	}
	return got, r.Err()
}
