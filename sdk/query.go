// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/internal/reads"
	"github.com/lakeplane/lake/lake"
)

// Query runs one SELECT and returns its rows as they arrive. Parameters stand
// for the placeholders ? or $1, $2, … in their order and may be
// nil, bools, integers, floats, strings, []byte and time.Time (as a UTC
// timestamp in microseconds).
//
// The tables are read at the versions that were current when the query was
// planned, and at least at those that this client's own appends made, whichever
// replica answers. The result must be released, which also stops a query still running.
//
// The rows come over one stream; a large table is read faster in [Client.Parts].
func (c *Client) Query(ctx context.Context, sql string, params ...any) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	info, schema, err := c.query(ctx, sql, params)
	if err != nil {
		cancel()
		return nil, err
	}
	return &Result{client: c, ctx: ctx, cancel: cancel, schema: schema, endpoints: info.GetEndpoint()}, nil
}

// query plans a query and returns the schema of its rows and where they are.
func (c *Client) query(ctx context.Context, sql string, params []any) (*flight.FlightInfo, *arrow.Schema, error) {
	if len(sql) > lake.MaxSQLBytes {
		return nil, nil, lake.Errorf(lake.Invalid, "query: the SQL text has %d bytes, at most %d are allowed", len(sql), lake.MaxSQLBytes)
	}
	asking, own := c.writes.ask(ctx, sql)
	info, err := c.plan(asking, sql, params)
	if len(own) > 0 && lake.Is(err, lake.Precondition) {
		// The version may be one that the name's next table does not have yet.
		c.writes.forget(own...)
		info, err = c.plan(ctx, sql, params)
	}
	if err != nil {
		return nil, nil, err
	}
	schema, err := flight.DeserializeSchema(info.GetSchema(), memory.DefaultAllocator)
	if err != nil {
		return nil, nil, lake.Errorf(lake.Corrupt, "query: the server sent a bad schema: %w", err)
	}
	return info, schema, nil
}

func (c *Client) plan(ctx context.Context, sql string, params []any) (info *flight.FlightInfo, err error) {
	err = reads.Repeat(ctx, func() error {
		var err error
		info, err = c.planOnce(ctx, sql, params)
		return fromStream(err)
	})
	return info, err
}

func (c *Client) planOnce(ctx context.Context, sql string, params []any) (*flight.FlightInfo, error) {
	if len(params) == 0 {
		return c.sql.Execute(ctx, sql)
	}
	row, err := paramRow(params)
	if err != nil {
		return nil, err
	}
	defer row.Release()
	statement, err := c.sql.Prepare(ctx, sql)
	if err != nil {
		return nil, err
	}
	// The ticket stands on its own; the statement is not needed any more.
	defer func() { _ = statement.Close(context.WithoutCancel(ctx)) }()
	statement.SetParameters(row)
	return statement.Execute(ctx)
}

// Result reads the rows of a query. It implements array.RecordReader and, like
// any of them, is used by one goroutine at a time. A batch is good until the
// next one; retain it to keep it longer.
type Result struct {
	client    *Client
	ctx       context.Context //nolint:containedctx // the query's life, ended by Release
	cancel    context.CancelFunc
	schema    *arrow.Schema
	endpoints []*flight.FlightEndpoint
	current   *flight.Reader
	err       error
	release   sync.Once
}

var _ array.RecordReader = (*Result)(nil)

// Schema is the schema of every batch, known before the first.
func (r *Result) Schema() *arrow.Schema { return r.schema }

// Next fetches the next batch; false means the end or an error, see Err.
//
// A part of the result that a replica could not begin is asked for again, of
// another one where there is one. One that broke off after its first batch is
// not: its rows come in no fixed order, so nobody knows which are left. The
// error is then lake.Unavailable, and the query can be run again.
func (r *Result) Next() bool {
	if r.current != nil {
		if r.current.Next() {
			return true
		}
		r.err = fromStream(r.current.Err())
		r.leave()
	}
	for r.err == nil && len(r.endpoints) > 0 {
		ticket := r.endpoints[0].GetTicket()
		r.endpoints = r.endpoints[1:]
		r.err = reads.Repeat(r.ctx, func() error { return r.redeem(ticket) })
		if r.current != nil {
			return true
		}
	}
	return false
}

// redeem asks for one part of the result and reads up to its first batch,
// which is then the current one. A part may have none.
func (r *Result) redeem(ticket *flight.Ticket) error {
	reader, err := r.client.sql.DoGet(r.ctx, ticket)
	if errors.Is(err, io.EOF) {
		return lake.Errorf(lake.Corrupt, "query: the server sent a result without a schema")
	}
	if err != nil {
		return fromStream(err)
	}
	if reader.Next() {
		r.current = reader
		return nil
	}
	defer reader.Release()
	return fromStream(reader.Err())
}

// leave lets go of the current part.
func (r *Result) leave() {
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
}

// RecordBatch is the current batch.
func (r *Result) RecordBatch() arrow.RecordBatch {
	if r.current == nil {
		return nil
	}
	return r.current.RecordBatch()
}

// Record is the current batch.
//
// Deprecated: use RecordBatch. It is there for array.RecordReader.
func (r *Result) Record() arrow.RecordBatch { return r.RecordBatch() }

// Err is the error that ended the rows, or nil.
func (r *Result) Err() error { return r.err }

// Retain is there for array.RecordReader and does nothing: one Release ends
// the result.
func (r *Result) Retain() {}

// Release ends the query, wherever it is.
func (r *Result) Release() {
	r.release.Do(func() {
		r.cancel()
		r.leave()
	})
}

// Batches yields the batches, then releases the result. An error ends the loop.
func (r *Result) Batches() iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		defer r.Release()
		for r.Next() {
			if !yield(r.RecordBatch(), nil) {
				return
			}
		}
		if r.err != nil {
			yield(nil, r.err)
		}
	}
}
