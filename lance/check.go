// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"math"

	"github.com/lakeplane/lake/lance/lancepb"
)

// check refuses a manifest that this package would read wrong.
func (m *Manifest) check() error {
	if m.pb.GetVersion() == 0 {
		return corrupt("the manifest has no version number")
	}
	if err := checkFlags("reader", m.pb.GetReaderFeatureFlags(), readable); err != nil {
		return err
	}
	if f := m.pb.GetDataFormat().GetFileFormat(); f != "" && f != "lance" {
		return unsupported("the table's data files are in format %q", f)
	}
	seen := make(map[uint64]bool, len(m.pb.GetFragments()))
	var rows uint64
	for _, f := range m.pb.GetFragments() {
		if seen[f.GetId()] {
			return corrupt("fragment %d is listed twice", f.GetId())
		}
		seen[f.GetId()] = true
		if err := checkFragment(f); err != nil {
			return err
		}
		if rows += f.GetPhysicalRows(); rows > math.MaxInt64 {
			return corrupt("the fragments have more than 2⁶³ rows")
		}
	}
	return nil
}

func checkFragment(f *lancepb.DataFragment) error {
	// Row offsets in a fragment are 32-bit everywhere in the format.
	if f.GetPhysicalRows() > math.MaxUint32 || f.GetId() > math.MaxUint32 {
		return corrupt("fragment %d has %d rows: ids and rows are 32-bit", f.GetId(), f.GetPhysicalRows())
	}
	for _, df := range f.GetFiles() {
		if err := checkDataFile(f.GetId(), df); err != nil {
			return err
		}
	}
	d := f.GetDeletionFile()
	if d != nil && d.BaseId != nil {
		return unsupported("fragment %d: its deletion file lies under another base path", f.GetId())
	}
	if f.GetPhysicalRows() > 0 && d.GetNumDeletedRows() > f.GetPhysicalRows() {
		return corrupt("fragment %d: %d of %d rows deleted", f.GetId(), d.GetNumDeletedRows(), f.GetPhysicalRows())
	}
	return nil
}

func checkDataFile(fragment uint64, df *lancepb.DataFile) error {
	if err := checkFileName(df.GetPath()); err != nil {
		return err
	}
	major, minor := df.GetFileMajorVersion(), df.GetFileMinorVersion()
	// Version 2.0 is also written as 0.3, the number in its footer.
	if !(major == 2 && minor <= 2 || major == 0 && minor == 3) {
		return unsupported("data file %q has version %d.%d, only 2.0 to 2.2 are read", df.GetPath(), major, minor)
	}
	if df.BaseId != nil {
		return unsupported("fragment %d: data file %q lies under another base path", fragment, df.GetPath())
	}
	if len(df.GetFields()) != len(df.GetColumnIndices()) {
		return corrupt("data file %q: %d fields and %d columns", df.GetPath(), len(df.GetFields()), len(df.GetColumnIndices()))
	}
	return nil
}
