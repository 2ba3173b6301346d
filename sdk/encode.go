// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"bytes"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
)

// targetMessageBytes is how large a message of an append may become before it
// is split, as far as its rows allow. Receivers refuse more than 4 MiB by
// default.
const targetMessageBytes = 2 << 20

// ErrTooLarge is in the chain of the lake.Invalid error of an append whose rows
// take more than 64 MiB encoded, for callers that then send fewer at a time.
var ErrTooLarge = errors.New("the rows take more than 64 MiB encoded")

// payload is an append's rows as they travel, made once and sent as often as
// needed. It is read-only after encode.
type payload struct {
	messages []*flight.FlightData
	digest   lake.Digest
	rows     int64
	bytes    int64         // by appendwire.MessageSize
	schema   *arrow.Schema // nil for one read from a checkpoint
}

// encode checks the batches against the limits of one append and encodes them.
// Batches are not retained.
func encode(batches []arrow.RecordBatch) (*payload, error) {
	rows, err := countRows(batches)
	if err != nil {
		return nil, err
	}
	schema := batches[0].Schema()
	if err := refuseDictionaries(schema); err != nil {
		return nil, err
	}
	e := encoder{}
	if err := e.take(ipc.GetSchemaPayload(schema, memory.DefaultAllocator), false); err != nil {
		return nil, err
	}
	for _, b := range batches {
		if b.NumRows() == 0 {
			continue // it would count as a message and say nothing
		}
		if err := e.write(b); err != nil {
			return nil, err
		}
	}
	return &payload{messages: e.messages, digest: appendwire.DigestOf(e.messages...), rows: rows, bytes: e.bytes, schema: schema}, nil
}

func countRows(batches []arrow.RecordBatch) (rows int64, err error) {
	for i, b := range batches {
		rows += b.NumRows()
		if err := differ(batches[0].Schema(), b.Schema(), "the first"); err != nil {
			return 0, lake.Errorf(lake.Invalid, "append: batch %d has another schema than the first: %w", i, err)
		}
	}
	if rows < 1 || rows > lake.MaxAppendRows {
		return 0, lake.Errorf(lake.Invalid, "append: %d rows: one append takes 1 to %d; use several for more", rows, lake.MaxAppendRows)
	}
	return rows, nil
}

// refuseDictionaries keeps out columns whose values would travel apart from
// their rows; no table has such a column.
func refuseDictionaries(schema *arrow.Schema) error {
	for _, f := range schema.Fields() {
		if hasDictionary(f.Type) {
			return lake.Errorf(lake.Invalid, "append: column %s has type %s: dictionaries must be decoded to their value type first", f.Name, f.Type)
		}
	}
	return nil
}

func hasDictionary(dt arrow.DataType) bool {
	if dt.ID() == arrow.DICTIONARY {
		return true
	}
	nested, ok := dt.(arrow.NestedType)
	return ok && slices.ContainsFunc(nested.Fields(), func(f arrow.Field) bool { return hasDictionary(f.Type) })
}

// tooLarge asks for a batch in smaller parts: it would take that many bytes as
// one message.
type tooLarge int64

// Error implements error.
func (tooLarge) Error() string { return "message above the target size" }

// encoder collects the messages of an append.
type encoder struct {
	messages []*flight.FlightData
	bytes    int64
}

// write encodes a batch as one message, or as several when it is large.
func (e *encoder) write(b arrow.RecordBatch) error {
	p, err := ipc.GetRecordBatchPayload(b)
	if err != nil {
		return lake.Errorf(lake.Invalid, "append: encode: %w", err)
	}
	err = e.take(p, b.NumRows() > 1)
	var large tooLarge
	if !errors.As(err, &large) {
		return err
	}
	// At least two parts, of the size that the mean row allows; uneven ones are
	// parted again.
	parts := min(max(int64(large)/targetMessageBytes+1, 2), b.NumRows())
	for i := range parts {
		part := b.NewSlice(b.NumRows()*i/parts, b.NumRows()*(i+1)/parts)
		err := e.write(part)
		part.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// take copies one message and releases it. maySplit allows tooLarge for a
// large one.
func (e *encoder) take(p ipc.Payload, maySplit bool) error {
	defer p.Release()
	meta := p.Meta()
	defer meta.Release()
	var size counter
	if err := p.SerializeBody(&size); err != nil {
		return lake.Errorf(lake.Invalid, "append: encode: %w", err)
	}
	total := int64(size) + int64(meta.Len()) + appendwire.MessageSize(nil)
	if maySplit && total > targetMessageBytes {
		return tooLarge(total)
	}
	if e.bytes+total > lake.MaxAppendBytes {
		return lake.Errorf(lake.Invalid, "append: %w, which is the most for one append: use several", ErrTooLarge)
	}
	var body bytes.Buffer
	body.Grow(int(size))
	if err := p.SerializeBody(&body); err != nil {
		return lake.Errorf(lake.Invalid, "append: encode: %w", err)
	}
	m := &flight.FlightData{DataHeader: bytes.Clone(meta.Bytes()), DataBody: body.Bytes()}
	e.bytes += appendwire.MessageSize(m)
	e.messages = append(e.messages, m)
	return nil
}

// counter is an io.Writer that only counts.
type counter int64

// Write implements io.Writer.
func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
