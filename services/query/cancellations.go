// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/internal/reads"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/ticket"
)

const (
	// tellTimeout bounds how long a client that cancels waits for the authority.
	tellTimeout = 2 * time.Second
	// firstTimeout bounds the wait for a watch to begin.
	firstTimeout = 10 * time.Second
	// minWatchBackoff and maxWatchBackoff bound the pause before a watch is begun
	// again, which doubles with each that did not begin.
	minWatchBackoff = 250 * time.Millisecond
	maxWatchBackoff = 10 * time.Second
	// keptLonger is for how long a query stays cancelled after the last ticket that
	// a replica may have made for it: the clocks of replicas are apart, and the
	// authority does not tell again what moves by half a minute.
	keptLonger = ticket.FutureSkew + 30*time.Second
)

// cancellations keeps a replica in step with the others about cancelled queries,
// by the board of the authority. What is cancelled here is told to the board,
// and what the board tells is cancelled here.
//
// The board is in the memory of the leader. So whenever a watch begins, the
// replica puts there what it knows and the board lacks: whatever one of the
// replicas remembers survives a leader. All of it is best effort: a replica that
// cannot watch serves on.
type cancellations struct {
	authority lakepb.CancellationsClient
	running   *running
	metrics   *metrics
	log       *slog.Logger

	// hears says that a watch is in force.
	hears atomic.Bool
	// older says that the authority does not know the service, and that this was
	// logged.
	older atomic.Bool

	life context.Context //nolint:containedctx // the life of the watch
	stop context.CancelFunc
	once sync.Once
	wg   sync.WaitGroup

	mu       sync.Mutex
	endWatch context.CancelFunc // the current one's
}

func newCancellations(authority grpc.ClientConnInterface, r *running, m *metrics, log *slog.Logger) *cancellations {
	c := &cancellations{authority: lakepb.NewCancellationsClient(authority), running: r, metrics: m, log: log, endWatch: func() {}}
	c.life, c.stop = context.WithCancel(context.Background())
	return c
}

// start begins to watch, once.
func (c *cancellations) start() { c.once.Do(func() { c.wg.Go(c.watch) }) }

// close ends the watch and waits for it.
func (c *cancellations) close() {
	c.once.Do(func() {}) // a start that comes late does nothing
	c.stop()
	c.wg.Wait()
}

// tell puts queries on the board, each to be kept so long. lake.Unsupported comes
// from an authority of an older release, and all other errors are
// lake.Unavailable.
func (c *cancellations) tell(ctx context.Context, queries map[ticket.QueryID]time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	req := &lakepb.CancelQueriesRequest{}
	for id, keep := range queries {
		req.Cancellations = append(req.Cancellations, &lakepb.QueryCancellation{QueryId: id[:], KeepFor: durationpb.New(keep)})
	}
	err := grpcerr.FromStatus(reads.Repeat(ctx, func() error { // told twice is told once
		_, err := c.authority.Cancel(ctx, req, grpc.WaitForReady(true))
		return err
	}))
	if err == nil {
		return nil
	}
	c.watchAgain()
	if lake.Is(err, lake.Unsupported) {
		return err // by one member of a group that is being upgraded, or by all
	}
	return lake.Errorf(lake.Unavailable, "the query is stopped on this replica, and the others could not be told: ask again: %w", err)
}

// watchAgain ends the watch, if there is one. The next one brings to the board
// what could not be told.
func (c *cancellations) watchAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endWatch()
}

// watch hears of the board until the replica closes.
func (c *cancellations) watch() {
	for failures := 0; c.life.Err() == nil; {
		heard, err := c.listen()
		if heard {
			failures = 0
		}
		c.logEnd(err, failures)
		timer := time.NewTimer(min(minWatchBackoff<<min(failures, 16), maxWatchBackoff))
		failures++
		select {
		case <-c.life.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// logEnd says why a watch ended, once for all that fail in a row. The first one
// is none to speak of: the leadership may have moved.
func (c *cancellations) logEnd(err error, failures int) {
	switch {
	case c.life.Err() != nil:
	case lake.Is(err, lake.Unsupported):
		if !c.older.Swap(true) {
			c.log.Warn("the authority is of a release that does not pass on cancelled queries: each is stopped on the replica that is asked only")
		}
	case failures == 1:
		c.log.Warn("this replica does not hear of queries that are cancelled at others; it tries again", "error", err)
	}
}

// listen is one watch, from its begin to its end; heard says that it was in
// force.
func (c *cancellations) listen() (heard bool, err error) {
	ctx, cancel := context.WithCancel(c.life)
	defer cancel()
	c.mu.Lock()
	c.endWatch = cancel
	c.mu.Unlock()
	silence := time.AfterFunc(firstTimeout, cancel)
	defer silence.Stop()
	stream, err := c.authority.Watch(ctx, &lakepb.WatchCancellationsRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return false, grpcerr.FromStatus(err)
	}
	board, err := stream.Recv()
	if err != nil {
		return false, grpcerr.FromStatus(err)
	}
	silence.Stop()
	c.hears.Store(true)
	defer c.hears.Store(false)
	c.older.Store(false)
	c.hear(board)
	if lacking := c.lacking(board); len(lacking) > 0 {
		if err := c.tell(ctx, lacking); err != nil {
			return true, err
		}
	}
	for {
		news, err := stream.Recv()
		if err != nil {
			return true, grpcerr.FromStatus(err)
		}
		c.hear(news)
	}
}

// hear cancels what the board tells.
func (c *cancellations) hear(told *lakepb.WatchCancellationsResponse) {
	for _, q := range told.GetCancellations() {
		if len(q.GetQueryId()) != len(ticket.QueryID{}) {
			continue // of a later release
		}
		_, known := c.running.cancel(ticket.QueryID(q.GetQueryId()), c.running.now().Add(q.GetKeepFor().AsDuration()))
		if !known {
			c.metrics.cancelled(cancelledByAuthority)
		}
	}
}

// lacking returns what was cancelled here and is not on the board.
func (c *cancellations) lacking(board *lakepb.WatchCancellationsResponse) map[ticket.QueryID]time.Duration {
	all := c.running.allCancelled()
	for _, q := range board.GetCancellations() {
		if len(q.GetQueryId()) == len(ticket.QueryID{}) {
			delete(all, ticket.QueryID(q.GetQueryId()))
		}
	}
	return all
}
