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

// payload is an append's rows as they travel, made once and sent as often as
// needed. It is read-only after encode.
type payload struct {
	messages []*flight.FlightData
	digest   lake.Digest
	rows     int64
	bytes    int64
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
		if err := e.write(b); err != nil {
			return nil, err
		}
	}
	p := &payload{messages: e.messages, rows: rows, bytes: e.bytes}
	h := appendwire.NewHasher()
	for _, m := range p.messages {
		h.Add(m)
	}
	p.digest = h.Digest()
	return p, nil
}

func countRows(batches []arrow.RecordBatch) (rows int64, err error) {
	for i, b := range batches {
		rows += b.NumRows()
		if !b.Schema().Equal(batches[0].Schema()) {
			return 0, lake.Errorf(lake.Invalid, "append: batch %d has another schema than the first: %s", i, firstDifference(batches[0].Schema(), b.Schema()))
		}
	}
	if rows < 1 || rows > lake.MaxAppendRows {
		return 0, lake.Errorf(lake.Invalid, "append: %d rows: one append takes 1 to %d; use several for more", rows, lake.MaxAppendRows)
	}
	return rows, nil
}

func firstDifference(want, got *arrow.Schema) string {
	for i, f := range want.Fields() {
		if i >= got.NumFields() {
			return "column " + f.Name + " is missing"
		}
		if !f.Equal(got.Field(i)) {
			return "want " + f.String() + ", got " + got.Field(i).String()
		}
	}
	return "it has more columns"
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

// errSplit asks for a batch in smaller parts.
var errSplit = errors.New("message above the target size")

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
	if !errors.Is(err, errSplit) {
		return err
	}
	middle := b.NumRows() / 2
	for _, bounds := range [][2]int64{{0, middle}, {middle, b.NumRows()}} {
		half := b.NewSlice(bounds[0], bounds[1])
		err := e.write(half)
		half.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// take copies one message and releases it. maySplit allows errSplit for a large
// one.
func (e *encoder) take(p ipc.Payload, maySplit bool) error {
	defer p.Release()
	meta := p.Meta()
	defer meta.Release()
	var size counter
	if err := p.SerializeBody(&size); err != nil {
		return lake.Errorf(lake.Invalid, "append: encode: %w", err)
	}
	total := int64(size) + int64(meta.Len())
	if maySplit && total > targetMessageBytes {
		return errSplit
	}
	if e.bytes+total > lake.MaxAppendBytes {
		return lake.Errorf(lake.Invalid, "append: the rows take more than %d MiB encoded, which is the most for one append: use several", lake.MaxAppendBytes>>20)
	}
	var body bytes.Buffer
	body.Grow(int(size))
	if err := p.SerializeBody(&body); err != nil {
		return lake.Errorf(lake.Invalid, "append: encode: %w", err)
	}
	e.bytes += total
	e.messages = append(e.messages, &flight.FlightData{DataHeader: bytes.Clone(meta.Bytes()), DataBody: body.Bytes()})
	return nil
}

// counter is an io.Writer that only counts.
type counter int64

// Write implements io.Writer.
func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
