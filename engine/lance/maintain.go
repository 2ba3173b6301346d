// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
)

var (
	_ engine.Compactor = (*Engine)(nil)
	_ engine.Sweeper   = (*Engine)(nil)
)

// compaction is rewritten data of one location.
type compaction struct {
	loc     lake.Location
	rewrite *format.Rewrite
}

func (c *compaction) Parts() (before, after int) { return c.rewrite.Fragments() }

// Compact implements [engine.Compactor]: neighbouring fragments are joined up
// to about a million rows.
func (e *Engine) Compact(ctx context.Context, base lake.Snapshot) (engine.Compaction, error) {
	c, err := e.compact(ctx, base)
	if err != nil {
		return nil, lake.Wrap(fmt.Sprintf("compact version %d of %s", base.Version, base.Location), unavailable(err))
	}
	if c == nil {
		return nil, nil
	}
	return c, nil
}

func (e *Engine) compact(ctx context.Context, base lake.Snapshot) (*compaction, error) {
	d, err := e.open(ctx, base)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	groups := d.PlanCompaction(format.CompactOptions{})
	if len(groups) == 0 {
		return nil, nil
	}
	r, err := d.Rewrite(ctx, e.folder(base.Location), groups)
	if err != nil {
		return nil, err
	}
	return &compaction{base.Location, r}, nil
}

// StageCompaction implements [engine.Compactor].
func (e *Engine) StageCompaction(ctx context.Context, base lake.Snapshot, c engine.Compaction) (engine.Staged, error) {
	staged, err := e.stageCompaction(ctx, base, c)
	if err != nil {
		return engine.Staged{}, lake.Wrap(fmt.Sprintf("stage version %d of %s", base.Version+1, base.Location), err)
	}
	return staged, nil
}

func (e *Engine) stageCompaction(ctx context.Context, base lake.Snapshot, c engine.Compaction) (engine.Staged, error) {
	made, ok := c.(*compaction)
	if !ok || made.loc != base.Location {
		return engine.Staged{}, lake.Errorf(lake.Invalid, "the data were not compacted for %s by this engine", base.Location)
	}
	m, err := e.manifest(ctx, base)
	if err != nil {
		return engine.Staged{}, err
	}
	id := lake.NewID()
	next, err := m.ApplyRewrite(made.rewrite, format.Commit{UUID: id.String(), Time: e.now()})
	if err != nil {
		return engine.Staged{}, err
	}
	snap := base
	snap.Version++
	if snap, err = e.stage(ctx, snap, next, id); err != nil {
		return engine.Staged{}, err
	}
	return engine.Staged{Snapshot: snap, Ops: records.Advance(base, snap, nil)}, nil
}

// Sweep implements [engine.Sweeper].
func (e *Engine) Sweep(ctx context.Context, loc lake.Location, keep []lake.Snapshot, before time.Time) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		o, err := e.sweepOptions(ctx, loc, keep)
		if err != nil {
			yield("", lake.Wrap("sweep "+string(loc), err))
			return
		}
		o.Before = before
		for info, err := range format.Sweep(ctx, e.folder(loc), o) {
			if err != nil {
				yield("", lake.Wrap("sweep "+string(loc), err))
				return
			}
			if !yield(loc.Prefix()+info.Name, nil) {
				return
			}
		}
	}
}

// sweepOptions reads the manifests of the kept snapshots. One that cannot be
// read stops the sweep: what it needs is not known.
func (e *Engine) sweepOptions(ctx context.Context, loc lake.Location, keep []lake.Snapshot) (format.SweepOptions, error) {
	var o format.SweepOptions
	for _, snap := range keep {
		if snap.Location != loc {
			return o, lake.Errorf(lake.Invalid, "a kept snapshot lies in %s", snap.Location)
		}
		m, err := e.manifest(ctx, snap)
		if err != nil {
			return o, err
		}
		o.Keep = append(o.Keep, m)
		o.KeepNames = append(o.KeepNames, snap.Manifest.Path)
	}
	return o, nil
}
