// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdktest

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// RefuseSessions makes the server answer sessions of appends with err, as
// servers without them do; nil takes them again.
func (s *Server) RefuseSessions(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = err
}

// Sessions is how many sessions of appends were asked for.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions
}

// OpenSessions is how many sessions of appends are being served.
func (s *Server) OpenSessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

func (s *Server) openSessions(by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open += by
}

// session serves a session of appends. The plan holds for each of them:
// EndEarly ends the session, after Silence the others are answered.
func (s *Server) session(stream flight.FlightService_DoPutServer, first *flight.FlightData) error {
	s.mu.Lock()
	s.sessions++
	refusal := s.refusal
	s.mu.Unlock()
	if refusal != nil {
		return grpcerr.ToStatus(refusal)
	}
	opening, err := appendwire.ParseOpening(first.GetFlightDescriptor())
	if err != nil {
		return grpcerr.ToStatus(err)
	}
	s.openSessions(1)
	defer s.openSessions(-1)
	schema := &flight.FlightData{DataHeader: first.GetDataHeader(), DataBody: first.GetDataBody()}
	if err := stream.Send(new(flight.PutResult)); err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		id, digest, err := appendwire.ParseItem(m)
		if err != nil {
			return grpcerr.ToStatus(err)
		}
		cmd := appendwire.Command{Table: opening.Table, Operation: id, Digest: digest, Incarnation: opening.Incarnation}
		fault := s.nextFault(cmd)
		result, err := s.one(fault, cmd, schema, m)
		switch fault {
		case EndEarly:
			return nil
		case Silence:
			continue
		}
		told, err := proto.Marshal(&lakepb.AppendSessionResults{Results: []*lakepb.AppendSessionResult{appendwire.SessionResult(id, result, err)}})
		if err != nil {
			return err
		}
		if err := stream.Send(&flight.PutResult{AppMetadata: told}); err != nil {
			return err
		}
	}
}

// one applies one append of a session, or does what the fault says.
func (s *Server) one(fault Fault, cmd appendwire.Command, schema, batch *flight.FlightData) (*lakepb.AppendResult, error) {
	if err := fault.refusal(cmd); err != nil {
		return nil, err
	}
	payload := &replayReader{stream: &messages{schema, {DataHeader: batch.GetDataHeader(), DataBody: batch.GetDataBody()}}, hash: appendwire.NewHasher()}
	rows, err := payload.batches(cmd)
	if err != nil {
		return nil, err
	}
	result, err := s.apply(cmd, rows)
	if err == nil && fault == LoseAck {
		return nil, lake.Errorf(lake.Unavailable, "connection lost")
	}
	return result, err
}

// messages are read in their order.
type messages []*flight.FlightData

func (m *messages) Recv() (*flight.FlightData, error) {
	if len(*m) == 0 {
		return nil, io.EOF
	}
	next := (*m)[0]
	*m = (*m)[1:]
	return next, nil
}
