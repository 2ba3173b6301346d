// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package untrusted decides whether Arrow data from the wire may be decoded and
// used. The Arrow decoder allocates whatever a compressed buffer, a dictionary
// or a schema claims to hold, and arrays read by offsets nobody has checked;
// so [Inspect] a message before it is decoded, and [Check] an array after.
package untrusted

import (
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/lakeplane/lake/lake"
)

// The kinds of messages (Arrow's Message.fbs).
const (
	KindSchema      = 1
	KindDictionary  = 2
	KindRecordBatch = 3
)

// The slots of the fields of Message.fbs' and Schema.fbs' tables, as vtable
// offsets.
const (
	messageHeaderType     = 4 + 2*1
	messageHeader         = 4 + 2*2
	messageBodyLength     = 4 + 2*3
	messageMetadata       = 4 + 2*4
	recordBatchLength     = 4 + 2*0
	recordBatchCompressed = 4 + 2*3
	schemaFields          = 4 + 2*1
	schemaMetadata        = 4 + 2*2
	fieldName             = 4 + 2*0
	fieldChildren         = 4 + 2*5
	fieldMetadata         = 4 + 2*6
	keyValueKey           = 4 + 2*0
	keyValueValue         = 4 + 2*1
)

// Bounds of a message's metadata once decoded. Parts of a flatbuffer may share
// one place, so a small one can decode to a tree of any size.
const (
	maxSchemaFields  = 100_000
	maxSchemaDepth   = 64
	maxMetadataBytes = 16 << 20
	// perEntry is counted for each field and each metadata entry.
	perEntry = 64
)

// Message is what must be known of an IPC message before it is decoded.
type Message struct {
	// Kind is one of the constants, or another of Message.fbs.
	Kind byte
	// Rows is how many rows a record batch claims.
	Rows int64
	// Compressed says that the body's buffers are.
	Compressed bool
	// Body is the length of the body that the message claims.
	Body int64
}

// Inspect reads the parts of a message's metadata that decide whether to
// decode it at all, and bounds what they themselves decode to. A header that
// is not one is lake.Invalid.
func Inspect(header []byte) (info Message, err error) {
	defer func() {
		if recover() != nil { // an offset beyond the header
			err = lake.Errorf(lake.Invalid, "a message's metadata are not a valid Arrow IPC message")
		}
	}()
	message := fbTable{flatbuffers.Table{Bytes: header, Pos: flatbuffers.GetUOffsetT(header)}}
	if o := message.at(messageHeaderType); o != 0 {
		info.Kind = message.GetByte(o)
	}
	info.Body = message.int64(messageBodyLength)
	sizes := sizer{fields: maxSchemaFields, bytes: maxMetadataBytes}
	if err := sizes.metadata(message, messageMetadata); err != nil {
		return info, err
	}
	head, ok := message.child(messageHeader)
	switch {
	case !ok:
	case info.Kind == KindRecordBatch:
		info.Rows = head.int64(recordBatchLength)
		info.Compressed = head.at(recordBatchCompressed) != 0
	case info.Kind == KindSchema:
		if err := sizes.metadata(head, schemaMetadata); err != nil {
			return info, err
		}
		return info, sizes.fieldsOf(head, schemaFields, maxSchemaDepth)
	}
	return info, nil
}

// fbTable adds to a flatbuffers table what inspect needs. Its methods panic on
// offsets outside of the buffer.
type fbTable struct{ flatbuffers.Table }

// at returns the position of a field, 0 when it is absent.
func (t fbTable) at(slot flatbuffers.VOffsetT) flatbuffers.UOffsetT {
	if o := t.Offset(slot); o != 0 {
		return flatbuffers.UOffsetT(o) + t.Pos
	}
	return 0
}

func (t fbTable) int64(slot flatbuffers.VOffsetT) int64 {
	if at := t.at(slot); at != 0 {
		return t.GetInt64(at)
	}
	return 0
}

func (t fbTable) child(slot flatbuffers.VOffsetT) (fbTable, bool) {
	at := t.at(slot)
	if at == 0 {
		return fbTable{}, false
	}
	return fbTable{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at)}}, true
}

// size returns the length of a string field.
func (t fbTable) size(slot flatbuffers.VOffsetT) int {
	if at := t.at(slot); at != 0 {
		return int(t.GetUOffsetT(t.Indirect(at)))
	}
	return 0
}

// each calls f with the tables of a vector field.
func (t fbTable) each(slot flatbuffers.VOffsetT, f func(fbTable) error) error {
	o := t.Offset(slot)
	if o == 0 {
		return nil
	}
	start := t.Vector(flatbuffers.UOffsetT(o))
	for i := range t.VectorLen(flatbuffers.UOffsetT(o)) {
		entry := t.Indirect(start + flatbuffers.UOffsetT(4*i))
		if err := f(fbTable{flatbuffers.Table{Bytes: t.Bytes, Pos: entry}}); err != nil {
			return err
		}
	}
	return nil
}

// sizer adds up what metadata decode to, and fails when it is too much.
type sizer struct{ fields, bytes int }

func (s *sizer) take(bytes int) error {
	if s.bytes -= bytes + perEntry; s.bytes < 0 {
		return lake.Errorf(lake.Invalid, "a message's metadata decode to more than %d bytes", maxMetadataBytes)
	}
	return nil
}

func (s *sizer) metadata(t fbTable, slot flatbuffers.VOffsetT) error {
	return t.each(slot, func(kv fbTable) error { return s.take(kv.size(keyValueKey) + kv.size(keyValueValue)) })
}

func (s *sizer) fieldsOf(t fbTable, slot flatbuffers.VOffsetT, depth int) error {
	return t.each(slot, func(field fbTable) error {
		if s.fields--; s.fields < 0 || depth == 0 {
			return lake.Errorf(lake.Invalid, "a schema of more than %d fields or %d levels", maxSchemaFields, maxSchemaDepth)
		}
		if err := s.take(field.size(fieldName)); err != nil {
			return err
		}
		if err := s.metadata(field, fieldMetadata); err != nil {
			return err
		}
		return s.fieldsOf(field, fieldChildren, depth-1)
	})
}
