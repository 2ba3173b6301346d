// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package engine is the port between the query service and a SQL engine:
// what the service may ask, and what every engine promises in return.
// engine/duck is the implementation in use.
package engine

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	storage "github.com/lakeplane/lake/engine"
)

// Table is one authorized, pinned snapshot a query may read. Every
// [storage.Dataset] is a Table. It must be safe for concurrent use, and must
// stay open until the call it was given to has returned.
type Table interface {
	// Schema is the registered Arrow schema.
	Schema() *arrow.Schema
	// Rows is how many rows a scan delivers, or the most it may deliver. The
	// planner goes by it.
	Rows() uint64
	// Scan starts one pass over the rows. Several threads pull from the scan.
	Scan(ctx context.Context, opts storage.ScanOptions) (storage.Scan, error)
}

// Name is a table reference as SQL spells it. Catalog and Namespace are empty
// where the statement left them out. The engine compares names without regard
// to case, as SQL does.
type Name struct {
	Catalog   string
	Namespace string
	Table     string
}

// Request is one statement with everything it may touch. The statement must
// have passed the gate: the engine is not a security boundary against SQL text
// that has not.
type Request struct {
	// SQL is exactly one SELECT statement.
	SQL string
	// Tables holds one entry for each table reference of the statement. A
	// reference that is not here does not exist for the statement.
	Tables map[Name]Table
	// Params binds column i of its single row to placeholder i+1. nil leaves
	// the placeholders open, which only Plan accepts.
	Params arrow.RecordBatch
	// Steady says that the statement has the same result whenever it runs with
	// the same parameters over the same tables: it does not ask the clock or
	// chance. What an engine made for an earlier one may then be used for it.
	Steady bool
	// Planned is what Plan said of the same request, where the caller has it: an
	// Execute need then not find out again where the columns come from. nil where
	// it has not.
	Planned *arrow.Schema
}

// Plan describes a statement's result without running it.
type Plan struct {
	// Schema is exactly the schema of every batch that Execute will emit for
	// the same request. A column that is a plain reference keeps its registered
	// field (type, nullability, metadata) under the name the statement gives
	// it; every other column has the engine's type and is nullable.
	Schema *arrow.Schema
	// Parameters has one field for each placeholder, in binding order. A
	// placeholder whose type the statement does not determine is utf8.
	Parameters *arrow.Schema
}

// ErrBroken is in the chain of an error after which the instance that ran the
// statement cannot be trusted with another one.
var ErrBroken = errors.New("the query engine failed inside")

// Engine runs read-only statements. It is safe for concurrent use.
//
// Errors are of kind lake.Invalid for what the statement's author can mend
// (with the engine's message and, where known, the position),
// lake.Exhausted for memory, spill space and oversize rows, and the context's
// error when it ended first.
type Engine interface {
	// Plan binds the statement.
	Plan(ctx context.Context, req Request) (Plan, error)
	// Execute streams the result. emit is called from the calling goroutine,
	// one batch at a time, and must not keep the batch without retaining it;
	// while emit blocks the engine stops producing. An error from emit ends the
	// query and is returned. Execute returns within about one second of the
	// end of ctx, whatever the engine is doing.
	Execute(ctx context.Context, req Request, emit func(arrow.RecordBatch) error) error
	// Close waits for running queries to stop and releases the engine.
	Close() error
}
