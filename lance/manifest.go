// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"encoding/binary"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

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

	// list is what appends need of the fragments, made when one needs it; see
	// [Manifest.fragmentList].
	list     *fragmentList
	listOnce sync.Once
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

// Version is the number of the version.
func (m *Manifest) Version() uint64 { return m.pb.GetVersion() }

// Fields returns the fields of the schema in pre-order. The caller must not
// change them.
func (m *Manifest) Fields() []*lancepb.Field { return m.pb.GetFields() }

// Fragments returns the fragments in row order. The caller must not change
// them.
func (m *Manifest) Fragments() []*lancepb.DataFragment { return slices.Clip(m.pb.GetFragments()) }

// Transaction returns what made this version, or nil when the manifest does
// not hold it. The caller must not change it.
func (m *Manifest) Transaction() *lancepb.Transaction { return m.transaction }

// Message returns the whole protobuf message. The caller must not change it.
func (m *Manifest) Message() *lancepb.Manifest { return m.pb }
