// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/internal/untrusted"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/internal/rpc"
)

// maxInputRows bounds the rows that one message may claim: rows of columns
// without buffers cost a client nothing.
const maxInputRows = 1 << 26

// checkedStream lets through only messages that may be decoded. It keeps none, as
// package flight's own reader does: one may have the bytes of a whole append.
type checkedStream struct {
	in        rpc.PutSource
	inspector *untrusted.Inspector
}

var _ ipc.MessageReader = (*checkedStream)(nil)

// Message implements [ipc.MessageReader]. Messages of metadata alone are skipped.
func (c *checkedStream) Message() (*ipc.Message, error) {
	for {
		msg, err := c.in.Recv()
		if err != nil {
			return nil, err
		}
		if len(msg.GetDataHeader()) == 0 {
			continue
		}
		if err := c.check(msg); err != nil {
			return nil, err
		}
		return ipc.NewMessage(memory.NewBufferBytes(msg.GetDataHeader()), memory.NewBufferBytes(msg.GetDataBody())), nil
	}
}

func (c *checkedStream) check(msg *flight.FlightData) error {
	info, err := c.inspector.Inspect(msg.GetDataHeader())
	switch {
	case err != nil:
		return err
	case info.Kind == untrusted.KindDictionary:
		return lake.Errorf(lake.Invalid, "dictionary batches are not taken: send the values themselves")
	case info.Kind != untrusted.KindSchema && info.Kind != untrusted.KindRecordBatch:
		return lake.Errorf(lake.Invalid, "a message of type %d: want a schema and record batches", info.Kind)
	case info.Compressed:
		return lake.Errorf(lake.Invalid, "compressed record batches are not taken: send them uncompressed")
	case info.Rows < 0 || info.Rows > maxInputRows:
		return lake.Errorf(lake.Invalid, "a batch of %d rows: at most %d are allowed", info.Rows, maxInputRows)
	case info.Body < 0 || info.Body > int64(len(msg.GetDataBody())):
		return lake.Errorf(lake.Invalid, "a message claims a body of %d bytes and has %d", info.Body, len(msg.GetDataBody()))
	}
	return nil
}

// Retain implements [ipc.MessageReader]; there is nothing to hold on to.
func (*checkedStream) Retain() {}

// Release implements [ipc.MessageReader].
func (*checkedStream) Release() {}

// readRows decodes the stream's record batches; check each of them with
// checkArrays.
func readRows(in rpc.PutSource) (*ipc.Reader, error) {
	r, err := ipc.NewReaderFromMessageReader(&checkedStream{in, new(untrusted.Inspector)}, ipc.WithDelayReadSchema(false))
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "record batches: %w", err)
	}
	return r, nil
}

// checkArrays validates a batch from the wire.
func checkArrays(rec arrow.RecordBatch) error {
	for i, col := range rec.Columns() {
		if err := untrusted.Check(col); err != nil {
			return lake.Errorf(lake.Invalid, "column %d: %w", i, err)
		}
	}
	return nil
}

// recovered turns a panic over data from the wire into a refusal: the decoder
// and the arrays panic on what no check has reached.
func recovered(err *error) {
	if recover() != nil {
		*err = lake.Errorf(lake.Invalid, "the data are not a valid Arrow IPC stream")
	}
}
