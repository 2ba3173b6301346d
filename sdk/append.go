// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
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
// Failures after which the outcome is unknown, and busy or absent servers, are
// retried with the same operation for the client's retry window. After that, or
// when ctx ends, the error is a [*PendingAppend].
func (c *Client) Append(ctx context.Context, table lake.TableName, batches ...arrow.RecordBatch) (AppendResult, error) {
	p, err := c.PrepareAppend(table, batches...)
	if err != nil {
		return AppendResult{}, err
	}
	return p.Resume(ctx)
}

// PrepareAppend encodes an append and gives it its id without sending it;
// Resume sends it.
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
	return &PendingAppend{
		client: c, data: data,
		command: appendwire.Command{Table: table, Operation: lake.NewID(), Digest: data.digest},
	}, nil
}

// PendingAppend is an append that is not known to be committed. As an error it
// says that the outcome is unknown. Resume continues the same operation, as
// long as the server remembers operations (seven days); calling it again after
// success is harmless and returns the original version. It is safe for
// concurrent use.
type PendingAppend struct {
	client  *Client
	command appendwire.Command
	data    *payload
	err     error // why the last attempts gave up, or nil
}

// Table is the table appended to.
func (p *PendingAppend) Table() lake.TableName { return p.command.Table }

// Operation is the id of the append.
func (p *PendingAppend) Operation() lake.OperationID { return p.command.Operation }

// Digest covers the encoded rows.
func (p *PendingAppend) Digest() lake.Digest { return p.command.Digest }

// Rows is the number of rows.
func (p *PendingAppend) Rows() int64 { return p.data.rows }

// Bytes is the encoded size of the rows.
func (p *PendingAppend) Bytes() int64 { return p.data.bytes }

// Error says what is pending and why.
func (p *PendingAppend) Error() string {
	text := fmt.Sprintf("append to %s: operation %s: the outcome is unknown, resume it to find out", p.command.Table, p.command.Operation)
	if p.err != nil {
		text += ": " + p.err.Error()
	}
	return text
}

// Unwrap makes it an error of kind lake.Undetermined, with the last failure as
// its cause.
func (p *PendingAppend) Unwrap() error {
	return &lake.Error{Kind: lake.Undetermined, Err: p.err}
}

// Resume sends the append until its outcome is known, for at most the client's
// retry window. See [Client.Append] for its errors.
func (p *PendingAppend) Resume(ctx context.Context) (AppendResult, error) {
	window, cancel := context.WithCancel(ctx)
	if d := p.client.retryWindow; d > 0 {
		window, cancel = context.WithTimeout(ctx, d)
	}
	defer cancel()
	// Once an attempt may have been applied, no later refusal can tell that it
	// was not: the table may have been dropped in between.
	ambiguous := p.err != nil
	for backoff := minBackoff; ; backoff = min(2*backoff, maxBackoff) {
		result, err := p.attempt(window)
		if err == nil {
			return result, nil
		}
		again, unknown := judge(err)
		ambiguous = ambiguous || unknown
		jittered := backoff/2 + rand.N(backoff/2+1)
		if again && p.client.retryWindow > 0 && sleep(window, jittered) {
			continue
		}
		if ambiguous {
			return AppendResult{}, p.giveUp(ctx, err)
		}
		return AppendResult{}, withOp("append to "+p.command.Table.String(), err)
	}
}

// giveUp returns the operation, to be resumed.
func (p *PendingAppend) giveUp(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = errors.Join(cause, err)
	}
	return &PendingAppend{client: p.client, command: p.command, data: p.data, err: err}
}

// judge says whether to try again after err and whether the attempt may have
// been applied.
func judge(err error) (again, unknown bool) {
	switch lake.KindOf(err) {
	case lake.Invalid, lake.NotFound, lake.AlreadyExists, lake.Precondition,
		lake.Unauthenticated, lake.Denied, lake.Corrupt, lake.Unsupported:
		return false, false
	case lake.Exhausted, lake.Conflict:
		return true, false // refused before anything was done
	}
	return true, true
}

// attempt sends the append once.
func (p *PendingAppend) attempt(ctx context.Context) (AppendResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.client.appends.DoPut(ctx)
	if err != nil {
		return AppendResult{}, grpcerr.FromStatus(err)
	}
	if err := p.send(stream); err != nil {
		return AppendResult{}, err
	}
	ack, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return AppendResult{}, lake.Errorf(lake.Undetermined, "the server ended the append without an answer")
	}
	if err != nil {
		return AppendResult{}, grpcerr.FromStatus(err)
	}
	return p.result(ack)
}

// send writes every message. When the server has ended the stream, a write
// fails with io.EOF and the reason is found by receiving.
func (p *PendingAppend) send(stream flight.FlightService_DoPutClient) error {
	descriptor, err := p.command.Descriptor()
	if err != nil {
		return lake.Errorf(lake.Invalid, "append: %w", err)
	}
	for i, m := range p.data.messages {
		if i == 0 {
			m = &flight.FlightData{FlightDescriptor: descriptor, DataHeader: m.DataHeader, DataBody: m.DataBody}
		}
		if err := stream.Send(m); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return grpcerr.FromStatus(err)
		}
	}
	return grpcerr.FromStatus(stream.CloseSend())
}

// result reads the acknowledgement. One that cannot be read proves nothing, so
// it counts as an unknown outcome.
func (p *PendingAppend) result(ack *flight.PutResult) (AppendResult, error) {
	var r lakepb.AppendResult
	if err := proto.Unmarshal(ack.GetAppMetadata(), &r); err != nil {
		return AppendResult{}, lake.Errorf(lake.Undetermined, "the server's acknowledgement is not readable: %w", err)
	}
	inc, err := lake.ParseID(r.GetIncarnation())
	if err != nil || r.GetVersion() == 0 {
		return AppendResult{}, lake.Errorf(lake.Undetermined, "the server's acknowledgement names no version")
	}
	return AppendResult{
		Operation: p.command.Operation, Incarnation: inc, Version: lake.Version(r.GetVersion()),
		Rows: r.GetRows(), Replayed: r.GetReplayed(),
	}, nil
}
