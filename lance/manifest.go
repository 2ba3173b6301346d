// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/lakeplane/lake/lance/lancepb"
)

const (
	magic = "LANC"
	// manifestTail is u64 position, u16 major, u16 minor and the magic.
	manifestTail = 16
	// MaxManifestBytes bounds the manifests that are read.
	MaxManifestBytes = 1 << 30
)

// Manifest is one version of a dataset. It is immutable once parsed or built;
// the methods that derive the next version share what did not change.
//
// The object is made of length-prefixed protobuf messages: an optional index
// section, an optional transaction, the manifest, then the position of the
// last and a magic number.
type Manifest struct {
	pb *lancepb.Manifest
	// transaction is what made this version, or nil where only a separate
	// file says so.
	transaction *lancepb.Transaction
	// indexes is the index section as found. It is carried along unread.
	indexes []byte

	// fragments is the encoded list of fragments, nearly all of a large
	// manifest. An append encodes only what it adds.
	encode    sync.Once
	fragments []byte
	encodeErr error
}

// ParseManifest reads the exact bytes of a manifest object. Bytes that
// contradict the format are lake.Corrupt; a table that needs features this
// package does not have is lake.Unsupported.
func ParseManifest(b []byte) (*Manifest, error) {
	if len(b) < manifestTail || len(b) > MaxManifestBytes {
		return nil, corrupt("manifest of %d bytes, want %d..%d", len(b), manifestTail, MaxManifestBytes)
	}
	tail := b[len(b)-manifestTail:]
	if string(tail[12:]) != magic {
		return nil, corrupt("the manifest does not end with %q", magic)
	}
	body := b[:len(b)-manifestTail]
	raw, err := section(body, binary.LittleEndian.Uint64(tail))
	if err != nil {
		return nil, err
	}
	m := &Manifest{pb: new(lancepb.Manifest)}
	if err := proto.Unmarshal(raw, m.pb); err != nil {
		return nil, corrupt("manifest: %v", err)
	}
	if err := m.readSections(body); err != nil {
		return nil, err
	}
	return m, m.check()
}

// section returns the message at an offset: u32 length, then its bytes.
func section(body []byte, at uint64) ([]byte, error) {
	if at > uint64(len(body)) || len(body)-int(at) < 4 {
		return nil, corrupt("the manifest has a message at %d, past its %d bytes", at, len(body))
	}
	length := uint64(binary.LittleEndian.Uint32(body[at:]))
	rest := body[at+4:]
	if length > uint64(len(rest)) {
		return nil, corrupt("the manifest has a message of %d bytes at %d, past its %d bytes", length, at, len(body))
	}
	return rest[:length], nil
}

func (m *Manifest) readSections(body []byte) error {
	if m.pb.IndexSection != nil {
		raw, err := section(body, m.pb.GetIndexSection())
		if err != nil {
			return err
		}
		m.indexes = append([]byte{}, raw...)
	}
	if m.pb.TransactionSection == nil {
		return nil
	}
	raw, err := section(body, m.pb.GetTransactionSection())
	if err != nil {
		return err
	}
	m.transaction = new(lancepb.Transaction)
	if err := proto.Unmarshal(raw, m.transaction); err != nil {
		return corrupt("transaction in the manifest: %v", err)
	}
	return nil
}

// Encode returns the bytes of the manifest's object.
func (m *Manifest) Encode() ([]byte, error) {
	pb := shallow(m.pb)
	pb.IndexSection, pb.TransactionSection = nil, nil
	fragments, err := m.encodedFragments()
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, 4096+len(m.indexes)+len(fragments))
	if m.indexes != nil {
		pb.IndexSection = proto.Uint64(uint64(len(out)))
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(m.indexes))), m.indexes...)
	}
	if m.transaction != nil {
		pb.TransactionSection = proto.Uint64(uint64(len(out)))
		if out, err = appendMessage(out, m.transaction); err != nil {
			return nil, err
		}
	}
	at := len(out)
	// Fields of a message may come in any order and in pieces.
	pb.Fragments = nil
	if out, err = appendMessage(out, pb, fragments...); err != nil {
		return nil, err
	}
	out = binary.LittleEndian.AppendUint64(out, uint64(at))
	out = binary.LittleEndian.AppendUint16(out, 0)
	out = binary.LittleEndian.AppendUint16(out, 2)
	return append(out, magic...), nil
}

// encodedFragments returns the fragments as a piece of a manifest message. The
// caller must not change it.
func (m *Manifest) encodedFragments() ([]byte, error) {
	m.encode.Do(func() {
		if m.fragments == nil && m.encodeErr == nil {
			m.fragments, m.encodeErr = marshal(nil, &lancepb.Manifest{Fragments: m.pb.GetFragments()})
		}
	})
	return m.fragments, m.encodeErr
}

// extendFragments derives the encoded list of m, which has the fragments of
// base and then some more.
func (m *Manifest) extendFragments(base *Manifest, added []*lancepb.DataFragment) {
	old, err := base.encodedFragments()
	if err == nil {
		m.fragments, m.encodeErr = marshal(slices.Clip(old), &lancepb.Manifest{Fragments: added})
	}
}

func marshal(out []byte, m proto.Message) ([]byte, error) {
	out, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(out, m)
	if err != nil {
		return nil, invalid("encode manifest: %w", err)
	}
	return out, nil
}

// appendMessage appends a message, with further fields in encoded form, behind
// its length.
func appendMessage(out []byte, m proto.Message, more ...byte) ([]byte, error) {
	at := len(out)
	out, err := marshal(append(out, 0, 0, 0, 0), m)
	if err != nil {
		return nil, err
	}
	out = append(out, more...)
	length := len(out) - at - 4
	if length > math.MaxUint32 {
		return nil, invalid("encode manifest: a message of %d bytes", length)
	}
	binary.LittleEndian.PutUint32(out[at:], uint32(length))
	return out, nil
}

// shallow copies a message without its elements.
func shallow(pb *lancepb.Manifest) *lancepb.Manifest {
	out := new(lancepb.Manifest)
	from, to := pb.ProtoReflect(), out.ProtoReflect()
	from.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		to.Set(fd, v)
		return true
	})
	to.SetUnknown(from.GetUnknown())
	return out
}

// Version is the number of the version.
func (m *Manifest) Version() uint64 { return m.pb.GetVersion() }

// Fields returns the fields of the schema in pre-order. The caller must not
// change them.
func (m *Manifest) Fields() []*lancepb.Field { return m.pb.GetFields() }

// Fragments returns the fragments in row order. The caller must not change
// them.
func (m *Manifest) Fragments() []*lancepb.DataFragment { return m.pb.GetFragments() }

// Transaction returns what made this version, or nil when the manifest does
// not hold it. The caller must not change it.
func (m *Manifest) Transaction() *lancepb.Transaction { return m.transaction }

// Message returns the whole protobuf message. The caller must not change it.
func (m *Manifest) Message() *lancepb.Manifest { return m.pb }
