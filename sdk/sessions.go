// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
)

const (
	// maxSessions bounds the sessions of a client. Each is a stream of its
	// connection for as long as it lasts, and proxies allow no more than some
	// 100 of them, which the client's other calls need too.
	maxSessions = 32
	// maxSlots bounds the tables that are remembered.
	maxSlots = 256
)

// sessionTimes are when a client opens and ends sessions.
type sessionTimes struct {
	// after: an append that comes within this of the last one to the same table
	// makes a session worth its while.
	after time.Duration
	// opening is how long a server may take to say that a session is open.
	// Appends wait for it, and then go alone: something on the way may hold back
	// what has no end.
	opening time.Duration
	// idle and life are when a client ends a session, before the server would.
	idle, life time.Duration
	// rest is how long none is tried where one was of no use, and away where no
	// server was there to take it.
	rest, away time.Duration
}

var defaultSessionTimes = sessionTimes{
	after: time.Second, opening: 2 * time.Second,
	idle: appendwire.SessionIdle / 6, life: appendwire.SessionLife / 5,
	rest: 30 * time.Second, away: time.Second,
}

// sessions are a client's open sessions of appends, at most one a table. A
// session spares small appends that follow each other the call each; it is
// never needed, and what it fails at is sent by a call.
type sessions struct {
	client  *Client
	times   sessionTimes
	running sync.WaitGroup

	mu     sync.Mutex
	tables map[lake.TableName]*sessionSlot
	count  int // of those that run, also of those that take no more
	closed bool
}

// sessionSlot is what is remembered of one table.
type sessionSlot struct {
	open *session  // the last one, or nil
	last time.Time // when an append began
	rest time.Time // until then none is opened
}

// of returns the session for an append; nil when it is to go alone.
func (s *sessions) of(command appendwire.Command, data *payload) *session {
	if len(data.messages) != 2 || data.bytes > appendwire.MaxSessionBytes {
		return nil
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := s.slot(command.Table)
	often := now.Sub(slot.last) < s.times.after
	slot.last = now
	if slot.open.lasts(now) {
		if slot.open.takes(command, data) {
			return slot.open
		}
		// For a moment the client does not know the table that it is about to
		// know again. Others stand for another table or schema.
		if command.Incarnation.IsZero() && !slot.open.opening.Incarnation.IsZero() {
			return nil
		}
	}
	slot.open.retire()
	if !often || now.Before(slot.rest) || s.closed || s.count >= maxSessions {
		return nil
	}
	slot.open = s.open(command, data.messages[0], now)
	return slot.open
}

// slot returns what is remembered of a table. When that is too much, any other
// makes room: it costs its next append a call.
func (s *sessions) slot(table lake.TableName) *sessionSlot {
	if slot := s.tables[table]; slot != nil {
		return slot
	}
	for name, slot := range s.tables {
		if len(s.tables) < maxSlots {
			break
		}
		slot.open.retire()
		delete(s.tables, name)
	}
	if s.tables == nil {
		s.tables = map[lake.TableName]*sessionSlot{}
	}
	slot := new(sessionSlot)
	s.tables[table] = slot
	return slot
}

// open begins a session.
func (s *sessions) open(command appendwire.Command, schema *flight.FlightData, now time.Time) *session {
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(s.client.closed, appendwire.SessionHeader, "1"))
	n := newSession(appendwire.Opening{Table: command.Table, Incarnation: command.Incarnation}, schema, now.Add(s.times.life), cancel)
	s.count++
	s.running.Go(func() {
		defer cancel()
		err := n.run(ctx, s.client.appends, s.times)
		s.over(command.Table, n.wasUsed(), err) // before a caller is back with the next
		n.finish(err)
	})
	return n
}

// over notes the end of a session, and whether it was of use.
func (s *sessions) over(table lake.TableName, used bool, err error) {
	rest := s.times.rest
	if status.Code(err) == codes.Unavailable {
		rest = s.times.away
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count--
	if slot := s.tables[table]; slot != nil && !used {
		slot.rest = time.Now().Add(rest)
	}
}

// close opens no more sessions, and waits for the others to end, which they do
// with the client's context.
func (s *sessions) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
}
