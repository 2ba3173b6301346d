// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slot

import (
	"context"
	"errors"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/engine/slotwire"
)

// session is a slot at work. The receiving goroutine never waits for the
// engine, and the replica's never for its own work, so neither can block the
// other for good.
type session struct {
	conn    *slotwire.Conn
	engine  Engine
	rows    []byte // the segment with the rows of scans, for reading
	results *slotwire.Arena
	schemas slotwire.Schemas
	threads int
	spill   string // its directory, or empty

	mu      sync.Mutex
	current *statement
}

// statement is the one that runs.
type statement struct {
	session *session
	id      uint32
	ctx     context.Context
	stop    context.CancelFunc
	window  chan struct{} // holds one for each result under way

	mu    sync.Mutex
	last  uint32
	scans map[uint32]*scan
	freed []int // regions whose return was not told yet
}

// serve answers frames until the socket ends.
func (s *session) serve() error {
	for {
		f, err := s.conn.Receive()
		if err != nil {
			return err
		}
		if err := s.handle(f); err != nil {
			return err
		}
	}
}

func (s *session) handle(f slotwire.Frame) error {
	switch f.Kind {
	case slotwire.KindPing:
		return s.conn.Send(slotwire.KindPong, 0, nil)
	case slotwire.KindPlan, slotwire.KindExecute, slotwire.KindParse:
		return s.start(f)
	}
	st := s.statement(f.Statement)
	if st == nil {
		return nil // it ended meanwhile
	}
	switch f.Kind {
	case slotwire.KindCancel:
		st.stop()
		return nil
	case slotwire.KindBatch:
		return st.batch(f.Body)
	case slotwire.KindScanEnd:
		return st.scanEnd(f.Body)
	case slotwire.KindFree:
		return st.free(f.Body)
	}
	return lake.Errorf(lake.Corrupt, "frame of kind %d", f.Kind)
}

func (s *session) statement(id uint32) *statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || s.current.id != id {
		return nil
	}
	return s.current
}

// start begins a statement on a goroutine of its own.
func (s *session) start(f slotwire.Frame) error {
	st := &statement{session: s, id: f.Statement, window: make(chan struct{}, slotwire.ResultWindow), scans: map[uint32]*scan{}}
	st.ctx, st.stop = context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		return lake.Errorf(lake.Corrupt, "a second statement before the first ended")
	}
	s.current = st
	go st.run(f)
	return nil
}

// run runs the statement and says how it ended. Failing to say it means that
// the replica is gone, which the receiver notices.
func (st *statement) run(f slotwire.Frame) {
	defer st.stop()
	var end slotwire.End
	err := st.answer(f, &end)
	end.Fault = slotwire.NewFault(err)
	end.Broken = errors.Is(err, engine.ErrBroken)
	st.session.forget()
	_ = st.session.conn.Send(slotwire.KindEnd, st.id, end.Append())
}

// forget ends the running statement, and takes all regions back at once, whose
// return by the replica may be on its way.
func (s *session) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = nil
	s.results.Reset()
}

func (st *statement) answer(f slotwire.Frame, end *slotwire.End) (err error) {
	s := st.session
	if f.Kind == slotwire.KindParse {
		end.Text, err = s.engine.SerializeSQL(st.ctx, string(f.Body))
		return err
	}
	q, err := slotwire.ReadRequest(f.Body, &s.schemas)
	if err != nil {
		return err
	}
	if q.Params != nil {
		defer q.Params.Release()
	}
	req := engine.Request{SQL: q.SQL, Params: q.Params, Tables: st.tables(q), Steady: q.Steady, Planned: q.Planned}
	if f.Kind == slotwire.KindExecute {
		return s.engine.Execute(st.ctx, req, st.emitter())
	}
	plan, err := s.engine.Plan(st.ctx, req)
	if err != nil {
		return err
	}
	end.Schema, end.Parameters = slotwire.EncodeSchema(plan.Schema), slotwire.EncodeSchema(plan.Parameters)
	return nil
}

func (st *statement) tables(q slotwire.Request) map[engine.Name]engine.Table {
	all := make([]*table, len(q.Tables))
	for i, t := range q.Tables {
		all[i] = &table{statement: st, index: i, schema: t.Schema, rows: t.Rows}
	}
	named := make(map[engine.Name]engine.Table, len(q.Names))
	for n, i := range q.Names {
		named[n] = all[i]
	}
	return named
}

// emitter sends result batches, after their schema.
func (st *statement) emitter() func(arrow.RecordBatch) error {
	var schema *arrow.Schema
	return func(b arrow.RecordBatch) error {
		if b.Schema() != schema {
			schema = b.Schema()
			if err := st.send(slotwire.KindSchema, slotwire.EncodeSchema(schema)); err != nil {
				return err
			}
		}
		select {
		case st.window <- struct{}{}:
		case <-st.ctx.Done():
			return st.ctx.Err()
		}
		g, err := slotwire.Pack(b, func(n int) (int, []byte, error) { return st.session.results.Alloc(st.ctx, n) })
		if err != nil {
			return err
		}
		return st.send(slotwire.KindResult, g.Append())
	}
}

// free takes the region of a result back that the replica has copied.
func (st *statement) free(body []byte) error {
	pos, err := slotwire.ReadNumber(body)
	if err != nil {
		return err
	}
	s := st.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != st {
		return nil // it ended meanwhile, and the region may be another's by now
	}
	select {
	case <-st.window:
		return s.results.Free(int(pos))
	default:
		return lake.Errorf(lake.Corrupt, "a result was given back that was not sent")
	}
}

func (st *statement) send(kind slotwire.Kind, body []byte) error {
	return st.session.conn.Send(kind, st.id, body)
}
