// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"fmt"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
)

// Fragmentation reports how many fragments of the snapshot a compaction would
// read and how many it would write. It reads the manifest and no data; both are
// 0 for a table that needs none. It fails with [engine.ErrUnavailable] when the
// manifest is gone. It is safe for concurrent use.
func (e *Engine) Fragmentation(ctx context.Context, snap lake.Snapshot) (before, after int, err error) {
	d, err := e.open(ctx, snap)
	if err != nil {
		return 0, 0, lake.Wrap(fmt.Sprintf("fragments of version %d of %s", snap.Version, snap.Location), unavailable(err))
	}
	defer func() { _ = d.Close() }()
	groups := d.PlanCompaction(format.CompactOptions{})
	for _, g := range groups {
		before += len(g)
	}
	return before, len(groups), nil
}

// CompactSome is [Engine.Compact] of at most the given number of new fragments,
// each of a gigabyte or a million rows at most, the first ones of the table. It
// bounds the time of one compaction, and with it what a crash repeats.
func (e *Engine) CompactSome(ctx context.Context, base lake.Snapshot, most int) (engine.Compaction, error) {
	verb := fmt.Sprintf("compact version %d of %s", base.Version, base.Location)
	d, err := e.open(ctx, base)
	if err != nil {
		return nil, lake.Wrap(verb, unavailable(err))
	}
	defer func() { _ = d.Close() }()
	groups := d.PlanCompaction(format.CompactOptions{})
	if len(groups) == 0 || most < 1 {
		return nil, nil
	}
	r, err := d.Rewrite(ctx, e.folder(base.Location), groups[:min(most, len(groups))])
	if err != nil {
		return nil, lake.Wrap(verb, unavailable(err))
	}
	return &compaction{base.Location, r}, nil
}
