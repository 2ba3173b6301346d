// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/services/internal/expiring"
	"github.com/lakeplane/lake/services/query/ticket"
)

// errCancelled ends a query that its principal cancelled by its FlightInfo.
var errCancelled = status.Error(codes.Canceled, "the query was cancelled")

// maxCancelled bounds how many cancelled, not yet expired queries are
// remembered.
const maxCancelled = 10_000

// running knows the queries this replica executes and those that were
// cancelled, here or elsewhere, so that a cancelled ticket is not redeemed here
// afterwards. It is safe for concurrent use.
type running struct {
	now func() time.Time

	mu        sync.Mutex
	closed    bool
	queries   map[ticket.QueryID]map[int]context.CancelCauseFunc
	cancelled *expiring.Set[ticket.QueryID]
	next      int
}

func newRunning(now func() time.Time) *running {
	return &running{
		now: now, queries: map[ticket.QueryID]map[int]context.CancelCauseFunc{}, cancelled: expiring.NewSet[ticket.QueryID](maxCancelled),
	}
}

// start registers an execution. The returned context ends with ctx, by cancel
// and by done, which must be called.
func (r *running) start(ctx context.Context, id ticket.QueryID) (_ context.Context, done func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.cancelled.Until(r.now(), id); ok || r.closed {
		return nil, nil, errCancelled
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if r.queries[id] == nil {
		r.queries[id] = map[int]context.CancelCauseFunc{}
	}
	r.next++
	n := r.next
	r.queries[id][n] = cancel
	return ctx, func() {
		cancel(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		if delete(r.queries[id], n); len(r.queries[id]) == 0 {
			delete(r.queries, id)
		}
	}, nil
}

// refused returns the error of a cancelled query, or nil.
func (r *running) refused(id ticket.QueryID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.cancelled.Until(r.now(), id); ok {
		return errCancelled
	}
	return nil
}

// cancel stops the executions of a query and refuses new ones until the time
// given. It tells whether it stopped one, and whether the query was cancelled
// already.
func (r *running) cancel(id ticket.QueryID, until time.Time) (stopped, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cancel := range r.queries[id] {
		cancel(errCancelled)
	}
	now := r.now()
	_, known = r.cancelled.Until(now, id)
	r.cancelled.Add(now, id, until)
	return len(r.queries[id]) > 0, known
}

// allCancelled returns the cancelled queries, and for how long each is kept.
func (r *running) allCancelled() map[ticket.QueryID]time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, all := r.now(), map[ticket.QueryID]time.Duration{}
	for id, until := range r.cancelled.All(now) {
		all[id] = until.Sub(now)
	}
	return all
}

// cancelAll stops everything for good.
func (r *running) cancelAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, executions := range r.queries {
		for _, cancel := range executions {
			cancel(status.Error(codes.Unavailable, "the replica is shutting down"))
		}
	}
}
