// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

const (
	// sessionAfter: an append that comes within this of the last one to the
	// same table makes a session worth its while.
	sessionAfter = time.Second
	// sessionIdle and sessionLife are when a client ends a session, before the
	// server would.
	sessionIdle = appendwire.SessionIdle / 6
	sessionLife = appendwire.SessionLife / 5
	// sessionRest is how long none is tried where one was refused.
	sessionRest = 30 * time.Second
	// maxSessions bounds the tables that are remembered, and so the sessions.
	maxSessions = 256
	// sessionQueue is how many appends may wait to be sent.
	sessionQueue = 64
)

// sessions are a client's open sessions of appends, at most one a table. A
// session spares small appends that follow each other the call each; it is
// never needed, and what it fails at is sent by a call.
type sessions struct {
	client  *Client
	running sync.WaitGroup

	mu     sync.Mutex
	tables map[lake.TableName]*sessionSlot
}

// sessionSlot is what is remembered of one table.
type sessionSlot struct {
	open *session  // or nil
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
	often := now.Sub(slot.last) < sessionAfter
	slot.last = now
	if slot.open != nil && slot.open.takes(command, data, now) {
		return slot.open
	}
	if slot.open.retire(); !often || now.Before(slot.rest) {
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
		if len(s.tables) < maxSessions {
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
	n := &session{
		opening: appendwire.Opening{Table: command.Table, Incarnation: command.Incarnation}, schema: schema, until: now.Add(sessionLife),
		queue: make(chan *sessionAppend, sessionQueue), ended: make(chan struct{}),
		waiting: map[lake.OperationID][]*sessionAppend{},
	}
	s.running.Go(func() {
		if err := n.run(s.client); !n.finish(err) {
			s.rest(command.Table)
		}
	})
	return n
}

// rest notes that a session did not open.
func (s *sessions) rest(table lake.TableName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot := s.tables[table]; slot != nil {
		slot.rest = time.Now().Add(sessionRest)
	}
}

// session is a DoPut that carries appends to one table. A nil session has
// retired.
type session struct {
	opening appendwire.Opening
	schema  *flight.FlightData
	until   time.Time
	queue   chan *sessionAppend
	ended   chan struct{} // closed when nothing is answered any more

	mu      sync.Mutex
	retired bool                                  // it takes no more, and queue is closed
	waiting map[lake.OperationID][]*sessionAppend // for their answers
	opened  bool                                  // the server has said something
	refused bool                                  // it never opened, and nothing was applied
	err     error                                 // why it ended, from when ended is closed
}

// sessionAppend is an append that waits for its answer.
type sessionAppend struct {
	message   *flight.FlightData
	operation lake.OperationID
	sent      atomic.Bool
	answer    chan *lakepb.AppendSessionResult // receives once at most
}

// errSession is in the chain of an error of the session, not of an append.
var errSession = errors.New("the session of appends ended")

// takes reports whether the session takes such an append.
func (s *session) takes(command appendwire.Command, data *payload, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.retired && now.Before(s.until) && s.opening.Incarnation == command.Incarnation &&
		bytes.Equal(s.schema.GetDataHeader(), data.messages[0].GetDataHeader())
}

// retire lets the session take no more. What it took is answered.
func (s *session) retire() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave()
}

func (s *session) leave() {
	if !s.retired {
		s.retired = true
		close(s.queue)
	}
}

// append sends the append and waits for its answer. An error of the session
// itself has errSession in its chain; sent then says whether the append may
// have left.
func (s *session) append(ctx context.Context, command appendwire.Command, data *payload) (result *lakepb.AppendResult, sent bool, err error) {
	m, err := appendwire.Item(data.messages[1], command.Operation, command.Digest)
	if err != nil {
		return nil, false, lake.Errorf(lake.Invalid, "append: %w", err)
	}
	a := &sessionAppend{message: m, operation: command.Operation, answer: make(chan *lakepb.AppendSessionResult, 1)}
	if !s.enter(a) {
		return nil, false, errSession
	}
	defer s.forget(a)
	select {
	case r := <-a.answer:
		result, err := appendwire.Outcome(r)
		return result, true, err
	case <-ctx.Done():
		return nil, a.sent.Load(), &lake.Error{Kind: lake.Undetermined, Err: context.Cause(ctx)}
	case <-s.ended:
	}
	select {
	case r := <-a.answer: // it came before the end
		result, err := appendwire.Outcome(r)
		return result, true, err
	default:
		return nil, a.sent.Load() && !s.refused, s.err
	}
}

// enter queues the append, unless the session takes no more or is slow.
func (s *session) enter(a *sessionAppend) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return false
	}
	select {
	case s.queue <- a:
	default:
		return false
	}
	s.waiting[a.operation] = append(s.waiting[a.operation], a)
	return true
}

func (s *session) forget(a *sessionAppend) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := slices.DeleteFunc(s.waiting[a.operation], func(other *sessionAppend) bool { return other == a })
	if s.waiting[a.operation] = left; len(left) == 0 {
		delete(s.waiting, a.operation)
	}
}

// run opens the stream and sends what is queued until the session is retired
// and answered, or broken. It returns why it broke.
func (s *session) run(c *Client) error {
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(c.closed, appendwire.SessionHeader, "1"))
	defer cancel()
	descriptor, err := s.opening.Descriptor()
	if err != nil {
		return err
	}
	stream, err := c.appends.DoPut(ctx)
	if err != nil {
		return err
	}
	heard := make(chan error, 1)
	go func() { heard <- s.hear(stream) }()
	first := &flight.FlightData{FlightDescriptor: descriptor, DataHeader: s.schema.GetDataHeader(), DataBody: s.schema.GetDataBody()}
	if stream.Send(first) != nil {
		return <-heard // which knows why
	}
	idle := time.NewTimer(sessionIdle)
	defer idle.Stop()
	for {
		select {
		case a, ok := <-s.queue:
			if !ok {
				_ = stream.CloseSend() // a broken stream is seen by its reader
				return <-heard
			}
			idle.Reset(sessionIdle)
			a.sent.Store(true)
			if stream.Send(a.message) != nil {
				return <-heard
			}
		case err := <-heard:
			return err
		case <-idle.C:
			if !s.unused() {
				idle.Reset(sessionIdle)
			}
		}
	}
}

// unused retires the session if nobody waits for an answer.
func (s *session) unused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.leave()
	}
	return s.retired
}

// hear hands out answers until there are no more; nil at the stream's end.
func (s *session) hear(stream flight.FlightService_DoPutClient) error {
	for {
		told, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var results lakepb.AppendSessionResults
		if err := proto.Unmarshal(told.GetAppMetadata(), &results); err != nil {
			return lake.Errorf(lake.Undetermined, "the server's acknowledgement is not readable: %w", err)
		}
		s.hand(results.GetResults())
	}
}

func (s *session) hand(results []*lakepb.AppendSessionResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = true
	for _, r := range results {
		if len(r.GetOperationId()) != len(lake.OperationID{}) {
			continue // of no append of ours
		}
		// Which answer goes to which of two that repeat one operation does not
		// matter.
		if all := s.waiting[lake.OperationID(r.GetOperationId())]; len(all) > 0 {
			all[0].answer <- r
			s.waiting[lake.OperationID(r.GetOperationId())] = all[1:]
		}
	}
}

// finish ends the session for everybody who waits, and reports whether it was
// of use. The server says that it has opened a session before it takes appends
// from it, so one that it refused instead has applied nothing.
func (s *session) finish(err error) (opened bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave()
	s.err = errSession
	if err != nil {
		err = grpcerr.FromStatus(err)
		_, unknown := judge(err)
		s.refused = !s.opened && !unknown
		s.err = fmt.Errorf("%w: %w", errSession, err)
	}
	close(s.ended)
	return s.opened
}
