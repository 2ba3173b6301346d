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
func (c *Client) Query(ctx context.Context, sql string, params ...any) (*Result, error) {
	if len(sql) > lake.MaxSQLBytes {
		return nil, lake.Errorf(lake.Invalid, "query: the SQL text has %d bytes, at most %d are allowed", len(sql), lake.MaxSQLBytes)
	}
	ctx, cancel := context.WithCancel(ctx)
	r, err := c.query(ctx, sql, params)
	if err != nil {
		cancel()
		return nil, err
	}
	r.cancel = cancel
	return r, nil
}

func (c *Client) query(ctx context.Context, sql string, params []any) (*Result, error) {
	asking, own := c.writes.ask(ctx, sql)
	info, err := c.plan(asking, sql, params)
	if len(own) > 0 && lake.Is(fromStream(err), lake.Precondition) {
		// The version may be one that the name's next table does not have yet.
		c.writes.forget(own...)
		info, err = c.plan(ctx, sql, params)
	}
	if err != nil {
		return nil, fromStream(err)
	}
	schema, err := flight.DeserializeSchema(info.GetSchema(), memory.DefaultAllocator)
	if err != nil {
		return nil, lake.Errorf(lake.Corrupt, "query: the server sent a bad schema: %w", err)
	}
	return &Result{client: c, ctx: ctx, schema: schema, endpoints: info.GetEndpoint()}, nil
}

func (c *Client) plan(ctx context.Context, sql string, params []any) (*flight.FlightInfo, error) {
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
func (r *Result) Next() bool {
	for r.err == nil {
		if r.current == nil && !r.open() {
			return false
		}
		if r.current.Next() {
			return true
		}
		r.err = fromStream(r.current.Err())
		r.current.Release()
		r.current = nil
	}
	return false
}

// open starts the next part of the result.
func (r *Result) open() bool {
	if len(r.endpoints) == 0 {
		return false
	}
	ticket := r.endpoints[0].GetTicket()
	r.endpoints = r.endpoints[1:]
	reader, err := r.client.sql.DoGet(r.ctx, ticket)
	if errors.Is(err, io.EOF) {
		r.err = lake.Errorf(lake.Corrupt, "query: the server sent a result without a schema")
		return false
	}
	if err != nil {
		r.err = fromStream(err)
		return false
	}
	r.current = reader
	return true
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
		if r.current != nil {
			r.current.Release()
			r.current = nil
		}
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
