// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/lakeplane/lake/lance/lancepb"
)

// TestShallowCopiesEveryField sets one field after the other, so that one that
// the format gains cannot be forgotten.
func TestShallowCopiesEveryField(t *testing.T) {
	each(t, new(lancepb.Manifest), func(m *lancepb.Manifest) proto.Message { return shallow(m) })
	each(t, new(lancepb.DataFragment), func(f *lancepb.DataFragment) proto.Message { return shallowFragment(f) })
}

func each[M proto.Message](t *testing.T, m M, shallow func(M) proto.Message) {
	t.Helper()
	fields := m.ProtoReflect().Descriptor().Fields()
	require.NotZero(t, fields.Len())
	for i := range fields.Len() {
		proto.Reset(m)
		fd := fields.Get(i)
		set(m.ProtoReflect(), fd)
		require.True(t, m.ProtoReflect().Has(fd), "%s", fd.FullName())
		require.True(t, proto.Equal(m, shallow(m)), "%s is not copied", fd.FullName())
	}
	proto.Reset(m)
	m.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 77, protowire.VarintType), 1))
	require.True(t, proto.Equal(m, shallow(m)), "unknown fields")
}

// set gives a field a value that is not the default.
func set(m protoreflect.Message, fd protoreflect.FieldDescriptor) {
	switch {
	case fd.IsMap():
		v := protoreflect.ValueOfString("v")
		if fd.MapValue().Kind() == protoreflect.BytesKind {
			v = protoreflect.ValueOfBytes([]byte("v"))
		}
		m.Mutable(fd).Map().Set(protoreflect.ValueOfString("k").MapKey(), v)
	case fd.IsList():
		m.Mutable(fd).List().AppendMutable()
	case fd.Message() != nil:
		m.Mutable(fd)
	case fd.Kind() == protoreflect.StringKind:
		m.Set(fd, protoreflect.ValueOfString("v"))
	case fd.Kind() == protoreflect.BytesKind:
		m.Set(fd, protoreflect.ValueOfBytes([]byte("v")))
	case fd.Kind() == protoreflect.Uint32Kind:
		m.Set(fd, protoreflect.ValueOfUint32(1))
	default:
		m.Set(fd, protoreflect.ValueOfUint64(1))
	}
}
