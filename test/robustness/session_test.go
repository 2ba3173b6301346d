// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"context"
	"errors"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// sessions are the sessions of appends to one life of a member, one a table,
// which all writers of the table share. They are safe for concurrent use.
type sessions struct {
	mu   sync.Mutex
	open map[lake.TableName]*session
}

// session is a DoPut that carries appends.
type session struct {
	leave  context.CancelFunc
	opened chan struct{} // closed when the server has said so
	ended  chan struct{} // closed when no answer comes any more; err says why
	err    error

	sending sync.Mutex
	stream  flight.FlightService_DoPutClient // nil until opened

	mu      sync.Mutex
	waiting map[lake.OperationID][]chan *lakepb.AppendSessionResult
}

// putInSession is how an append goes to a member in a session, and is counted.
func (c *cluster) putInSession(p *process) func(context.Context, *operation) (*lakepb.AppendResult, error) {
	return func(ctx context.Context, o *operation) (*lakepb.AppendResult, error) {
		result, err := p.putInSession(ctx, o)
		if err == nil {
			c.tally.add("acknowledged in a session", 1)
		}
		return result, err
	}
}

// putInSession sends the append to a member once, in a session. Errors have a
// lake.Kind: that of a session which did not open, of the append, or
// lake.Undetermined.
func (p *process) putInSession(ctx context.Context, o *operation) (*lakepb.AppendResult, error) {
	s := p.sessions.of(p, o)
	answer := s.await(o.command.Operation)
	result, err := s.exchange(ctx, o, answer)
	if ctx.Err() != nil {
		s.leave() // the member may be paused: others shall not wait for it
	}
	return result, err
}

// of returns the session for an append, a new one if the last has ended.
func (ss *sessions) of(p *process, o *operation) *session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s := ss.open[o.command.Table]; s != nil {
		select {
		case <-s.ended:
		default:
			return s
		}
	}
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(context.Background(), appendwire.SessionHeader, "1"))
	s := &session{
		leave: cancel, opened: make(chan struct{}), ended: make(chan struct{}),
		waiting: map[lake.OperationID][]chan *lakepb.AppendSessionResult{},
	}
	if ss.open == nil {
		ss.open = map[lake.TableName]*session{}
	}
	ss.open[o.command.Table] = s
	go func() { // ends with the member's life, or its connection
		defer close(s.ended)
		defer cancel()
		s.err = grpcerr.FromStatus(s.run(ctx, p.flight, o))
	}()
	return s
}

// run opens the session with the schema of an append, and hands out answers.
func (s *session) run(ctx context.Context, member flight.FlightServiceClient, o *operation) error {
	descriptor, err := appendwire.Opening{Table: o.command.Table}.Descriptor()
	if err != nil {
		return err
	}
	stream, err := member.DoPut(ctx)
	if err != nil {
		return err
	}
	schema := o.messages[0]
	// What an error of Send is, Recv knows.
	_ = stream.Send(&flight.FlightData{FlightDescriptor: descriptor, DataHeader: schema.DataHeader, DataBody: schema.DataBody})
	for first := true; ; first = false {
		told, err := stream.Recv()
		if err != nil {
			return err
		}
		if first {
			s.stream = stream
			close(s.opened)
			continue
		}
		var results lakepb.AppendSessionResults
		if err := proto.Unmarshal(told.GetAppMetadata(), &results); err != nil {
			return err
		}
		s.hand(results.GetResults())
	}
}

func (s *session) await(id lake.OperationID) chan *lakepb.AppendSessionResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := make(chan *lakepb.AppendSessionResult, 1)
	s.waiting[id] = append(s.waiting[id], answer)
	return answer
}

// hand gives the answers to those who wait: the first to the first, where an
// operation is under way twice.
func (s *session) hand(results []*lakepb.AppendSessionResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range results {
		id := lake.OperationID(r.GetOperationId())
		if all := s.waiting[id]; len(all) > 0 {
			all[0] <- r
			s.waiting[id] = all[1:]
		}
	}
}

func (s *session) exchange(ctx context.Context, o *operation, answer chan *lakepb.AppendSessionResult) (*lakepb.AppendResult, error) {
	select {
	case <-s.opened:
	case <-s.ended:
		return nil, s.why() // nothing was sent
	case <-ctx.Done():
		return nil, lake.Errorf(lake.Undetermined, "the session did not open: %w", ctx.Err())
	}
	item, err := appendwire.Item(o.messages[1], o.command.Operation, o.command.Digest)
	if err != nil {
		return nil, err
	}
	s.sending.Lock()
	err = s.stream.Send(item)
	s.sending.Unlock()
	if err != nil {
		<-s.ended // which follows
	}
	select {
	case r := <-answer:
		return appendwire.Outcome(r)
	case <-s.ended:
	case <-ctx.Done():
	}
	select {
	case r := <-answer: // it came before the end
		return appendwire.Outcome(r)
	default:
		return nil, lake.Errorf(lake.Undetermined, "no answer in the session: %w", errors.Join(ctx.Err(), s.whyIfEnded()))
	}
}

// why is why the session ended, once it has.
func (s *session) why() error {
	<-s.ended
	if lake.KindOf(s.err) == lake.Unknown {
		return lake.Errorf(lake.Undetermined, "the session ended: %w", s.err)
	}
	return s.err
}

func (s *session) whyIfEnded() error {
	select {
	case <-s.ended:
		return s.err
	default:
		return nil
	}
}
