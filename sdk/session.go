// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// sessionQueue is how many appends may wait to be sent.
const sessionQueue = 64

// session is a DoPut that carries appends to one table. A nil session has
// retired.
//
// An append in it waits in the queue, then for its answer, and is told apart
// by its operation. What makes its outcome known or unknown is one bit, sent,
// which is set under mu before the message may leave:
//
//   - Nothing is sent before the server has said that the session is open, so
//     the appends of one that was refused, or never opened, were not applied.
//   - A caller who gives up takes an append that was not sent back: it will not
//     leave. One that was sent may be applied at any later time.
//   - An operation is there once. A second Resume of it, whose answer could be
//     mistaken for the first one's, goes alone; so does the next Resume after
//     one who gave up, since with that the session retires.
type session struct {
	opening appendwire.Opening
	schema  *flight.FlightData
	until   time.Time
	cancel  context.CancelFunc
	queue   chan *sessionAppend
	ready   chan struct{} // closed when the server has said that it is open
	ended   chan struct{} // closed when nothing is answered any more

	mu      sync.Mutex
	retired bool                                // it takes no more, and queue is closed
	waiting map[lake.OperationID]*sessionAppend // of callers
	used    bool                                // it has answered an append
	err     error                               // why it ended, from when ended is closed
}

// sessionAppend is an append that waits for its answer. session.mu is held for
// what it is not made with.
type sessionAppend struct {
	message   *flight.FlightData
	operation lake.OperationID
	answer    chan *lakepb.AppendSessionResult // receives once at most

	sent  bool // it may have left
	taken bool // back by its caller: it must not leave
}

// errSession is in the chain of an error of the session, not of an append.
var errSession = errors.New("the session of appends ended")

func newSession(opening appendwire.Opening, schema *flight.FlightData, until time.Time, cancel context.CancelFunc) *session {
	return &session{
		opening: opening, schema: schema, until: until, cancel: cancel,
		queue: make(chan *sessionAppend, sessionQueue), ready: make(chan struct{}), ended: make(chan struct{}),
		waiting: map[lake.OperationID]*sessionAppend{},
	}
}

// lasts reports whether the session takes appends.
func (s *session) lasts(now time.Time) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.retired && now.Before(s.until)
}

// takes reports whether such an append is one of the session's.
func (s *session) takes(command appendwire.Command, data *payload) bool {
	return s.opening.Incarnation == command.Incarnation &&
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

// append sends the append and waits for its answer. sent says of an error
// whether the append may have left. One that did not, with errSession in the
// chain, is the session's failure and none of the append's.
func (s *session) append(ctx context.Context, command appendwire.Command, data *payload) (result *lakepb.AppendResult, sent bool, err error) {
	m, err := appendwire.Item(data.messages[1], command.Operation, command.Digest)
	if err != nil {
		return nil, false, lake.Errorf(lake.Invalid, "append: %w", err)
	}
	a := &sessionAppend{message: m, operation: command.Operation, answer: make(chan *lakepb.AppendSessionResult, 1)}
	if !s.enter(a) {
		return nil, false, errSession
	}
	select {
	case r := <-a.answer:
		result, err = appendwire.Outcome(r)
		return result, true, err
	case <-ctx.Done():
	case <-s.ended:
	}
	return s.giveUp(ctx, a)
}

// enter queues the append, unless the session takes no more, is slow, or has
// the operation already.
func (s *session) enter(a *sessionAppend) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired || s.waiting[a.operation] != nil {
		return false
	}
	select {
	case s.queue <- a:
	default:
		return false
	}
	s.waiting[a.operation] = a
	return true
}

// giveUp is what a caller is told who waits no longer.
func (s *session) giveUp(ctx context.Context, a *sessionAppend) (result *lakepb.AppendResult, sent bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case r := <-a.answer: // just in time
		result, err = appendwire.Outcome(r)
		return result, true, err
	default:
	}
	a.taken = true
	delete(s.waiting, a.operation)
	if a.sent {
		s.leave() // another server may know better
	}
	if s.retired && len(s.waiting) == 0 {
		s.cancel() // it may not be read any more, nor answered
	}
	switch {
	case ctx.Err() != nil:
		err = &lake.Error{Kind: lake.Undetermined, Err: context.Cause(ctx)}
	case a.sent: // whatever ended the session, it says nothing of this append
		err = &lake.Error{Kind: lake.Undetermined, Err: s.err}
	default:
		err = s.err
	}
	return nil, a.sent, err
}

// run opens the stream and sends what is queued until the session is retired
// and answered, or broken. It returns why it broke. ctx is ended by s.cancel.
func (s *session) run(ctx context.Context, server flight.FlightServiceClient, times sessionTimes) error {
	late := time.AfterFunc(times.opening, s.cancel)
	defer late.Stop()
	descriptor, err := s.opening.Descriptor()
	if err != nil {
		return err
	}
	stream, err := server.DoPut(ctx)
	if err != nil {
		return err
	}
	heard := make(chan error, 1)
	go func() { heard <- s.hear(stream) }()
	first := &flight.FlightData{FlightDescriptor: descriptor, DataHeader: s.schema.GetDataHeader(), DataBody: s.schema.GetDataBody()}
	if stream.Send(first) != nil {
		return <-heard // which knows why
	}
	select {
	case <-s.ready:
	case err := <-heard:
		return err
	}
	late.Stop()
	return s.send(stream, heard, times.idle)
}

// send sends what is queued.
func (s *session) send(stream flight.FlightService_DoPutClient, heard <-chan error, idle time.Duration) error {
	quiet := time.NewTimer(idle)
	defer quiet.Stop()
	queue := s.queue // nil once it is closed
	for {
		select {
		case a, ok := <-queue:
			if !ok {
				_ = stream.CloseSend() // a broken stream is seen by its reader
				queue = nil
			} else if s.dispatch(a) && stream.Send(a.message) != nil {
				return <-heard
			}
		case err := <-heard:
			return err
		case <-quiet.C:
			if s.unused() && queue == nil {
				s.cancel() // the server does not end it
			}
		}
		quiet.Reset(idle)
	}
}

// dispatch marks an append as sent, unless its caller took it back.
func (s *session) dispatch(a *sessionAppend) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.sent = !a.taken
	return a.sent
}

// unused retires the session if nobody waits for an answer.
func (s *session) unused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) > 0 {
		return false
	}
	s.leave()
	return true
}

// hear hands out answers until there are no more; nil at the stream's end.
func (s *session) hear(stream flight.FlightService_DoPutClient) error {
	for first := true; ; first = false {
		told, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if first {
			close(s.ready)
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
	for _, r := range results {
		if len(r.GetOperationId()) != len(lake.OperationID{}) {
			continue // of no append of ours
		}
		id := lake.OperationID(r.GetOperationId())
		if a := s.waiting[id]; a != nil && a.sent {
			s.used = true
			a.answer <- r
			delete(s.waiting, id)
		}
	}
}

// wasUsed reports whether the session has answered an append.
func (s *session) wasUsed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// finish ends the session for everybody who waits.
func (s *session) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave()
	s.err = errSession
	if err != nil {
		s.err = fmt.Errorf("%w: %w", errSession, grpcerr.FromStatus(err))
	}
	close(s.ended)
}
