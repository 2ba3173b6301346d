// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
)

// AppendResult is a committed append.
type AppendResult struct {
	// Operation is the id under which it is remembered.
	Operation lake.OperationID
	// Incarnation and Version say where the rows became visible. Appends that
	// were committed together share a version.
	Incarnation lake.Incarnation
	Version     lake.Version
	Rows        uint64
	// Replayed means that an earlier attempt had committed it already.
	Replayed bool
}

// Append adds the rows of the batches to a table, all of them or none, once.
// One append takes 1 to 10,000 rows of the table's exact schema and at most
// 64 MiB encoded; more is lake.Invalid before anything is sent. The batches are
// not retained.
//
// When the client knows the table (see [Client.Schema]), rows of another
// schema are refused before they are sent, naming the first field that
// differs, and the append is pinned to the table's incarnation: one that was
// dropped and made again in between is lake.Precondition, and the caller
// decides. A client that does not know the table does not ask; the authority
// checks the rows.
//
// Small appends to one table that follow each other, or come at the same time,
// share a call of the client's, each with its own operation, answer and error.
// There is nothing to set, and the promises are the same.
//
// Failures after which the outcome is unknown, and busy or absent servers, are
// retried with the same operation for the client's retry window, also on
// another endpoint. After that, or when ctx ends, the error is a
// [*PendingAppend] if an attempt may have been applied, else the last failure,
// and nothing was appended.
func (c *Client) Append(ctx context.Context, table lake.TableName, batches ...arrow.RecordBatch) (AppendResult, error) {
	p, err := c.PrepareAppend(table, batches...)
	if err != nil {
		return AppendResult{}, err
	}
	return p.Resume(ctx)
}

// PrepareAppend encodes an append and gives it its id without sending it;
// Resume sends it. Callers with an idempotency key of their own set it by
// [PendingAppend.WithOperation] before that.
func (c *Client) PrepareAppend(table lake.TableName, batches ...arrow.RecordBatch) (*PendingAppend, error) {
	if err := table.Validate(); err != nil {
		return nil, err
	}
	if len(batches) == 0 {
		return nil, lake.Errorf(lake.Invalid, "append to %s: no rows were given", table)
	}
	data, err := encode(batches)
	if err != nil {
		return nil, lake.Wrap("table "+table.String(), err)
	}
	p := &PendingAppend{
		client: c, data: data,
		command: appendwire.Command{Table: table, Operation: lake.NewID(), Digest: data.digest},
	}
	if known, ok := c.memory.recall(table); ok && differ(known.schema, data.schema, "the table") == nil {
		p.command.Incarnation, p.checked = known.incarnation, true
	}
	return p, nil
}
