// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package untrusted

import (
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/lakeplane/lake/lake"
)

// sizer adds up what metadata decode to, and fails when it is too much.
type sizer struct{ fields, bytes int }

func newSizer() *sizer { return &sizer{fields: maxSchemaFields, bytes: maxMetadataBytes} }

func (s *sizer) schema(t fbTable) error {
	if err := s.metadata(t, schemaMetadata); err != nil {
		return err
	}
	return s.fieldsOf(t, schemaFields, maxSchemaDepth)
}

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
		if err := s.typeOf(field); err != nil {
			return err
		}
		return s.fieldsOf(field, fieldChildren, depth-1)
	})
}

// typeOf counts what a field's type holds besides numbers.
func (s *sizer) typeOf(field fbTable) error {
	dt, ok := field.child(fieldType)
	kind := field.at(fieldTypeKind)
	switch {
	case !ok || kind == 0:
	case field.GetByte(kind) == typeTimestamp:
		return s.take(dt.size(timestampZone))
	case field.GetByte(kind) == typeUnion:
		_, ids := dt.vector(unionTypeIDs, 4)
		return s.take(4 * ids)
	}
	return nil
}
