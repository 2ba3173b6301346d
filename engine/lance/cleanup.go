// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
)

var _ engine.Cleaner = (*Engine)(nil)

// keepParallel bounds the manifests read at once: far stores answer slowly, and
// each takes the memory of one manifest.
const keepParallel = 8

// cleaning implements [engine.Cleaning].
type cleaning struct {
	engine  *Engine
	loc     lake.Location
	current lake.Version
	needed  *format.Needed
	written map[lake.Version]time.Time
}

// Clean implements [engine.Cleaner].
func (e *Engine) Clean(ctx context.Context, current lake.Snapshot) (engine.Cleaning, error) {
	c := &cleaning{
		engine: e, loc: current.Location, current: current.Version,
		needed: format.NewNeeded(), written: map[lake.Version]time.Time{},
	}
	if err := c.look(ctx); err != nil {
		return nil, lake.Wrap("look at "+string(current.Location), err)
	}
	return c, nil
}

func (c *cleaning) look(ctx context.Context) error {
	st := c.engine.folder(c.loc)
	if err := format.CheckCleanable(ctx, st); err != nil {
		return err
	}
	for info, err := range format.ManifestInfos(ctx, st) {
		if err != nil {
			return err
		}
		v, ok := format.ManifestVersion(info.Name)
		if !ok {
			continue
		}
		if at, known := c.written[lake.Version(v)]; !known || info.Modified.After(at) {
			c.written[lake.Version(v)] = info.Modified
		}
	}
	return nil
}

// Tagged implements [engine.Cleaning].
func (c *cleaning) Tagged(ctx context.Context) ([]lake.Version, error) {
	tags, err := format.Tags(ctx, c.engine.folder(c.loc))
	if err != nil {
		return nil, err
	}
	var out []lake.Version
	for _, t := range tags {
		out = append(out, lake.Version(t.Version))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Written implements [engine.Cleaning].
func (c *cleaning) Written() map[lake.Version]time.Time { return c.written }

// Keep implements [engine.Cleaning].
func (c *cleaning) Keep(ctx context.Context, snaps ...lake.Snapshot) error {
	var mu sync.Mutex // of needed
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(keepParallel)
	for _, snap := range snaps {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			m, err := c.manifestOf(ctx, snap)
			if err != nil {
				return lake.Wrap(keeping(snap.Version), err)
			}
			mu.Lock()
			defer mu.Unlock()
			c.needed.KeepName(snap.Manifest.Path)
			return lake.Wrap(keeping(snap.Version), c.needed.Keep(m))
		})
	}
	return group.Wait()
}

// manifestOf does not put what it reads into the cache, which is for appends.
func (c *cleaning) manifestOf(ctx context.Context, snap lake.Snapshot) (*format.Manifest, error) {
	if snap.Location != c.loc {
		return nil, lake.Errorf(lake.Invalid, "the snapshot lies in %s, not in %s", snap.Location, c.loc)
	}
	if err := checkSnapshot(snap); err != nil {
		return nil, err
	}
	if m := c.engine.manifests.get(snap).m; m != nil {
		return m, nil
	}
	return c.engine.readManifest(ctx, snap)
}

// KeepUnrecorded implements [engine.Cleaning].
func (c *cleaning) KeepUnrecorded(ctx context.Context, v lake.Version) (bool, error) {
	m, err := format.ReadManifest(ctx, c.engine.folder(c.loc), uint64(v))
	if lake.Is(err, lake.NotFound) {
		return false, nil
	}
	if err == nil {
		err = c.needed.Keep(m)
	}
	return err == nil, lake.Wrap(keeping(v), err)
}

// Unneeded implements [engine.Cleaning].
func (c *cleaning) Unneeded(ctx context.Context, l engine.CleanLimits) iter.Seq2[engine.Garbage, error] {
	return func(yield func(engine.Garbage, error) bool) {
		prefix := c.loc.Prefix()
		limits := format.Limits{
			Before: l.Before, Floor: uint64(min(l.Floor, c.current-1)),
			After: strings.TrimPrefix(l.After, prefix),
		}
		for info, err := range c.needed.Unneeded(ctx, c.engine.folder(c.loc), limits) {
			if err != nil {
				yield(engine.Garbage{}, err)
				return
			}
			v, _ := format.ManifestVersion(info.Name)
			if !yield(engine.Garbage{Key: prefix + info.Name, Size: info.Size, Version: lake.Version(v)}, nil) {
				return
			}
		}
	}
}

// Belongs reports whether an object is part of a table without being needed by
// one of its versions' rows: a tag, an index, the hint at the newest version. It
// is for who lists a location to find what is left behind.
func (e *Engine) Belongs(loc lake.Location, key string) bool {
	name, below := strings.CutPrefix(key, loc.Prefix())
	return below && format.Auxiliary(name)
}

func keeping(v lake.Version) string { return fmt.Sprintf("keep version %d", v) }
