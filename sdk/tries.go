// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/metadata"
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

// tries is one call of Resume: the attempts of an append.
type tries struct {
	append  *PendingAppend
	client  *Client
	command appendwire.Command
	data    *payload

	began time.Time
	count int
	// ambiguous: an attempt may have been applied. Once that is so, no later
	// refusal can tell that it was not: the table may have been dropped in
	// between.
	ambiguous bool
}

func newTries(p *PendingAppend, command appendwire.Command) *tries {
	return &tries{append: p, client: p.client, command: command, data: p.data, began: time.Now()}
}

// run makes attempts until one is conclusive or the time is over.
func (t *tries) run(ctx context.Context) (AppendResult, error) {
	window, cancel := context.WithCancel(ctx)
	if d := t.client.retryWindow; d > 0 {
		window, cancel = context.WithTimeout(ctx, d)
	}
	defer cancel()
	defer context.AfterFunc(t.client.closed, cancel)()
	for backoff := minBackoff; ; backoff = min(2*backoff, maxBackoff) {
		result, again, err := t.next(window)
		if err == nil {
			return result, nil
		}
		if again && t.client.retryWindow > 0 && t.wait(window, backoff, err) {
			continue
		}
		return AppendResult{}, t.failure(ctx, err)
	}
}

// next makes an attempt, and says whether another makes sense.
func (t *tries) next(ctx context.Context) (result AppendResult, again bool, err error) {
	asked, began := t.client.memory.moment(), time.Now()
	t.count++
	result, sent, err := t.attempt(ctx)
	t.client.observer.Attempt(AttemptEvent{t.command.Table, t.command.Operation, t.count, t.data.bytes, time.Since(began), err})
	switch lake.KindOf(err) {
	case lake.Invalid, lake.Precondition, lake.NotFound:
		t.client.memory.forget(t.command.Table)
	}
	if err == nil { // the rows had the table's schema, or they would have been refused
		t.client.memory.learn(asked, t.command.Table, result.Incarnation, t.data.schema)
		t.client.writes.note(t.command.Table, result.Version)
		return result, false, nil
	}
	again, unknown := judge(err)
	t.ambiguous = t.ambiguous || unknown && sent
	return result, again, err
}

// judge says whether to try again after err and whether the attempt may have
// been applied, if its rows were sent.
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

// wait puts the next attempt off by half of backoff to all of it, so that
// clients that failed together do not come back together. It reports whether
// there is time for another.
func (t *tries) wait(ctx context.Context, backoff time.Duration, err error) bool {
	d := backoff/2 + rand.N(backoff/2+1)
	if !sleep(ctx, d) {
		return false
	}
	t.client.observer.Retry(RetryEvent{t.command.Table, t.command.Operation, t.count, d, err})
	return true
}

// failure is what the caller gets.
func (t *tries) failure(ctx context.Context, err error) error {
	if t.ambiguous {
		return t.append.pending(t.command, endedBy(ctx, err))
	}
	kind := lake.KindOf(err)
	if kind == lake.Undetermined { // of an attempt that was never sent
		kind = lake.Unavailable
	}
	return withOp("append to "+t.command.Table.String(), &lake.Error{Kind: kind, Err: endedBy(ctx, err)})
}

// end tells the observer, and removes the checkpoint of a known outcome.
func (t *tries) end(result AppendResult, err error) {
	e := OutcomeEvent{
		Table: t.command.Table, Operation: t.command.Operation, Attempts: t.count,
		Rows: t.data.rows, Bytes: t.data.bytes, Result: result, Err: err,
	}
	how := refused
	if err == nil {
		how = applied
	} else if t.ambiguous {
		how = unknown
	}
	e.Checkpoint = t.client.checkpoints.release(t.command, how)
	e.Duration = time.Since(t.began)
	t.client.observer.Outcome(e)
}

// attempt sends the append once, in a session if there is one for it. sent is
// false when no message of it left.
func (t *tries) attempt(ctx context.Context) (result AppendResult, sent bool, err error) {
	if t.count > 1 {
		return t.call(ctx)
	}
	s := t.client.sessions.of(t.command, t.data)
	if s == nil {
		return t.call(ctx)
	}
	told, sent, err := s.append(ctx, t.command, t.data)
	if !sent && errors.Is(err, errSession) {
		return t.call(ctx)
	}
	if again, unknown := judge(err); err != nil && sent && again && unknown {
		s.retire() // another server may know better
	}
	if err == nil {
		result, err = t.acknowledged(told)
	}
	return result, sent, err
}

// call sends the append by a call of its own.
func (t *tries) call(ctx context.Context) (result AppendResult, sent bool, err error) {
	if t.client.closed.Err() != nil { // a session that ended with it says no more
		return AppendResult{}, false, lake.Errorf(lake.Unavailable, "the client is closed")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, appendwire.SizeHeader, strconv.FormatInt(t.data.bytes, 10))
	stream, err := t.client.appends.DoPut(ctx)
	if err != nil {
		return AppendResult{}, false, grpcerr.FromStatus(err)
	}
	if err := t.send(stream); err != nil {
		return AppendResult{}, true, err
	}
	ack, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return AppendResult{}, true, lake.Errorf(lake.Undetermined, "the server ended the append without an answer")
	}
	if err != nil {
		return AppendResult{}, true, grpcerr.FromStatus(err)
	}
	result, err = t.result(ack)
	return result, true, err
}

// send writes every message. When the server has ended the stream, a write
// fails with io.EOF and the reason is found by receiving.
func (t *tries) send(stream flight.FlightService_DoPutClient) error {
	descriptor, err := t.command.Descriptor()
	if err != nil {
		return lake.Errorf(lake.Invalid, "append: %w", err)
	}
	for i, m := range t.data.messages {
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
func (t *tries) result(ack *flight.PutResult) (AppendResult, error) {
	var r lakepb.AppendResult
	if err := proto.Unmarshal(ack.GetAppMetadata(), &r); err != nil {
		return AppendResult{}, lake.Errorf(lake.Undetermined, "the server's acknowledgement is not readable: %w", err)
	}
	return t.acknowledged(&r)
}

func (t *tries) acknowledged(r *lakepb.AppendResult) (AppendResult, error) {
	inc, err := lake.ParseID(r.GetIncarnation())
	if err != nil || r.GetVersion() == 0 {
		return AppendResult{}, lake.Errorf(lake.Undetermined, "the server's acknowledgement names no version")
	}
	return AppendResult{
		Operation: t.command.Operation, Incarnation: inc, Version: lake.Version(r.GetVersion()),
		Rows: r.GetRows(), Replayed: r.GetReplayed(),
	}, nil
}
