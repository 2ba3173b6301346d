// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"fmt"
	"slices"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
)

var _ engine.Historian = (*Engine)(nil)

// Describe implements [engine.Historian]. Its pieces are fragments.
func (e *Engine) Describe(ctx context.Context, snap lake.Snapshot) (engine.Description, error) {
	err := checkSnapshot(snap)
	var m *format.Manifest
	if err == nil {
		m, err = e.readManifest(ctx, snap) // not kept: nobody appends to old versions
	}
	if err != nil {
		return engine.Description{}, lake.Wrap(fmt.Sprintf("describe version %d of %s", snap.Version, snap.Location), err)
	}
	s := m.Summary()
	return engine.Description{Made: s.Made, Change: s.Change, Rows: s.Rows, Pieces: s.Fragments, Bytes: s.Bytes}, nil
}

// Tags implements [engine.Historian].
func (e *Engine) Tags(ctx context.Context, loc lake.Location) (map[lake.Version][]string, error) {
	tags, err := format.Tags(ctx, e.folder(loc))
	if err != nil {
		return nil, lake.Wrap("tags of "+string(loc), err)
	}
	out := map[lake.Version][]string{}
	for _, t := range tags {
		v := lake.Version(t.Version)
		out[v] = append(out[v], t.Name)
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out, nil
}
