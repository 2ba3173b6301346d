// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// endless counts what nobody counts to the end.
const endless = "SELECT count(*) FROM range(100000000) a, range(100000000) b"

// running is a query that runs on a replica.
type running struct {
	info  *flight.FlightInfo
	ended chan error
}

func runOn(t *testing.T, replica *server, c *flightsql.Client) *running {
	t.Helper()
	info, err := c.Execute(t.Context(), endless)
	require.NoError(t, err)
	r := &running{info, make(chan error, 1)}
	go func() { r.ended <- redeem(context.Background(), c, info) }()
	require.Eventually(t, func() bool { return replica.gauge(t, `lake_query_slots{pool="query",state="busy"}`) == 1 }, waitLong, tick)
	return r
}

// redeem reads a result to its end.
func redeem(ctx context.Context, c *flightsql.Client, info *flight.FlightInfo) error {
	rows, err := c.DoGet(ctx, info.GetEndpoint()[0].GetTicket())
	if err != nil {
		return err
	}
	defer rows.Release()
	for rows.Next() {
	}
	return rows.Err()
}

// cancelAt cancels a query at a replica and checks that it stops where it runs.
func (r *running) cancelAt(t *testing.T, c *flightsql.Client) {
	t.Helper()
	began := time.Now()
	res, err := c.CancelFlightInfo(t.Context(), &flight.CancelFlightInfoRequest{Info: r.info})
	require.NoError(t, err)
	require.Equal(t, flight.CancelStatusCancelling, res.GetStatus(), "it does not run there")
	err = <-r.ended
	t.Logf("stopped after %s", time.Since(began).Round(time.Millisecond))
	require.Less(t, time.Since(began), 5*time.Second, "the promise is one second, and a busy machine gets more")
	require.Equal(t, codes.Canceled, status.Code(err), "%v", err)
}

// TestCancelAtAnotherReplica is what a balancer that spreads calls does to a
// client, also after the metadata server was another.
func TestCancelAtAnotherReplica(t *testing.T) {
	c, meta, replicas := metaAndReplicas(t)
	here, there := stockClient(t, replicas[0].address), stockClient(t, replicas[1].address)
	hear := func(want float64) {
		t.Helper()
		for _, r := range replicas {
			require.Eventually(t, func() bool { return r.gauge(t, "lake_query_hears_cancellations") == want }, waitLong, tick)
		}
	}
	hear(1)
	first := runOn(t, replicas[0], here)
	first.cancelAt(t, there)
	meta.kill()
	hear(0)
	c.restart(t, meta)
	hear(1)
	runOn(t, replicas[0], here).cancelAt(t, there)
	for _, c := range []*flightsql.Client{here, there} {
		require.Equal(t, codes.Canceled, status.Code(redeem(t.Context(), c, first.info)), "a cancelled ticket stays cancelled")
	}
}

// testCancel: a replica of a secured deployment proves that it is one, and its
// cancellations take their way through leader and follower.
func (d *deployment) testCancel(t *testing.T) {
	for i := range 4 {
		runs, asked := d.queries[i%2], d.queries[(i+1)%2]
		require.Eventually(t, func() bool { return runs.gauge(t, "lake_query_hears_cancellations") == 1 }, waitLong, tick)
		runOn(t, runs, d.sqlClient(t, runs.address)).cancelAt(t, d.sqlClient(t, asked.address))
	}
}
