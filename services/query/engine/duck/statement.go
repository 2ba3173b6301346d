// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
)

// newQuery is a query under a context of its own.
func newQuery(ctx context.Context, req engine.Request, dry bool) *query {
	q := &query{req: req, dry: dry, tables: map[uint64]*boundTable{}}
	q.ctx, q.stop = context.WithCancelCause(ctx)
	return q
}

// plan binds the statement and describes its result.
func (s *slot) plan(q *query) (plan engine.Plan, err error) {
	err = s.run(q, func() error {
		p, err := s.prepare(q)
		if err != nil {
			return err
		}
		defer p.stmt.close()
		plan.Parameters = p.stmt.parameters()
		columns, err := s.plannedColumns(q, p.stmt)
		if err != nil {
			return err
		}
		out, err := describe(columns, p.origins)
		plan.Schema = out.schema
		return err
	})
	return plan, err
}

// prepared is a statement ready to start.
type prepared struct {
	stmt    *statement
	origins []origin
	kept    bool // it is the seat's, who closes it
}

// prepare parses and binds the statement with its parameters. Whatever else
// must be asked of the connection is asked here: a second statement would end
// one that has started.
func (s *slot) prepare(q *query) (p prepared, err error) {
	if p, ok := s.seat.prepared(q); ok {
		return p, s.bind(p, q)
	}
	if p.stmt, err = s.conn.prepare(q.req.SQL); err != nil {
		return p, err
	}
	defer func() {
		if err != nil {
			p.stmt.close()
		}
	}()
	if _, ok := promised(p.stmt.columns, q.req.Planned); !ok && q.remarkable() {
		if p.origins, err = s.origins(q, p.stmt.params() > 0); err != nil {
			return p, err
		}
	}
	return p, s.bind(p, q)
}

func (s *slot) bind(p prepared, q *query) error {
	if q.req.Params == nil {
		return nil
	}
	return p.stmt.bindRow(q.req.Params)
}

// remarkable reports whether lineage can matter, which costs a second binding.
func (q *query) remarkable() bool {
	for _, t := range q.tables {
		for _, c := range t.columns {
			if !c.unremarkable() {
				return true
			}
		}
	}
	return false
}

// origins traces the statement's columns, or returns nil where they cannot be
// traced. It fails only when the query must end.
func (s *slot) origins(q *query, parameters bool) ([]origin, error) {
	if known, ok := s.traces.get(q, parameters); ok {
		return known, nil
	}
	found, err := s.trace(q, parameters)
	if isBroken(err) || isInterrupted(err) {
		return nil, err
	}
	if err == nil { // else it may have been for want of memory
		s.traces.put(q, parameters, found)
	}
	return found, nil
}

func (s *slot) trace(q *query, parameters bool) ([]origin, error) {
	plan, err := s.conn.logicalPlan(q.req.SQL, parameters)
	if err != nil {
		return nil, err
	}
	l := &lineage{tables: q.tables, ctes: map[uint64][]origin{}}
	return l.trace(plan)
}

// execute runs the statement and emits its batches.
func (s *slot) execute(q *query, emit func(arrow.RecordBatch) error) error {
	return s.run(q, func() (err error) {
		began := time.Now()
		p, err := s.prepare(q)
		if err != nil {
			return err
		}
		defer func() { s.seat.leave(q, p, began, err) }()
		if n := p.stmt.params(); n > 0 && q.req.Params == nil {
			return lake.Errorf(lake.Invalid, "the statement has %d parameters and none is bound", n)
		}
		cur, err := p.stmt.start()
		if err != nil {
			return err
		}
		defer s.assist()()
		defer cur.close()
		return s.stream(cur, q.req.Planned, p.origins, emit)
	})
}

// stream emits the result under the planned schema, where it is known and fits.
func (s *slot) stream(cur *cursor, planned *arrow.Schema, origins []origin, emit func(arrow.RecordBatch) error) (err error) {
	if err := cur.open(); err != nil {
		return err
	}
	out, ok := promised(cur.columns, planned)
	if !ok {
		if out, err = describe(cur.columns(), origins); err != nil {
			return err
		}
	}
	b, err := newBatcher(s.opts, out, emit)
	if err != nil {
		return err
	}
	for {
		c, err := cur.next()
		if err != nil {
			return err
		}
		if c.c == nil {
			return b.flush()
		}
		err = b.add(c)
		c.destroy()
		if err != nil {
			return err
		}
	}
}
