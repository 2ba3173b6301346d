// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package untrusted decides whether Arrow data from outside may be decoded and
// used. The Arrow decoder allocates whatever a compressed buffer, a dictionary
// or a schema claims to hold, and arrays read by offsets nobody has checked;
// so inspect a message with an [Inspector] before it is decoded, and [Check] an array after.
// [NewReader], [CheckFile] and [DecodeSchema] do the first for whole streams,
// files and schemas.
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

// The kinds of types (Arrow's Schema.fbs) that need more than most.
const (
	typeTimestamp  = 10
	typeUnion      = 14
	typeRunEnds    = 22
	typeBinaryView = 23
	typeUtf8View   = 24
)

// The slots of the fields of Message.fbs', Schema.fbs' and File.fbs' tables, as vtable
// offsets.
const (
	messageVersion        = 4 + 2*0
	messageHeaderType     = 4 + 2*1
	messageHeader         = 4 + 2*2
	messageBodyLength     = 4 + 2*3
	messageMetadata       = 4 + 2*4
	recordBatchLength     = 4 + 2*0
	recordBatchBuffers    = 4 + 2*2
	recordBatchCompressed = 4 + 2*3
	recordBatchVariadic   = 4 + 2*4
	compressionCodec      = 4 + 2*0
	dictionaryID          = 4 + 2*0
	dictionaryData        = 4 + 2*1
	dictionaryDelta       = 4 + 2*2
	schemaFields          = 4 + 2*1
	schemaMetadata        = 4 + 2*2
	fieldName             = 4 + 2*0
	fieldTypeKind         = 4 + 2*2
	fieldType             = 4 + 2*3
	fieldDictionary       = 4 + 2*4
	dictionaryEncodingID  = 4 + 2*0
	fieldChildren         = 4 + 2*5
	fieldMetadata         = 4 + 2*6
	keyValueKey           = 4 + 2*0
	keyValueValue         = 4 + 2*1
	timestampZone         = 4 + 2*1
	unionMode             = 4 + 2*0
	unionTypeIDs          = 4 + 2*1
	footerSchema          = 4 + 2*1
	footerDictionaries    = 4 + 2*2
	footerBatches         = 4 + 2*3
	footerMetadata        = 4 + 2*4
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

// version5 is the metadata version of Arrow 1.0 and later.
const version5 = 4

// Message is what must be known of an IPC message before it is decoded.
type Message struct {
	// Kind is one of the constants, or another of Message.fbs.
	Kind byte
	// Rows is how many rows a record batch claims, or values a dictionary.
	Rows int64
	// Compressed says that the body's buffers are.
	Compressed bool
	// Delta says that a dictionary batch adds to one sent before.
	Delta bool
	// Body is the length of the body that the message claims.
	Body int64
}

// Inspect reads the parts of a message's metadata that decide whether to
// decode it at all, and bounds what they themselves decode to: the fields and
// texts of a schema, the buffers of a batch within the body that the message
// claims. A header that is not one is lake.Invalid.
func (in *Inspector) Inspect(header []byte) (info Message, err error) {
	defer damaged(&err)
	message := root(header)
	if o := message.at(messageHeaderType); o != 0 {
		info.Kind = message.GetByte(o)
	}
	info.Body = message.int64(messageBodyLength)
	sizes := newSizer()
	if err := sizes.metadata(message, messageMetadata); err != nil {
		return info, err
	}
	head, ok := message.child(messageHeader)
	switch {
	case !ok:
		return info, nil
	case info.Kind == KindSchema:
		return info, in.schema(head, sizes)
	case info.Kind == KindDictionary:
		err := in.dictionary(head, &info)
		return info, err
	case info.Kind == KindRecordBatch:
		need := in.batch
		if o := message.at(messageVersion); o == 0 || message.GetInt16(o) < version5 {
			need.buffers += need.unions
		}
		err := info.batch(head, need)
		return info, err
	}
	return info, nil
}

// dictionary inspects a DictionaryBatch table.
func (in *Inspector) dictionary(t fbTable, info *Message) error {
	if o := t.at(dictionaryDelta); o != 0 {
		info.Delta = t.GetBool(o)
	}
	values, ok := t.child(dictionaryData)
	if !ok {
		return lake.Errorf(lake.Invalid, "a dictionary batch without values")
	}
	need := in.dictionaries[t.int64(dictionaryID)]
	need.buffers += need.unions // the decoder reads dictionaries as of an old version
	return info.batch(values, need)
}

// batch inspects a RecordBatch table.
func (m *Message) batch(t fbTable, need layout) error {
	m.Rows = t.int64(recordBatchLength)
	m.Compressed = t.at(recordBatchCompressed) != 0
	return need.check(t, m.Body)
}

// damaged turns the panic over an offset beyond the header into a refusal.
func damaged(err *error) {
	if recover() != nil {
		*err = lake.Errorf(lake.Invalid, "a message's metadata are not a valid Arrow IPC message")
	}
}

// extent is where a buffer lies in a body.
type extent struct{ offset, length int64 }

// buffersOf reads the buffers of a RecordBatch table.
func buffersOf(batch fbTable) []extent {
	start, count := batch.vector(recordBatchBuffers, 16)
	out := make([]extent, count)
	for i := range out {
		at := start + flatbuffers.UOffsetT(16*i)
		out[i] = extent{batch.GetInt64(at), batch.GetInt64(at + 8)}
	}
	return out
}
