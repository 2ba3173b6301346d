// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/schema"
)

// Commit is what a new version carries besides its change.
type Commit struct {
	// UUID identifies the transaction, in the usual text form.
	UUID string
	// Time is the version's creation time; clean-up by age depends on it.
	Time time.Time
	// Properties are kept with the transaction for the writer's own use.
	Properties map[string]string
}

// writer is what manifests name as their writer. Without it other writers
// recompute statistics on every commit.
var writer = lancepb.Manifest_WriterVersion{Library: "lake", Version: "0.1.0"}

const dataVersion = "2.1"

// NewManifest returns version 1 of a dataset of the given schema without rows.
func NewManifest(s *arrow.Schema, c Commit) (*Manifest, error) {
	fields, err := schema.Stored(s)
	if err != nil {
		return nil, err
	}
	metadata := schemaMetadata(s)
	pb := &lancepb.Manifest{
		Fields:         fields,
		SchemaMetadata: metadata,
		DataFormat:     &lancepb.Manifest_DataStorageFormat{FileFormat: "lance", Version: dataVersion},
	}
	if pb.TableMetadata, err = registeredSchema(s, fields, metadata); err != nil {
		return nil, err
	}
	tx := &lancepb.Transaction{Operation: &lancepb.Transaction_Overwrite_{Overwrite: &lancepb.Transaction_Overwrite{
		Schema: fields, SchemaMetadata: metadata,
	}}}
	return finish(&Manifest{pb: pb}, tx, c, 0), nil
}

// Append returns the version after m with more fragments, whose ids it
// assigns. The caller must not change them after. It fails with
// lake.Unsupported when the table has a writer feature flag this package does
// not implement.
func (m *Manifest) Append(fragments []*lancepb.DataFragment, c Commit) (*Manifest, error) {
	if err := m.takesData(); err != nil {
		return nil, err
	}
	next, err := m.derive()
	if err != nil {
		return nil, err
	}
	if err := next.addFragments(m, fragments); err != nil {
		return nil, err
	}
	// In the transaction the fragments have no ids yet: a writer that rebases
	// it onto another version assigns them again.
	unplaced := make([]*lancepb.DataFragment, len(fragments))
	for i, f := range fragments {
		if unplaced[i] = f; f.GetId() != 0 {
			unplaced[i] = shallowFragment(f)
			unplaced[i].Id = 0
		}
	}
	tx := &lancepb.Transaction{Operation: &lancepb.Transaction_Append_{Append: &lancepb.Transaction_Append{Fragments: unplaced}}}
	return finish(next, tx, c, m.Version()), nil
}

// takesData refuses a table whose data files are of another version than those
// this package writes: other readers refuse a table that mixes them.
func (m *Manifest) takesData() error {
	if v := m.pb.GetDataFormat().GetVersion(); v != "" && v != dataVersion {
		return unsupported("the table's data files are of version %q: only files of version %s can be added, and other clients would not read both", v, dataVersion)
	}
	return nil
}

// derive returns a copy of m whose message may be changed, though not the
// elements inside.
func (m *Manifest) derive() (*Manifest, error) {
	if err := checkFlags("writer", m.pb.GetWriterFeatureFlags(), writable); err != nil {
		return nil, err
	}
	if m.Version() >= detachedBit-1 {
		return nil, invalid("version %d has no successor", m.Version())
	}
	pb := shallow(m.pb)
	pb.Tag, pb.VersionAuxData = "", 0
	pb.Fragments = slices.Clip(pb.GetFragments()) // what lies behind belongs to another version
	return &Manifest{pb: pb, indexes: m.indexes}, nil
}

// finish completes a derived manifest: number, time, writer, flags and the
// transaction, which is stored inline only.
func finish(m *Manifest, tx *lancepb.Transaction, c Commit, read uint64) *Manifest {
	tx.ReadVersion, tx.Uuid, tx.TransactionProperties = read, c.UUID, c.Properties
	m.transaction = tx
	m.pb.Version = read + 1
	m.pb.Timestamp = timestamppb.New(c.Time)
	m.pb.WriterVersion = proto.CloneOf(&writer)
	m.pb.TransactionFile = ""
	setFlags(m.pb, m.hasDeletions())
	return m
}

// setFlags derives the flags from what the manifest holds and keeps the ones
// that only say how to write.
func setFlags(pb *lancepb.Manifest, deletions bool) {
	pb.ReaderFeatureFlags &^= FlagDeletionFiles
	pb.WriterFeatureFlags &^= FlagDeletionFiles
	if deletions {
		pb.ReaderFeatureFlags |= FlagDeletionFiles
		pb.WriterFeatureFlags |= FlagDeletionFiles
	}
	if len(pb.GetConfig()) > 0 {
		pb.WriterFeatureFlags |= FlagTableConfig
	}
}
