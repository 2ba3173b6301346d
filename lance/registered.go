// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"bytes"
	"encoding/base64"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/schema"
)

// registeredKey is the entry of the table metadata that holds the Arrow schema
// as the creator gave it, as a base64 IPC stream. Lance fields cannot say
// everything: the item field of a vector has no name, metadata no order. It is
// written only where something would be lost, and it is honoured only while
// the fields still say the same, so a writer that changes the schema need not
// know about it.
const registeredKey = "lake.arrow_schema"

func schemaMetadata(s *arrow.Schema) map[string][]byte {
	md := s.Metadata()
	if md.Len() == 0 {
		return nil
	}
	out := make(map[string][]byte, md.Len())
	for i, k := range md.Keys() {
		out[k] = []byte(md.Values()[i])
	}
	return out
}

// registeredSchema returns the table metadata for a new dataset.
func registeredSchema(s *arrow.Schema, fields []*lancepb.Field, metadata map[string][]byte) (map[string]string, error) {
	back, err := schema.ToArrow(fields, metadata)
	if err != nil {
		return nil, err
	}
	given, err := encodeSchema(s)
	if err != nil {
		return nil, err
	}
	if kept, err := encodeSchema(back); err != nil || bytes.Equal(given, kept) {
		return nil, err
	}
	return map[string]string{registeredKey: base64.StdEncoding.EncodeToString(given)}, nil
}

// encodeSchema returns an IPC stream without batches. Schemas that are the same
// in every detail have equal streams.
func encodeSchema(s *arrow.Schema) ([]byte, error) {
	var buf bytes.Buffer
	if err := ipc.NewWriter(&buf, ipc.WithSchema(s)).Close(); err != nil {
		return nil, invalid("encode schema: %w", err)
	}
	return buf.Bytes(), nil
}

// arrowSchemas returns the schema the files are read with and the one that
// batches are handed out with.
func (m *Manifest) arrowSchemas() (stored, registered *arrow.Schema, err error) {
	stored, err = schema.ToArrow(m.pb.GetFields(), m.pb.GetSchemaMetadata())
	if err != nil {
		return nil, nil, err
	}
	registered = decodeRegistered(m.pb.GetTableMetadata()[registeredKey])
	if registered == nil || !m.describes(registered) {
		return stored, stored, nil
	}
	return stored, registered, nil
}

// describes reports whether the fields of the manifest, ids aside, are those
// that schema s gives.
func (m *Manifest) describes(s *arrow.Schema) bool {
	fields, err := schema.FromArrow(s)
	if err != nil || len(fields) != len(m.pb.GetFields()) {
		return false
	}
	want := schemaMetadata(s)
	if len(want) != len(m.pb.GetSchemaMetadata()) {
		return false
	}
	for k, v := range want {
		if got, ok := m.pb.GetSchemaMetadata()[k]; !ok || !bytes.Equal(got, v) {
			return false
		}
	}
	at := make(map[int32]int32, len(fields)) // id in the manifest to id in fields
	at[-1] = -1
	for i, f := range m.pb.GetFields() {
		at[f.GetId()] = fields[i].GetId()
		parent, known := at[f.GetParentId()]
		if !known || parent != fields[i].GetParentId() || !sameField(f, fields[i]) {
			return false
		}
	}
	return true
}

func sameField(a, b *lancepb.Field) bool {
	return a.GetName() == b.GetName() && a.GetLogicalType() == b.GetLogicalType() && a.GetNullable() == b.GetNullable() &&
		proto.Equal(&lancepb.Field{Metadata: a.GetMetadata()}, &lancepb.Field{Metadata: b.GetMetadata()})
}

func decodeRegistered(text string) *arrow.Schema {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) == 0 {
		return nil
	}
	return decodeSchema(raw)
}

// decodeSchema returns nil for bytes that are not an IPC stream. The decoder
// of the Arrow library panics on some of them.
func decodeSchema(raw []byte) (s *arrow.Schema) {
	defer func() {
		if recover() != nil {
			s = nil
		}
	}()
	r, err := ipc.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil
	}
	defer r.Release()
	return r.Schema()
}
