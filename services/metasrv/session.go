// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/internal/rpc"
)

// sessionWindow is how many appends of one session may be under way or have
// answers that the client has not taken. A client with more waits, by gRPC's own
// flow control.
const sessionWindow = 64

// sessionPatience is how long a session that ends waits for its client to read
// the last answers.
const sessionPatience = 3 * time.Second

// session is a DoPut that carries many small appends to one table; see
// lakepb.AppendSessionCommand. Each is admitted, verified, run and answered as
// one in a DoPut of its own would be. What the session saves is a call each.
type session struct {
	server    *Server
	principal access.Principal
	opening   appendwire.Opening
	schema    *flight.FlightData

	window  chan struct{} // a place for each append that is not answered yet
	running sync.WaitGroup
	answers chan *lakepb.AppendSessionResult
}

// serveSession serves a session until the client or the server ends it. What it
// has received by then is answered.
func (s *Server) serveSession(stream flight.FlightService_DoPutServer) error {
	ctx := stream.Context()
	p, err := caller(ctx)
	if err != nil {
		return err
	}
	if err := s.taking(ctx); err != nil {
		return err
	}
	if !s.sessions.TryAcquire(1) {
		return lake.Errorf(lake.Exhausted, "append session: %d are open: append without one, or try again", s.opts.Append.Sessions)
	}
	s.metrics.sessions.Inc()
	defer func() {
		s.metrics.sessions.Dec()
		s.sessions.Release(1)
	}()
	in := rpc.NewSession(ctx, stream, appendwire.SessionLife, appendwire.SessionIdle)
	defer in.Close()
	c := &session{
		server: s, principal: p,
		window: make(chan struct{}, sessionWindow), answers: make(chan *lakepb.AppendSessionResult, sessionWindow),
	}
	if err := c.open(in); err != nil {
		return err
	}
	// From here on appends may be applied, and the client is told so.
	if err := stream.Send(new(flight.PutResult)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sent := make(chan error, 1)
	go func() {
		err := c.answer(stream)
		if err != nil {
			cancel() // nobody hears the rest; what is under way goes on
		}
		sent <- err
	}()
	err = c.receive(ctx, in)
	c.running.Wait()
	close(c.answers) // there was room for all of them
	patience := time.NewTimer(sessionPatience)
	defer patience.Stop()
	select {
	case failed := <-sent:
		return errors.Join(err, failed)
	case <-patience.C: // the return ends the Send that waits for the client
		return errors.Join(err, errDeaf)
	}
}

// errDeaf ends a session whose client does not read its answers.
var errDeaf = lake.Errorf(lake.Exhausted, "append session: the client reads no answers")

// open reads the first message.
func (c *session) open(in putStream) error {
	first, err := in.Recv()
	if errors.Is(err, io.EOF) {
		return lake.Errorf(lake.Invalid, "append session: the stream holds no messages")
	}
	if err != nil {
		return err
	}
	if c.opening, err = appendwire.ParseOpening(first.GetFlightDescriptor()); err != nil {
		return err
	}
	if !c.principal.May(c.opening.Table.Namespace) {
		return noTable(c.opening.Table)
	}
	c.schema = &flight.FlightData{DataHeader: first.GetDataHeader(), DataBody: first.GetDataBody()}
	return nil
}

// receive takes appends until the session ends. A server that takes no more
// writes ends it, so that the client finds the one that does; so does a message
// that cannot be answered, as it names no operation.
func (c *session) receive(ctx context.Context, in putStream) error {
	for {
		m, err := in.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.server.taking(ctx); err != nil {
			return err
		}
		id, digest, err := appendwire.ParseItem(m)
		if id.IsZero() {
			return err
		}
		if err := c.enter(ctx); err != nil {
			return err
		}
		var room *permit
		var payload *payload
		if err == nil {
			payload, room, err = c.take(ctx, m, id, digest)
		}
		c.running.Add(1)
		c.server.hands.do(func() {
			defer c.running.Done()
			var result *lakepb.AppendResult
			if err == nil {
				result, err = c.run(ctx, payload, room)
			}
			c.answers <- appendwire.SessionResult(id, result, err)
		})
	}
}

// enter waits for a place in the window. A client that takes its time to read
// keeps its session as long as one that says nothing does.
func (c *session) enter(ctx context.Context) error {
	select {
	case c.window <- struct{}{}:
		return nil
	default:
	}
	patience := time.NewTimer(appendwire.SessionIdle)
	defer patience.Stop()
	select {
	case c.window <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-rpc.Ending(ctx):
		return lake.Errorf(lake.Unavailable, "the server is stopping")
	case <-patience.C:
		return errDeaf
	}
}

// take admits and verifies an append.
func (c *session) take(ctx context.Context, m *flight.FlightData, id lake.OperationID, digest lake.Digest) (*payload, *permit, error) {
	batch := &flight.FlightData{DataHeader: m.GetDataHeader(), DataBody: m.GetDataBody()}
	p := &payload{
		command:  appendwire.Command{Table: c.opening.Table, Operation: id, Digest: digest, Incarnation: c.opening.Incarnation},
		messages: []*flight.FlightData{c.schema, batch},
		bytes:    appendwire.MessageSize(c.schema) + appendwire.MessageSize(batch),
	}
	room, err := c.server.admission.enter(ctx, p.bytes)
	if err != nil {
		return nil, nil, err
	}
	p.digest = appendwire.DigestOf(p.messages...)
	if err := p.verify(); err != nil {
		room.leave()
		return nil, nil, err
	}
	return p, room, nil
}

// run executes the append here, or waits for another that does.
func (c *session) run(ctx context.Context, p *payload, room *permit) (*lakepb.AppendResult, error) {
	result, err := c.server.runOrJoin(ctx, c.principal.Tenant, p, room, func(execute func()) { execute() })
	if err != nil {
		return nil, err
	}
	return result.wire(), nil
}

// answer sends the outcomes, those that are there together, until there are no
// more. After an error it goes on without sending.
func (c *session) answer(stream flight.FlightService_DoPutServer) (failed error) {
	for first := range c.answers {
		results := append(make([]*lakepb.AppendSessionResult, 0, len(c.answers)+1), first)
		for range len(c.answers) {
			results = append(results, <-c.answers)
		}
		if failed == nil {
			failed = c.tell(stream, results)
		}
		for range results {
			<-c.window
		}
	}
	return failed
}

func (c *session) tell(stream flight.FlightService_DoPutServer, results []*lakepb.AppendSessionResult) error {
	told, err := proto.Marshal(&lakepb.AppendSessionResults{Results: results})
	if err != nil {
		return err
	}
	return stream.Send(&flight.PutResult{AppMetadata: told})
}
