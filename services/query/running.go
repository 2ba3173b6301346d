// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/services/query/ticket"
)

// errCancelled ends a query that its principal cancelled by its FlightInfo.
var errCancelled = status.Error(codes.Canceled, "the query was cancelled")

// maxCancelled bounds how many cancelled, not yet expired queries are
// remembered.
const maxCancelled = 10_000

// running knows the queries this replica executes and those that were
// cancelled, so that a cancelled ticket is not redeemed here afterwards. It is
// safe for concurrent use.
type running struct {
	mu        sync.Mutex
	closed    bool
	queries   map[ticket.QueryID]map[int]context.CancelCauseFunc
	cancelled map[ticket.QueryID]time.Time // until when it matters
	next      int
}

func newRunning() *running {
	return &running{queries: map[ticket.QueryID]map[int]context.CancelCauseFunc{}, cancelled: map[ticket.QueryID]time.Time{}}
}

// start registers an execution. The returned context ends with ctx, by cancel
// and by done, which must be called.
func (r *running) start(ctx context.Context, id ticket.QueryID) (_ context.Context, done func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.cancelled[id]; ok || r.closed {
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

// cancel stops the executions of a query and refuses new ones until its ticket
// has expired.
func (r *running) cancel(id ticket.QueryID, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cancel := range r.queries[id] {
		cancel(errCancelled)
	}
	now := time.Now()
	if len(r.cancelled) >= maxCancelled {
		for old, end := range r.cancelled {
			if now.After(end) {
				delete(r.cancelled, old)
			}
		}
	}
	if len(r.cancelled) < maxCancelled {
		r.cancelled[id] = until
	}
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
