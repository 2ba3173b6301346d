// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/engine/slotwire"
)

// statement is one that a slot runs, seen from its caller.
type statement struct {
	process *process
	id      uint32
	ctx     context.Context
	stop    context.CancelFunc
	tables  []engine.Table
	emit    func(arrow.RecordBatch) error
	schema  *arrow.Schema
	// events are the schema, results and end, in order. There is room for all
	// that a slot may send ahead.
	events chan slotwire.Frame

	heard atomic.Bool // the slot said something of it

	mu       sync.Mutex
	scans    map[uint32]*scan
	scanErr  error // the first of a scan
	finished bool
	high     int // end of the highest result region
}

// maxEvents is the results under way, each perhaps with a schema, and the end.
const maxEvents = 2*slotwire.ResultWindow + 2

// run gives a statement to a slot and follows it to its end. A slot that was
// killed from outside before the statement could do anything there, perhaps
// while it was idle and nobody had noticed, is no reason to fail: another one
// gets it.
func (e *Engine) run(ctx context.Context, tables []engine.Table, kind slotwire.Kind, body []byte, of uint64, emit func(arrow.RecordBatch) error) (slotwire.End, error) {
	end, untouched, err := e.try(ctx, tables, kind, body, of, emit)
	if untouched {
		end, _, err = e.try(ctx, tables, kind, body, of, emit)
	}
	return end, err
}

// tooEarly is how soon after it was given to a slot a statement has not done
// enough to be the reason that the slot was killed.
const tooEarly = 100 * time.Millisecond

// try is one attempt. untouched says that the slot was killed and had not
// answered anything.
func (e *Engine) try(ctx context.Context, tables []engine.Table, kind slotwire.Kind, body []byte, of uint64, emit func(arrow.RecordBatch) error) (end slotwire.End, untouched bool, err error) {
	p, err := e.acquire(ctx, of)
	if err != nil {
		return end, false, err
	}
	defer e.release(p)
	if !p.shared.enter() { // it died when it had just been chosen
		<-p.dead
		return end, errors.Is(p.death, errKilled), p.death
	}
	defer p.shared.leave()
	p.statements++
	if kind != slotwire.KindParse {
		p.seated = of
	}
	st := &statement{
		process: p, id: uint32(p.statements), tables: tables, emit: emit,
		events: make(chan slotwire.Frame, maxEvents), scans: map[uint32]*scan{},
	}
	st.ctx, st.stop = context.WithCancel(ctx)
	defer st.finish()
	began := time.Now()
	p.heard.Store(began.UnixNano())
	p.current.Store(st)
	if err = p.conn.Send(kind, st.id, body); err != nil {
		err = st.unsent(err)
	} else {
		end, err = st.follow()
	}
	untouched = err != nil && errors.Is(err, errKilled) && !st.heard.Load() && time.Since(began) < tooEarly
	return end, untouched, err
}

// unsent is the error of a statement that did not reach the slot.
func (st *statement) unsent(err error) error {
	if lake.Is(err, lake.Exhausted) { // too large, and nothing of it was sent
		return err
	}
	st.process.kill(retire("killed", errKilled))
	<-st.process.dead
	return st.process.death
}

// follow passes results on until the end.
func (st *statement) follow() (slotwire.End, error) {
	for {
		select {
		case f := <-st.events:
			if f.Kind == slotwire.KindEnd {
				return st.ended(f)
			}
			if err := st.result(f); err != nil {
				st.leave()
				return slotwire.End{}, err
			}
		case <-st.ctx.Done():
			st.leave()
			return slotwire.End{}, stopped(st.ctx)
		case <-st.process.dead:
			if len(st.events) > 0 {
				continue // what it said before its death counts
			}
			return slotwire.End{}, st.process.death
		}
	}
}

// result emits a batch, or takes note of the schema of those that follow.
func (st *statement) result(f slotwire.Frame) error {
	if f.Kind == slotwire.KindSchema {
		schema, err := st.process.engine.schemas.Decode(f.Body)
		if err != nil || schema == nil {
			return st.breach(err)
		}
		st.schema = schema
		return nil
	}
	batch, err := st.copyOut(f.Body)
	if err != nil {
		return err
	}
	defer batch.Release()
	return st.emit(batch)
}

// copyOut takes a result out of the shared memory before it looks at it: the
// slot could change it at any time. Then the slot may use the region again.
func (st *statement) copyOut(body []byte) (arrow.RecordBatch, error) {
	p := st.process
	g, err := slotwire.ReadRegion(body, slotwire.ResultArenaBytes)
	if err != nil {
		return nil, st.breach(err)
	}
	st.high = max(st.high, g.Pos+g.Size)
	own := newPrivate(g.Size)
	defer own.Free(nil)
	copy(own.mem, p.shared.results[g.Pos:])
	if err := p.conn.Send(slotwire.KindFree, st.id, slotwire.AppendNumber(uint32(g.Pos))); err != nil {
		<-p.dead
		return nil, p.death
	}
	if st.schema == nil || st.emit == nil {
		return nil, st.breach(lake.Errorf(lake.Corrupt, "a result without a schema"))
	}
	batch, err := slotwire.Unpack(st.schema, g, own.mem, own.buffer, true)
	if err != nil {
		return nil, st.breach(err)
	}
	return batch, nil
}

// breach ends a slot that does not keep to the protocol.
func (st *statement) breach(err error) error {
	st.process.kill(retire("protocol", lake.Errorf(lake.Unknown, "the engine process running the query did not keep to the protocol: %w", err)))
	<-st.process.dead
	return st.process.death
}

// ended reads the end of the statement.
func (st *statement) ended(f slotwire.Frame) (slotwire.End, error) {
	end, err := slotwire.ReadEnd(f.Body)
	if err != nil {
		return end, st.breach(err)
	}
	st.stop()
	if !end.Broken {
		return end, st.explain(end.Fault)
	}
	err = lake.Errorf(lake.Unknown, "%w", engine.ErrBroken)
	if end.Fault != nil {
		text := strings.TrimSuffix(end.Fault.Text, ": "+engine.ErrBroken.Error())
		err = &lake.Error{Kind: end.Fault.Kind, Message: text, Err: engine.ErrBroken}
	}
	st.process.kill(retire("internal", err))
	return end, err
}

// explain prefers what the replica itself knows of an error.
func (st *statement) explain(f *slotwire.Fault) error {
	if f == nil {
		return nil
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if f.Scan && st.scanErr != nil {
		return st.scanErr
	}
	return f.Err()
}

// leave stops the statement and waits for its end, no longer than the grace.
// Then the slot is lost.
func (st *statement) leave() {
	p := st.process
	st.stop()
	patience := time.AfterFunc(p.engine.opts.Grace, func() {
		p.kill(retire("stuck", lake.Errorf(lake.Unavailable, "the engine process did not stop the query")))
	})
	defer patience.Stop()
	if p.conn.Send(slotwire.KindCancel, st.id, nil) != nil {
		<-p.dead
		return
	}
	for {
		select {
		case f := <-st.events:
			switch f.Kind {
			case slotwire.KindEnd:
				if _, err := st.ended(f); err != nil && !p.alive() {
					<-p.dead
				}
				return
			case slotwire.KindResult:
				if !st.skip(f.Body) {
					return
				}
			}
		case <-p.dead:
			return
		}
	}
}

// skip gives a result back unread.
func (st *statement) skip(body []byte) bool {
	g, err := slotwire.ReadRegion(body, slotwire.ResultArenaBytes)
	if err == nil {
		err = st.process.conn.Send(slotwire.KindFree, st.id, slotwire.AppendNumber(uint32(g.Pos)))
	}
	if err != nil {
		_ = st.breach(err)
	}
	return err == nil
}

// event passes a frame to the caller's goroutine. A slot that sends more than
// it may is at fault.
func (st *statement) event(f slotwire.Frame) error {
	select {
	case st.events <- f:
		return nil
	default:
		return lake.Errorf(lake.Corrupt, "more than %d results ahead", maxEvents)
	}
}

// finish ends what belongs to the statement, so that its tables may be closed
// and the segment be used again. A table that does not end its scan costs the
// slot, not the caller.
func (st *statement) finish() {
	p := st.process
	st.stop()
	p.current.Store(nil)
	st.mu.Lock()
	st.finished = true
	st.mu.Unlock()
	idle := make(chan struct{})
	go func() { p.pumps.Wait(); close(idle) }()
	patience := time.NewTimer(p.engine.opts.Grace)
	defer patience.Stop()
	select {
	case <-idle:
	case <-patience.C:
		p.kill(retire("table", nil))
		return
	}
	if p.alive() {
		p.shared.trim(p.arena.Reset(), st.high)
	}
}
