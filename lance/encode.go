// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lance/lancepb"
)

// Encode returns the bytes of the manifest's object.
func (m *Manifest) Encode() ([]byte, error) { return m.AppendTo(nil) }

// AppendTo appends the bytes of the manifest's object to out, which has room for
// what the caller wants to use again. With an error it returns nil.
func (m *Manifest) AppendTo(out []byte) ([]byte, error) {
	list := m.fragmentList()
	if list.err != nil {
		return nil, list.err
	}
	start := len(out)
	out = slices.Grow(out, 4096+len(m.indexes)+len(list.encoded))
	pb := shallow(m.pb)
	pb.IndexSection, pb.TransactionSection = nil, nil
	if m.indexes != nil {
		pb.IndexSection = proto.Uint64(uint64(len(out) - start))
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(m.indexes))), m.indexes...)
	}
	var err error
	if m.transaction != nil {
		pb.TransactionSection = proto.Uint64(uint64(len(out) - start))
		if out, err = prefixed(out, func(out []byte) ([]byte, error) { return appendTransaction(out, m.transaction) }); err != nil {
			return nil, err
		}
	}
	at := len(out) - start
	// Fields of a message may come in any order and in pieces.
	pb.Fragments = nil
	if out, err = prefixed(out, func(out []byte) ([]byte, error) {
		out, err := marshal(out, pb)
		return append(out, list.encoded...), err
	}); err != nil {
		return nil, err
	}
	out = binary.LittleEndian.AppendUint64(out, uint64(at))
	out = binary.LittleEndian.AppendUint16(out, 0)
	out = binary.LittleEndian.AppendUint16(out, 2)
	return append(out, magic...), nil
}

// prefixed appends a message behind its length.
func prefixed(out []byte, message func([]byte) ([]byte, error)) ([]byte, error) {
	at := len(out)
	out, err := message(append(out, 0, 0, 0, 0))
	if err != nil {
		return nil, err
	}
	length := len(out) - at - 4
	if length > math.MaxUint32 {
		return nil, invalid("encode manifest: a message of %d bytes", length)
	}
	binary.LittleEndian.PutUint32(out[at:], uint32(length))
	return out, nil
}

func marshal(out []byte, m proto.Message) ([]byte, error) {
	out, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(out, m)
	if err != nil {
		return nil, invalid("encode manifest: %w", err)
	}
	return out, nil
}

// appendTransaction is marshal, but for the properties: they are most of the
// transaction of an append, and maps are what the library takes longest for.
func appendTransaction(out []byte, tx *lancepb.Transaction) ([]byte, error) {
	properties := tx.GetTransactionProperties()
	if len(properties) == 0 || len(tx.ProtoReflect().GetUnknown()) > 0 {
		return marshal(out, tx)
	}
	out, err := marshal(out, &lancepb.Transaction{ReadVersion: tx.GetReadVersion(), Uuid: tx.GetUuid(), Tag: tx.GetTag()})
	if err != nil {
		return nil, err
	}
	if out, err = appendProperties(out, properties); err != nil {
		return nil, err
	}
	return marshal(out, &lancepb.Transaction{Operation: tx.GetOperation()})
}

// propertiesField is the number of Transaction.transaction_properties.
const propertiesField = 4

func appendProperties(out []byte, properties map[string]string) ([]byte, error) {
	for _, k := range slices.Sorted(maps.Keys(properties)) {
		v := properties[k]
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return nil, invalid("encode manifest: property %q is not UTF-8 text", k)
		}
		out = protowire.AppendTag(out, propertiesField, protowire.BytesType)
		out = protowire.AppendVarint(out, uint64(protowire.SizeTag(1)+protowire.SizeBytes(len(k))+protowire.SizeTag(2)+protowire.SizeBytes(len(v))))
		out = protowire.AppendString(protowire.AppendTag(out, 1, protowire.BytesType), k)
		out = protowire.AppendString(protowire.AppendTag(out, 2, protowire.BytesType), v)
	}
	return out, nil
}
