// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/lakeplane/lake/lake"
)

const (
	// targetMessageBytes is the size above which a batch is split.
	targetMessageBytes = 2 << 20
	// maxMessageBytes is the largest message sent. Stock gRPC clients refuse
	// more than 4 MiB; the rest is room for headers.
	maxMessageBytes = 4<<20 - 64<<10
)

// batchWriter sends record batches of one schema as Flight data, none of them
// larger than a stock client accepts. It is not safe for concurrent use.
type batchWriter struct {
	out    flight.DataStreamWriter
	schema *arrow.Schema
	ipc    *ipc.Writer
	rows   int64
}

func newBatchWriter(out flight.DataStreamWriter, schema *arrow.Schema) *batchWriter {
	w := &batchWriter{out: out, schema: schema}
	w.ipc = ipc.NewWriterWithPayloadWriter(&flightPayloads{out: out}, ipc.WithSchema(schema))
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
	if size <= targetMessageBytes || rec.NumRows() <= 1 {
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
		return lake.Errorf(lake.Exhausted, "row %d of the result has %d bytes: a row may have at most %d: select fewer or shorter columns", w.rows, size, int64(maxMessageBytes))
	}
	if err := w.ipc.Write(rec); err != nil {
		return err
	}
	w.rows += rec.NumRows()
	return nil
}

// Close sends the schema if no batch did. It does not end the stream.
func (w *batchWriter) Close() error { return w.ipc.Close() }

// flightPayloads sends IPC payloads as Flight data.
type flightPayloads struct {
	out flight.DataStreamWriter
	buf bytes.Buffer
}

func (p *flightPayloads) Start() error { return nil }
func (p *flightPayloads) Close() error { return nil }

func (p *flightPayloads) WritePayload(payload ipc.Payload) error {
	meta := payload.Meta()
	defer meta.Release()
	p.buf.Reset()
	if err := payload.SerializeBody(&p.buf); err != nil {
		return err
	}
	if n := meta.Len() + p.buf.Len(); n > maxMessageBytes+32<<10 {
		return lake.Errorf(lake.Exhausted, "a message of the result has %d bytes: at most %d are allowed", n, int64(maxMessageBytes))
	}
	// gRPC has encoded the message when Send returns, so the buffers may be
	// used again.
	return p.out.Send(&flight.FlightData{DataHeader: meta.Bytes(), DataBody: p.buf.Bytes()})
}
