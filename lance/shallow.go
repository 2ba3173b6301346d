// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import "github.com/lakeplane/lake/lance/lancepb"

// shallow copies a message without its elements. Versions share what did not
// change, and all are made of copies, so it names the fields instead of asking
// the library for them.
func shallow(pb *lancepb.Manifest) *lancepb.Manifest {
	out := &lancepb.Manifest{
		Fields:             pb.Fields,
		Fragments:          pb.Fragments,
		Version:            pb.Version,
		VersionAuxData:     pb.VersionAuxData,
		SchemaMetadata:     pb.SchemaMetadata,
		IndexSection:       pb.IndexSection,
		Timestamp:          pb.Timestamp,
		Tag:                pb.Tag,
		ReaderFeatureFlags: pb.ReaderFeatureFlags,
		WriterFeatureFlags: pb.WriterFeatureFlags,
		MaxFragmentId:      pb.MaxFragmentId,
		TransactionFile:    pb.TransactionFile,
		WriterVersion:      pb.WriterVersion,
		NextRowId:          pb.NextRowId,
		DataFormat:         pb.DataFormat,
		Config:             pb.Config,
		BasePaths:          pb.BasePaths,
		TableMetadata:      pb.TableMetadata,
		Branch:             pb.Branch,
		TransactionSection: pb.TransactionSection,
	}
	if unknown := pb.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		out.ProtoReflect().SetUnknown(unknown)
	}
	return out
}

// shallowFragment copies a fragment without its elements.
func shallowFragment(f *lancepb.DataFragment) *lancepb.DataFragment {
	out := &lancepb.DataFragment{
		Id:                           f.Id,
		Files:                        f.Files,
		DeletionFile:                 f.DeletionFile,
		PhysicalRows:                 f.PhysicalRows,
		RowIdSequence:                f.RowIdSequence,
		LastUpdatedAtVersionSequence: f.LastUpdatedAtVersionSequence,
		CreatedAtVersionSequence:     f.CreatedAtVersionSequence,
	}
	if unknown := f.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		out.ProtoReflect().SetUnknown(unknown)
	}
	return out
}
