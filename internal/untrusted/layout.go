// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package untrusted

import (
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/lakeplane/lake/lake"
)

// layout is what the decoder takes from a batch of some columns without asking
// how much there is: it reads buffers and counts beyond the end of their lists.
type layout struct {
	// buffers are those every batch has, views the columns that have more, and
	// unions those (also run ends) with one more in messages before version 5.
	buffers, views, unions int
}

func (l *layout) add(o layout) {
	l.buffers += o.buffers
	l.views += o.views
	l.unions += o.unions
}

// bufferCounts are the buffers of an array of each type of Schema.fbs, without
// its children's. Unions are not in it.
var bufferCounts = [...]int{
	0, 0, 2, 2, 3, 3, 2, 2, 2, 2, 2, 2, // none, null, int, float, binary, utf8, bool, decimal, date, time, timestamp, interval
	2, 1, 0, 2, 1, 2, 2, 3, 3, 2, 0, // list, struct, union, fixed binary, fixed list, map, duration, large binary, utf8 and list, run ends
	2, 2, 3, 3, // binary view, utf8 view, list view, large list view
}

// layoutOf is the layout of one field, without its children.
func layoutOf(field fbTable) layout {
	kind := byte(0)
	if o := field.at(fieldTypeKind); o != 0 {
		kind = field.GetByte(o)
	}
	switch {
	case kind == typeUnion:
		dt, _ := field.child(fieldType)
		if o := dt.at(unionMode); o != 0 && dt.GetInt16(o) == 1 { // dense
			return layout{buffers: 2, unions: 1}
		}
		return layout{buffers: 1, unions: 1}
	case kind == typeRunEnds:
		return layout{unions: 1}
	case kind == typeBinaryView || kind == typeUtf8View:
		return layout{buffers: 2, views: 1}
	case int(kind) < len(bufferCounts):
		return layout{buffers: bufferCounts[kind]}
	}
	return layout{} // the decoder refuses it
}

// Inspector inspects the messages of one stream in their order: what a batch
// may leave out depends on the schema. The zero Inspector is ready; it is used
// by one goroutine at a time.
type Inspector struct {
	batch        layout
	dictionaries map[int64]layout
}

// layoutOf adds up the fields of a table, and notes the dictionaries below it.
func (in *Inspector) layoutOf(t fbTable, slot flatbuffers.VOffsetT) (sum layout) {
	_ = t.each(slot, func(field fbTable) error {
		l := layoutOf(field)
		l.add(in.layoutOf(field, fieldChildren))
		if dict, ok := field.child(fieldDictionary); ok {
			in.note(dict.int64(dictionaryEncodingID), l)
			l = layout{buffers: 2} // the indices
		}
		sum.add(l)
		return nil
	})
	return sum
}

// note keeps what a dictionary's values need.
func (in *Inspector) note(id int64, l layout) {
	old := in.dictionaries[id]
	in.dictionaries[id] = layout{max(old.buffers, l.buffers), max(old.views, l.views), max(old.unions, l.unions)}
}

// schema bounds a schema, then takes it for that of the batches to come.
func (in *Inspector) schema(t fbTable, sizes *sizer) error {
	if err := sizes.schema(t); err != nil {
		return err
	}
	in.dictionaries = map[int64]layout{}
	in.batch = in.layoutOf(t, schemaFields)
	return nil
}

// check requires the buffers of a batch to lie in its body and to be as many
// as its schema needs, and its counts of further buffers, which the decoder
// allocates by, to be of buffers that exist.
func (l layout) check(batch fbTable, body int64) error {
	buffers := buffersOf(batch)
	for i, b := range buffers {
		if b.length != 0 && (b.offset < 0 || b.length < 0 || b.offset > body || b.length > body-b.offset) {
			return lake.Errorf(lake.Invalid, "buffer %d of a batch is bytes %d+%d of a body of %d", i, b.offset, b.length, body)
		}
	}
	start, count := batch.vector(recordBatchVariadic, 8)
	if start != 0 && count < l.views {
		return lake.Errorf(lake.Invalid, "a batch counts the buffers of %d columns: want %d", count, l.views)
	}
	left := int64(len(buffers) - l.buffers)
	if left < 0 {
		return lake.Errorf(lake.Invalid, "a batch of %d buffers: its schema needs %d", len(buffers), l.buffers)
	}
	for i := range count {
		n := batch.GetInt64(start + flatbuffers.UOffsetT(8*i))
		if n < 0 || n > left {
			return lake.Errorf(lake.Invalid, "a batch of %d buffers counts %d in one column", len(buffers), n)
		}
		left -= n
	}
	return nil
}
