// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"fmt"
	"strings"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
)

var _ engine.Inspector = (*Engine)(nil)

// Inspect implements [engine.Inspector].
func (e *Engine) Inspect(ctx context.Context, snap lake.Snapshot) (engine.Inspection, error) {
	found, err := e.inspect(ctx, snap)
	if err != nil {
		return found, lake.Wrap(fmt.Sprintf("inspect version %d of %s", snap.Version, snap.Location), err)
	}
	return found, nil
}

func (e *Engine) inspect(ctx context.Context, snap lake.Snapshot) (engine.Inspection, error) {
	if err := checkSnapshot(snap); err != nil {
		return engine.Inspection{}, err
	}
	raw, key, err := e.read(ctx, snap)
	if err != nil {
		return engine.Inspection{}, err
	}
	m, err := format.ParseManifest(raw)
	if err != nil {
		return engine.Inspection{}, err
	}
	references, err := m.References()
	if err != nil {
		return engine.Inspection{}, err
	}
	found := engine.Inspection{Published: key == finalKey(snap), Manifest: key}
	for _, r := range references {
		found.Objects = append(found.Objects, engine.ObjectSize{Key: snap.Location.Prefix() + r.Name, Size: r.Size})
		if sidecar, ok := r.Sidecar(); ok {
			found.Extras = append(found.Extras, snap.Location.Prefix()+sidecar)
		}
	}
	return found, nil
}

// VersionName implements [engine.Inspector].
func (e *Engine) VersionName(loc lake.Location, key string) (lake.Version, bool) {
	name, below := strings.CutPrefix(key, loc.Prefix())
	version, ok := format.ParseManifestName(name)
	return lake.Version(version), below && ok
}
