// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

const (
	// pieceBytes is about how much of a bulk ingestion one append holds; well
	// below what one append may have.
	pieceBytes = lake.MaxAppendBytes / 2
	// appendRetries is how long an append whose outcome is not known is
	// repeated, with the same operation id and digest; crowdedRetries one that has
	// found no room.
	appendRetries  = 30 * time.Second
	crowdedRetries = 2 * time.Minute
)

// appender turns a stream of batches into append operations on one table: one of
// the same name that is created meanwhile gets none of the rows.
type appender struct {
	server      *Server
	ctx         context.Context // of the calls to the authority
	table       lake.TableName
	incarnation lake.Incarnation
	schema      *arrow.Schema // as registered

	held     []arrow.RecordBatch
	rows     int64
	bytes    int64
	appended int64
	stopped  error // why the client is not asked for more, to tell it from a broken stream
}

// copy appends everything the reader has.
func (a *appender) copy(r array.RecordReader) (err error) {
	defer recovered(&err)
	for r.Next() {
		if err := checkArrays(r.RecordBatch()); err != nil {
			return lake.Wrap("ingest", err)
		}
		rec, err := conform(r.RecordBatch(), a.schema)
		if err != nil {
			return err
		}
		err = a.add(rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
	if a.stopped != nil {
		return a.stopped
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return lake.Errorf(lake.Invalid, "ingest: %w", err)
	}
	return a.flush()
}

// add holds rows back until a piece is full. A batch is cut where a piece
// ends.
func (a *appender) add(rec arrow.RecordBatch) error {
	for at := int64(0); at < rec.NumRows(); {
		n := min(rec.NumRows()-at, lake.MaxAppendRows-a.rows)
		part := rec.NewSlice(at, at+n)
		for size := recordBytes(part); size > pieceBytes && n > 1; size = recordBytes(part) {
			n /= 2
			part.Release()
			part = rec.NewSlice(at, at+n)
		}
		if size := recordBytes(part); a.rows > 0 && a.bytes+size > pieceBytes {
			part.Release()
			if err := a.flush(); err != nil {
				return err
			}
			continue
		}
		a.held = append(a.held, part)
		a.rows += n
		a.bytes += recordBytes(part)
		at += n
		if a.rows >= lake.MaxAppendRows {
			if err := a.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush appends the rows held back as one operation.
func (a *appender) flush() error {
	if a.rows == 0 {
		return nil
	}
	var msgs messages
	w := newBatchWriter(&msgs, a.schema)
	for _, rec := range a.held {
		if err := w.Write(rec); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	cmd := appendwire.Command{Table: a.table, Operation: lake.NewID(), Digest: appendwire.DigestOf(msgs...), Incarnation: a.incarnation}
	result, err := a.append(cmd, msgs)
	if err != nil {
		return err
	}
	a.appended += int64(result.GetRows())
	a.discard()
	return nil
}

// discard lets go of the rows held back.
func (a *appender) discard() {
	for _, rec := range a.held {
		rec.Release()
	}
	a.held, a.rows, a.bytes = nil, 0, 0
}

// append sends one operation, again with the same identity while its outcome
// is not known.
func (a *appender) append(cmd appendwire.Command, msgs messages) (*lakepb.AppendResult, error) {
	defer a.server.names.Evict(a.table)
	began := time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		result, err := a.once(cmd, msgs)
		err = grpcerr.FromStatus(err)
		switch lake.KindOf(err) {
		case lake.Unavailable, lake.Undetermined, lake.Exhausted, lake.Conflict, lake.Fenced:
		default:
			return result, err
		}
		patience := appendRetries
		if lake.Is(err, lake.Exhausted) {
			patience = crowdedRetries
		}
		if err == nil || time.Since(began)+pause > patience {
			return result, err
		}
		select {
		case <-a.ctx.Done():
			return nil, a.ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (a *appender) once(cmd appendwire.Command, msgs messages) (*lakepb.AppendResult, error) {
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, appendwire.SizeHeader, strconv.FormatInt(msgs.size(), 10))
	up, err := a.server.authority.DoPut(ctx)
	if err != nil {
		return nil, err
	}
	desc, err := cmd.Descriptor()
	if err != nil {
		return nil, err
	}
	for i, m := range msgs {
		out := &flight.FlightData{DataHeader: m.DataHeader, DataBody: m.DataBody, AppMetadata: m.AppMetadata}
		if i == 0 {
			out.FlightDescriptor = desc
		}
		if up.Send(out) != nil {
			break // Recv says why
		}
	}
	_ = up.CloseSend() // Recv says why it failed
	answer, err := up.Recv()
	if err != nil {
		return nil, err
	}
	var result lakepb.AppendResult
	if err := proto.Unmarshal(answer.GetAppMetadata(), &result); err != nil {
		return nil, lake.Errorf(lake.Undetermined, "append to %s: unreadable answer: %w", a.table, err)
	}
	return &result, nil
}

// messages collects Flight data. Send keeps copies: the sender uses its
// buffers again.
type messages []*flight.FlightData

// size is what the messages are announced as.
func (m messages) size() (n int64) {
	for _, d := range m {
		n += appendwire.MessageSize(d)
	}
	return n
}

// Send adds a copy of the message.
func (m *messages) Send(d *flight.FlightData) error {
	*m = append(*m, &flight.FlightData{DataHeader: bytes.Clone(d.GetDataHeader()), DataBody: bytes.Clone(d.GetDataBody())})
	return nil
}
