// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"golang.org/x/sync/semaphore"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/internal/rpc"
)

// turns let a bounded number of bulk ingestions have rows in memory at once. The
// others wait in order of arrival, for as long as their clients do, held back by
// flow control: a driver cannot repeat an ingestion of which a part was appended,
// so it is not refused half-way because others are at work. Nobody keeps a turn
// that does not need it: see [pacedStream].
type turns struct {
	places  *semaphore.Weighted
	working atomic.Int64
	waiting atomic.Int64
}

func newTurns(places int) *turns { return &turns{places: semaphore.NewWeighted(int64(places))} }

func (t *turns) take(ctx context.Context) error {
	t.waiting.Add(1)
	defer t.waiting.Add(-1)
	if err := t.places.Acquire(ctx, 1); err != nil {
		return err
	}
	t.working.Add(1)
	return nil
}

func (t *turns) give() {
	t.working.Add(-1)
	t.places.Release(1)
}

// quietAfter is how long an ingestion may have its turn while its client sends
// nothing.
const quietAfter = time.Second

// pacedStream asks for the messages of a bulk ingestion while it has its turn.
// A turn ends, with the rows that are held back appended, when the client sends
// nothing for a moment, and after a piece when others wait. A message that arrives
// late waits for a turn in memory: one that was asked for cannot be given back.
type pacedStream struct {
	ctx    context.Context //nolint:containedctx // the call's
	turns  *turns
	in     *putStream
	asker  *rpc.Asker // of what follows the schema
	grant  *rpc.Grant
	rows   *appender // nil until the schema is known
	has    bool      // the turn
	before int64     // rows that were appended when it was taken
}

func newPacedStream(ctx context.Context, in *putStream, t *turns) *pacedStream {
	return &pacedStream{ctx: ctx, turns: t, in: in, asker: rpc.NewAsker(ctx, in.stream), grant: rpc.GrantOf(ctx)}
}

// Recv implements [rpc.PutSource].
func (s *pacedStream) Recv() (*flight.FlightData, error) {
	if s.rows == nil {
		return s.in.Recv()
	}
	r, err := s.next()
	if err != nil {
		s.rows.stopped = err
		return nil, err
	}
	return r.Message, r.Err
}

// next returns what the client has sent, or why it is not asked.
func (s *pacedStream) next() (r rpc.Received, err error) {
	if !s.grant.Lasts() {
		return r, lake.Errorf(lake.Unauthenticated, "ingest: the caller may not go on: its token or its rights changed")
	}
	if s.has && s.rows.appended > s.before && s.turns.waiting.Load() > 0 {
		if err := s.rest(); err != nil {
			return r, err
		}
	}
	if err := s.begin(); err != nil {
		return r, err
	}
	arrives := s.asker.Ask()
	quiet := time.NewTimer(quietAfter)
	defer quiet.Stop()
	select {
	case r = <-arrives:
		return r, nil
	case <-s.ctx.Done():
		return r, s.ctx.Err()
	case <-quiet.C:
	}
	if err := s.rest(); err != nil {
		return r, err
	}
	select {
	case r = <-arrives:
		return r, s.begin()
	case <-s.ctx.Done():
		return r, s.ctx.Err()
	}
}

// begin waits for the turn, unless the stream has it.
func (s *pacedStream) begin() error {
	if s.has {
		return nil
	}
	if err := s.turns.take(s.ctx); err != nil {
		return err
	}
	s.has, s.before = true, s.rows.appended
	return nil
}

// rest appends what is held back and ends the turn.
func (s *pacedStream) rest() error {
	if err := s.rows.flush(); err != nil {
		return err
	}
	s.end()
	return nil
}

// end ends the turn, if the stream has it.
func (s *pacedStream) end() {
	if s.has {
		s.has = false
		s.turns.give()
	}
}
