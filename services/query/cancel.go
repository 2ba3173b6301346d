// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/query/ticket"
)

// cancel stops the queries of a FlightInfo, keeps them from being started again,
// here at once and elsewhere by way of the authority, and tells what is certain:
// CANCELLED when what ran here is all there is, and CANCELLING when another
// replica may run it, which stops it as soon as it hears. lake.Unavailable when
// the others could not be told; what could be done here is done then. A ticket
// cancels for as long as a query that was begun with it may run, after it has
// expired.
func (f *flightService) cancel(ctx context.Context, p access.Principal, info *flight.FlightInfo) (flight.CancelStatus, error) {
	if len(info.GetEndpoint()) == 0 {
		return flight.CancelStatusUnspecified, lake.Errorf(lake.Invalid, "cancel: the FlightInfo has no endpoint")
	}
	queries, whole := map[ticket.QueryID]time.Duration{}, true
	for _, e := range info.GetEndpoint() {
		handle, err := statementHandle(e.GetTicket())
		if err != nil {
			return flight.CancelStatusNotCancellable, nil //nolint:nilerr // a metadata call: short, nothing to stop
		}
		claims, err := f.openTicket(p, handle, f.opts.ExecutionTimeout)
		if err != nil {
			return flight.CancelStatusUnspecified, err
		}
		queries[claims.Query] = max(queries[claims.Query], f.keepCancelled(claims))
		whole = whole && claims.Part == nil // the parts of a result are read on any replica
	}
	all := f.cancelHere(queries)
	err := f.cancellations.tell(context.WithoutCancel(ctx), queries) // who cancels and leaves means it
	switch {
	case all && whole:
		return flight.CancelStatusCancelled, nil // and the board is told later, if not now
	case err != nil && !lake.Is(err, lake.Unsupported):
		return flight.CancelStatusUnspecified, err
	}
	return flight.CancelStatusCancelling, nil
}

// cancelHere stops queries on this replica, and reports whether all of them ran.
func (s *Server) cancelHere(queries map[ticket.QueryID]time.Duration) bool {
	all, now := true, s.running.now()
	for id, keep := range queries {
		stopped, known := s.running.cancel(id, now.Add(keep))
		all = all && stopped
		if !known {
			s.metrics.cancelled(cancelledByClient)
		}
	}
	return all
}

// keepCancelled is for how long a ticket of the query can be redeemed somewhere:
// this one, or one that was made from it until now.
func (s *Server) keepCancelled(c *ticket.Claims) time.Duration {
	return max(c.ExpiresAt.Sub(s.running.now()), s.opts.TicketTTL) + keptLonger
}
