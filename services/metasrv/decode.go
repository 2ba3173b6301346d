// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/internal/untrusted"
	"github.com/lakeplane/lake/lake"
)

// decode turns the messages of an append into batches of the table's schema.
// Nothing in the messages is trusted: not a length, an offset, a null count or
// a string. The batches share the messages' memory.
func decode(messages []*flight.FlightData, schema *arrow.Schema) (batches []arrow.RecordBatch, err error) {
	defer func() {
		if p := recover(); p != nil { // arrays panic on what validation has not reached yet
			batches, err = nil, notArrow()
		}
		err = short(err)
	}()
	if err := checkMessages(messages); err != nil {
		return nil, err
	}
	r, err := ipc.NewReaderFromMessageReader(&messageReader{messages: messages})
	if err != nil {
		return nil, notArrow()
	}
	if err := engine.CheckSameSchema(schema, r.Schema()); err != nil {
		return nil, lake.Wrap("append", err)
	}
	for r.Next() {
		batch, err := checked(schema, r.RecordBatch())
		if err != nil {
			return nil, err
		}
		batches = append(batches, batch)
	}
	if r.Err() != nil {
		return nil, notArrow()
	}
	return batches, nil
}

// short bounds the text of a refusal, which may quote names from the payload.
func short(err error) error {
	const most = 600
	if err == nil || len(err.Error()) <= most && utf8.ValidString(err.Error()) {
		return err
	}
	return lake.Errorf(lake.KindOf(err), "%.*s", most, strings.ToValidUTF8(err.Error(), "?"))
}

func notArrow() error {
	return lake.Errorf(lake.Invalid, "append: the payload is not a valid Arrow IPC stream")
}

// checkMessages allows one schema and then record batches that are not
// compressed, with 1..MaxAppendRows rows together. Messages without a header
// carry application metadata only.
func checkMessages(messages []*flight.FlightData) error {
	rows, seen := int64(0), 0
	var inspector untrusted.Inspector
	for _, m := range messages {
		if len(m.GetDataHeader()) == 0 {
			if len(m.GetDataBody()) > 0 {
				return lake.Errorf(lake.Invalid, "append: a message has a body and no header")
			}
			continue
		}
		info, err := inspector.Inspect(m.GetDataHeader())
		if err != nil {
			return lake.Wrap("append", err)
		}
		if err := checkMessage(info, seen, len(m.GetDataBody())); err != nil {
			return err
		}
		seen++
		if rows += info.Rows; rows > lake.MaxAppendRows {
			return lake.Errorf(lake.Invalid, "append: more than %d rows: use several appends", lake.MaxAppendRows)
		}
	}
	if rows == 0 {
		return lake.Errorf(lake.Invalid, "append: no rows: want 1..%d", lake.MaxAppendRows)
	}
	return nil
}

// checkMessage decides on the message after seen others.
func checkMessage(m untrusted.Message, seen, body int) error {
	switch {
	case m.Kind == untrusted.KindDictionary:
		return lake.Errorf(lake.Invalid, "append: dictionary batches are not taken: send the values themselves")
	case m.Kind != untrusted.KindSchema && m.Kind != untrusted.KindRecordBatch:
		return lake.Errorf(lake.Invalid, "append: message %d is of type %d: want a schema and record batches", seen, m.Kind)
	case (m.Kind == untrusted.KindSchema) != (seen == 0):
		return lake.Errorf(lake.Invalid, "append: message %d: want the schema first and only there", seen)
	case m.Compressed:
		return lake.Errorf(lake.Invalid, "append: compressed record batches are not taken: send them uncompressed")
	case m.Rows < 0 || m.Rows > lake.MaxAppendRows:
		return lake.Errorf(lake.Invalid, "append: a batch of %d rows: at most %d", m.Rows, lake.MaxAppendRows)
	case m.Body < 0 || m.Body > int64(body):
		return lake.Errorf(lake.Invalid, "append: a message claims a body of %d bytes and has %d", m.Body, body)
	}
	return nil
}

// messageReader feeds the arrow decoder from received messages.
type messageReader struct{ messages []*flight.FlightData }

func (r *messageReader) Message() (*ipc.Message, error) {
	for len(r.messages) > 0 {
		m := r.messages[0]
		r.messages = r.messages[1:]
		if len(m.GetDataHeader()) > 0 {
			return ipc.NewMessage(memory.NewBufferBytes(m.GetDataHeader()), memory.NewBufferBytes(m.GetDataBody())), nil
		}
	}
	return nil, io.EOF
}

// Retain does nothing: the messages are the garbage collector's.
func (r *messageReader) Retain() {}

// Release does nothing either.
func (r *messageReader) Release() {}

// checked returns the batch under the table's schema once everything in it has
// been validated.
func checked(schema *arrow.Schema, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	for i, c := range batch.Columns() {
		if err := untrusted.Check(c); err != nil {
			return nil, lake.Errorf(lake.Invalid, "append: field %d, %q: %w", i, schema.Field(i).Name, err)
		}
		if n := c.NullN(); n > 0 && !schema.Field(i).Nullable {
			return nil, lake.Errorf(lake.Invalid, "append: field %d, %q, holds %d nulls and is not nullable", i, schema.Field(i).Name, n)
		}
	}
	return array.NewRecordBatch(schema, batch.Columns(), batch.NumRows()), nil
}
