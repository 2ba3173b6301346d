// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/grpc"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/wire"
)

const (
	// splitAbove is the size above which a batch is split, into pieces of about
	// targetMessageBytes. Between them lies what engines that aim at the target
	// overshoot by.
	splitAbove         = 3 << 20
	targetMessageBytes = 2 << 20
	// maxMessageBytes is the largest message sent. Stock gRPC clients refuse
	// more than 4 MiB; the rest is room for headers.
	maxMessageBytes = 4<<20 - 64<<10
)

// batchWriter sends record batches of one schema as Flight data, none of them
// larger than a stock client accepts. It is not safe for concurrent use.
type batchWriter struct {
	payloads *flightPayloads
	schema   *arrow.Schema
	ipc      *ipc.Writer
	rows     int64
}

func newBatchWriter(out flight.DataStreamWriter, schema *arrow.Schema) *batchWriter {
	w := &batchWriter{payloads: &flightPayloads{out: out}, schema: schema}
	w.ipc = ipc.NewWriterWithPayloadWriter(w.payloads, ipc.WithSchema(schema))
	return w
}

// newStreamWriter is newBatchWriter for a stream of a server, whose codec may
// take batches without copying them.
func (s *Server) newStreamWriter(out flight.FlightService_DoGetServer, schema *arrow.Schema) *batchWriter {
	w := newBatchWriter(out, schema)
	if s.referring.Load() {
		w.payloads.raw = out
	}
	return w
}

// Write sends a batch, in pieces if it is large. A single row that no message
// can carry is lake.Exhausted.
func (w *batchWriter) Write(rec arrow.RecordBatch) error {
	if !rec.Schema().Equal(w.schema) {
		return lake.Errorf(lake.Precondition, "the result's schema is not the planned one: plan the statement again")
	}
	return w.write(rec)
}

func (w *batchWriter) write(rec arrow.RecordBatch) error {
	size := recordBytes(rec)
	if size <= splitAbove || rec.NumRows() <= 1 {
		return w.send(rec, size)
	}
	pieces := min(rec.NumRows(), size/targetMessageBytes+1)
	step := (rec.NumRows() + pieces - 1) / pieces
	for at := int64(0); at < rec.NumRows(); at += step {
		piece := rec.NewSlice(at, min(at+step, rec.NumRows()))
		err := w.write(piece)
		piece.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *batchWriter) send(rec arrow.RecordBatch, size int64) error {
	if size > maxMessageBytes {
		return lake.Errorf(lake.Exhausted, "row %d has %d bytes: a row may have at most %d: use fewer or shorter columns", w.rows, size, int64(maxMessageBytes))
	}
	w.payloads.batch = rec
	err := w.ipc.Write(rec)
	w.payloads.batch = nil
	if err != nil {
		return err
	}
	w.rows += rec.NumRows()
	return nil
}

// Close sends the schema if no batch did. It does not end the stream.
func (w *batchWriter) Close() error { return w.ipc.Close() }

// flightPayloads sends IPC payloads as Flight data.
type flightPayloads struct {
	out   flight.DataStreamWriter
	raw   grpc.ServerStream // when set, messages may refer to a batch's buffers
	batch arrow.RecordBatch // the one being written
	buf   bytes.Buffer
	kept  *keptAnswer // of what was sent; nil where nobody wants to know
}

func (p *flightPayloads) Start() error { return nil }
func (p *flightPayloads) Close() error { return nil }

// WritePayload implements ipc.PayloadWriter.
func (p *flightPayloads) WritePayload(payload ipc.Payload) error {
	if p.raw != nil && p.batch != nil {
		data, err := wire.NewData(payload, p.batch)
		if err != nil {
			return err
		}
		if err := checkMessage(data.Size()); err != nil {
			return err
		}
		if p.kept != nil && data.Size() <= maxAnswerBytes {
			p.kept.add(data.Header(), data.Body())
		} else {
			p.kept = nil
		}
		return p.raw.SendMsg(data)
	}
	meta := payload.Meta()
	defer meta.Release()
	p.buf.Reset()
	if err := payload.SerializeBody(&p.buf); err != nil {
		return err
	}
	if err := checkMessage(meta.Len() + p.buf.Len()); err != nil {
		return err
	}
	p.kept.add(meta.Bytes(), p.buf.Bytes())
	// gRPC has encoded the message when Send returns, so the buffers may be
	// used again.
	return p.out.Send(&flight.FlightData{DataHeader: meta.Bytes(), DataBody: p.buf.Bytes()})
}

// checkMessage is the last line of defence against a message that a client
// would refuse: sizes are estimated before.
func checkMessage(n int) error {
	if n <= maxMessageBytes+32<<10 {
		return nil
	}
	return lake.Errorf(lake.Exhausted, "a message has %d bytes: at most %d are allowed", n, int64(maxMessageBytes))
}
