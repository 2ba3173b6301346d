// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"time"

	"github.com/lakeplane/lake/lance/lancepb"
)

// Summary is what a manifest says of its version.
type Summary struct {
	// Made is when its writer made it; zero when it does not say.
	Made time.Time
	// Change is what made it: create, overwrite, append, compact, delete, update,
	// merge, project, index, configure, restore, reserve, replace, or other.
	Change string
	// Rows are the rows that are not deleted, as far as the manifest counts them;
	// old writers left counts out.
	Rows uint64
	// Fragments are how many there are, Bytes the length of their data files.
	Fragments int
	Bytes     uint64
}

// Summary reads off the manifest what its version is.
func (m *Manifest) Summary() Summary {
	s := Summary{Change: m.change(), Fragments: len(m.Fragments())}
	if t := m.pb.GetTimestamp(); t.IsValid() {
		s.Made = t.AsTime()
	}
	for _, f := range m.Fragments() {
		s.Rows += f.GetPhysicalRows() - min(f.GetPhysicalRows(), f.GetDeletionFile().GetNumDeletedRows())
		for _, df := range f.GetFiles() {
			s.Bytes += df.GetFileSizeBytes()
		}
	}
	return s
}

func (m *Manifest) change() string {
	switch m.transaction.GetOperation().(type) {
	case *lancepb.Transaction_Append_:
		return "append"
	case *lancepb.Transaction_Delete_:
		return "delete"
	case *lancepb.Transaction_Overwrite_:
		if m.Version() == 1 {
			return "create"
		}
		return "overwrite"
	case *lancepb.Transaction_CreateIndex_:
		return "index"
	case *lancepb.Transaction_Rewrite_:
		return "compact"
	case *lancepb.Transaction_Merge_:
		return "merge"
	case *lancepb.Transaction_Restore_:
		return "restore"
	case *lancepb.Transaction_ReserveFragments_:
		return "reserve"
	case *lancepb.Transaction_Update_:
		return "update"
	case *lancepb.Transaction_Project_:
		return "project"
	case *lancepb.Transaction_UpdateConfig_:
		return "configure"
	case *lancepb.Transaction_DataReplacement_:
		return "replace"
	}
	return "other"
}
