// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
)

var _ engine.Tagger = (*Engine)(nil)

// Tag implements [engine.Tagger] with a tag of the format, which other clients
// respect when they clean up.
func (e *Engine) Tag(ctx context.Context, snap lake.Snapshot, tag string) error {
	st := e.folder(snap.Location)
	err := format.CreateTag(ctx, st, format.Tag{Name: tag, Version: uint64(snap.Version), ManifestSize: snap.Manifest.Size})
	if !lake.Is(err, lake.AlreadyExists) {
		return err
	}
	switch v, found, e := e.tagged(ctx, snap.Location, tag); {
	case e != nil:
		return e
	case found && v == snap.Version:
		return nil
	case found:
		return lake.Errorf(lake.AlreadyExists, "tag %q names version %d already: remove it first, or take another name", tag, v)
	}
	return err
}

// Untag implements [engine.Tagger].
func (e *Engine) Untag(ctx context.Context, loc lake.Location, tag string) (lake.Version, error) {
	if err := format.CheckTagName(tag); err != nil {
		return 0, err
	}
	v, found, err := e.tagged(ctx, loc, tag)
	if err == nil && !found {
		err = lake.Errorf(lake.NotFound, "no tag %q", tag)
	}
	if err != nil {
		return 0, err
	}
	return v, format.DeleteTag(ctx, e.folder(loc), tag)
}

// tagged returns the version that a tag names.
func (e *Engine) tagged(ctx context.Context, loc lake.Location, tag string) (lake.Version, bool, error) {
	tags, err := format.Tags(ctx, e.folder(loc))
	for _, t := range tags {
		if t.Name == tag {
			return lake.Version(t.Version), true, err
		}
	}
	return 0, false, err
}
