// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"errors"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
)

// Engine runs statements in a fixed set of DuckDB instances, one statement a
// slot. It implements [engine.Engine] and is safe for concurrent use.
//
// A slot that failed inside DuckDB, or that does not end within the grace
// period after being stopped, is given up: its place is taken by a new one,
// and the lost one is released when (if ever) DuckDB returns.
type Engine struct {
	opts    Options
	free    chan *slot   // nil entries are slots to be opened when needed
	parsers chan *parser // the same

	mu     sync.Mutex
	closed bool
	done   chan struct{} // closed by Close
	lost   sync.WaitGroup
}

var _ engine.Engine = (*Engine)(nil)

// New makes the engine. Slots and parsers open when first used.
func New(opts Options) (*Engine, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	e := &Engine{
		opts: opts, free: make(chan *slot, opts.Slots), parsers: make(chan *parser, opts.Parsers),
		done: make(chan struct{}),
	}
	for range opts.Slots {
		e.free <- nil
	}
	for range opts.Parsers {
		e.parsers <- nil
	}
	return e, nil
}

var errClosed = lake.Errorf(lake.Unavailable, "the query engine is closed")

// acquire waits for a free slot.
func (e *Engine) acquire(ctx context.Context) (*slot, error) {
	select {
	case <-e.done:
		return nil, errClosed
	default:
	}
	select {
	case s := <-e.free:
		return e.ready(s)
	case <-ctx.Done():
		return nil, stopped(ctx)
	case <-e.done:
		return nil, errClosed
	}
}

func (e *Engine) ready(s *slot) (*slot, error) {
	if s != nil {
		return s, nil
	}
	s, err := newSlot(e.opts)
	if err != nil {
		e.free <- nil
		return nil, err
	}
	return s, nil
}

// release gives a slot back, or its place if the slot is broken.
func (e *Engine) release(s *slot) {
	if s.broken {
		s.close()
		s = nil
	}
	e.free <- s
}

// Plan implements [engine.Engine].
func (e *Engine) Plan(ctx context.Context, req engine.Request) (engine.Plan, error) {
	var plan engine.Plan
	err := e.run(ctx, req, true, nil, func(s *slot, q *query, _ func(arrow.RecordBatch) error) error {
		p, err := s.plan(q)
		plan = p
		return err
	})
	if err != nil {
		return engine.Plan{}, err // plan may belong to a lost slot
	}
	return plan, nil
}

// Execute implements [engine.Engine].
func (e *Engine) Execute(ctx context.Context, req engine.Request, emit func(arrow.RecordBatch) error) error {
	return e.run(ctx, req, false, emit, func(s *slot, q *query, send func(arrow.RecordBatch) error) error {
		return s.execute(q, send)
	})
}

// run does work in a slot, on a goroutine of its own so that the caller can
// leave without it, and emits on the caller's.
func (e *Engine) run(ctx context.Context, req engine.Request, dry bool, emit func(arrow.RecordBatch) error,
	work func(*slot, *query, func(arrow.RecordBatch) error) error,
) error {
	s, err := e.acquire(ctx)
	if err != nil {
		return err
	}
	q := newQuery(ctx, req, dry)
	defer q.stop(nil)
	r := &running{engine: e, slot: s, query: q, batches: make(chan arrow.RecordBatch), ended: make(chan error, 1)}
	go func() { r.ended <- work(s, q, r.send) }()
	return r.deliver(emit)
}

// Close implements [engine.Engine]. It waits for running queries, which end
// when their contexts do, and not for lost slots.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	close(e.done)
	e.mu.Unlock()
	for range e.opts.Slots {
		if s := <-e.free; s != nil {
			s.close()
		}
	}
	for range e.opts.Parsers {
		if p := <-e.parsers; p != nil {
			p.close()
		}
	}
	return nil
}

// errAbandoned is what a query is stopped with when its consumer failed; the
// consumer's error is returned instead.
var errAbandoned = errors.New("the consumer of the result failed")
