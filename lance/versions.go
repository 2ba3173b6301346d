// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"fmt"
	"slices"

	"github.com/lakeplane/lake/lake"
)

// Versions lists the versions of a dataset by the names of their manifests, in
// ascending order. It is for datasets that no catalog describes.
func Versions(ctx context.Context, st Storage) ([]uint64, error) {
	var out []uint64
	for info, err := range listAll(ctx, st, versionsDir) {
		if err != nil {
			return nil, lake.Wrap("list versions", err)
		}
		if v, ok := ParseManifestName(info.Name); ok {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// ReadManifest reads a version under its final name, in either naming scheme.
// A missing one is lake.NotFound.
func ReadManifest(ctx context.Context, st Opener, version uint64) (*Manifest, error) {
	raw, err := readAll(ctx, st, ManifestName(version), MaxManifestBytes)
	if lake.Is(err, lake.NotFound) {
		raw, err = readAll(ctx, st, oldManifestName(version), MaxManifestBytes)
	}
	if err != nil {
		return nil, lake.Wrap(fmt.Sprintf("read version %d", version), err)
	}
	m, err := ParseManifest(raw)
	if err != nil {
		return nil, lake.Wrap(fmt.Sprintf("read version %d", version), err)
	}
	if m.Version() != version {
		return nil, corrupt("the manifest of version %d says that it is version %d", version, m.Version())
	}
	return m, nil
}

// Write stores a manifest under its final name. lake.AlreadyExists means that
// another writer made this version first.
func (m *Manifest) Write(ctx context.Context, st Creator) error {
	raw, err := m.Encode()
	if err != nil {
		return err
	}
	return lake.Wrap(fmt.Sprintf("write version %d", m.Version()), st.Put(ctx, ManifestName(m.Version()), raw))
}
