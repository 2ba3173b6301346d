// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/engine/slot"
	"github.com/lakeplane/lake/services/query/engine/slotwire"
)

// Engine runs statements in child processes. It implements [engine.Engine] and
// is safe for concurrent use.
//
// Errors are those of [engine.Engine], and lake.Unavailable or lake.Unknown for
// a statement whose slot ended under it.
type Engine struct {
	opts    Options
	metrics *metrics
	schemas slotwire.Schemas
	permits chan struct{} // holds one for each running statement

	life   context.Context // ends with Close
	end    context.CancelFunc
	work   sync.WaitGroup // everything in the background
	mu     sync.Mutex
	idle   []*process // the one used last at the end
	all    map[*process]bool
	births int           // processes that are starting in the background
	born   chan struct{} // closed and replaced when one is ready, or failed
	failed time.Time     // when the last one failed
}

var _ engine.Engine = (*Engine)(nil)

var errClosed = lake.Errorf(lake.Unavailable, "the query engine is closed")

// New starts the pool, and its first slots in the background. In a process that
// is a slot itself it fails: slots have no slots.
func New(opts Options) (*Engine, error) {
	if slot.Asked() {
		return nil, lake.Errorf(lake.Invalid, "an engine slot cannot have engine slots: does this program call slot.RunIfAsked?")
	}
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if err := Supported(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	e := &Engine{opts: opts, permits: make(chan struct{}, opts.Slots), all: map[*process]bool{}, born: make(chan struct{})}
	e.life, e.end = context.WithCancel(context.Background())
	var err error
	if e.metrics, err = newMetrics(opts.Metrics, e); err != nil {
		e.end()
		return nil, err
	}
	e.work.Go(e.watch)
	e.warm()
	return e, nil
}

// Plan implements [engine.Engine].
func (e *Engine) Plan(ctx context.Context, req engine.Request) (plan engine.Plan, err error) {
	ctx, cancel := e.bounded(ctx, "planning")
	defer cancel()
	end, err := e.request(ctx, slotwire.KindPlan, req, nil)
	if err != nil {
		return plan, err
	}
	if plan.Schema, err = e.schemas.Decode(end.Schema); err != nil {
		return plan, err
	}
	plan.Parameters, err = e.schemas.Decode(end.Parameters)
	return plan, err
}

// Execute implements [engine.Engine].
func (e *Engine) Execute(ctx context.Context, req engine.Request, emit func(arrow.RecordBatch) error) error {
	_, err := e.request(ctx, slotwire.KindExecute, req, emit)
	return err
}

// SerializeSQL parses a text for the gate, like duck.Engine.SerializeSQL. It is
// the first thing that ever reads the text of a stranger, so it happens in a
// slot as well.
func (e *Engine) SerializeSQL(ctx context.Context, sql string) ([]byte, error) {
	ctx, cancel := e.bounded(ctx, "parsing")
	defer cancel()
	end, err := e.run(ctx, nil, slotwire.KindParse, []byte(sql), 0, nil)
	return end.Text, err
}

func (e *Engine) bounded(ctx context.Context, what string) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, time.Now().Add(e.opts.PlanTimeout),
		lake.Errorf(lake.Exhausted, "%s the statement took longer than %s: make it simpler", what, e.opts.PlanTimeout))
}

// request describes the tables to the slot. Two names of one table stay that.
func (e *Engine) request(ctx context.Context, kind slotwire.Kind, req engine.Request, emit func(arrow.RecordBatch) error) (slotwire.End, error) {
	q := slotwire.Request{SQL: req.SQL, Names: make(map[engine.Name]int, len(req.Tables)), Params: req.Params, Steady: req.Steady, Planned: req.Planned}
	var tables []engine.Table
	for name, t := range req.Tables {
		at := indexOf(tables, t)
		if at < 0 {
			at = len(tables)
			tables = append(tables, t)
			q.Tables = append(q.Tables, slotwire.Table{Schema: t.Schema(), Rows: t.Rows()})
		}
		q.Names[name] = at
	}
	body, err := q.Append(&e.schemas)
	if err != nil {
		return slotwire.End{}, err
	}
	return e.run(ctx, tables, kind, body, affinity(req), emit)
}

// Close implements [engine.Engine]: it waits for running statements, which end
// when their contexts do, and ends the slots.
func (e *Engine) Close() error {
	e.end()
	for range e.opts.Slots {
		e.permits <- struct{}{}
	}
	e.mu.Lock()
	for p := range e.all {
		p.kill(nil)
	}
	e.mu.Unlock()
	e.work.Wait()
	for range e.opts.Slots {
		<-e.permits
	}
	e.metrics.unregister()
	return nil
}
