// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import "strings"

// Reference is an object that a version needs.
type Reference struct {
	// Name is relative to the dataset.
	Name string
	// Size is its length in bytes as the manifest has it, or -1 where the
	// manifest does not say.
	Size int64
}

// Sidecar returns the name of the object that holds the statistics of a data
// file, if it has any. Nothing is lost without it. ok is false for other objects.
func (r Reference) Sidecar() (name string, ok bool) {
	path, ok := strings.CutPrefix(r.Name, dataDir)
	if !ok {
		return "", false
	}
	return StatsName(path), true
}

// References returns the objects that the version needs, each once, without
// its manifest. Indexes are not among them. A deletion file of a kind that is
// not known is an error: what cannot be named cannot be kept.
func (m *Manifest) References() ([]Reference, error) {
	var out []Reference
	seen := make(map[string]bool)
	add := func(name string, size int64) {
		if !seen[name] {
			seen[name] = true
			out = append(out, Reference{name, size})
		}
	}
	if tx := m.pb.GetTransactionFile(); tx != "" {
		add(transactionsDir+tx, -1)
	}
	for _, f := range m.Fragments() {
		for _, df := range f.GetFiles() {
			size := int64(-1)
			if n := df.GetFileSizeBytes(); n > 0 {
				size = int64(n)
			}
			add(dataDir+df.GetPath(), size)
		}
		if f.GetDeletionFile() == nil {
			continue
		}
		name, err := deletionName(f.GetId(), f.GetDeletionFile())
		if err != nil {
			return nil, err
		}
		add(name, -1)
	}
	return out, nil
}
