// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/objstore"
)

var _ engine.Adopter = (*Engine)(nil)

// maxProposal bounds the manifests that are taken from others: a hundred
// thousand fragments of a dozen columns.
const maxProposal = 64 << 20

// VersionKey implements [engine.Adopter].
func (e *Engine) VersionKey(snap lake.Snapshot) string { return finalKey(snap) }

// Adopt implements [engine.Adopter]. The bytes that were checked are staged
// again under a name of our own: whoever wrote the proposal may still change it.
func (e *Engine) Adopt(ctx context.Context, base lake.Snapshot, p engine.Proposal) (engine.Staged, error) {
	staged, err := e.adopt(ctx, base, p)
	if err != nil {
		return engine.Staged{}, lake.Wrap(fmt.Sprintf("take version %d of %s", p.Version, base.Location), err)
	}
	return staged, nil
}

func (e *Engine) adopt(ctx context.Context, base lake.Snapshot, p engine.Proposal) (engine.Staged, error) {
	if p.Version != base.Version+1 {
		return engine.Staged{}, lake.Errorf(lake.Conflict, "the table is at version %d", base.Version)
	}
	next, raw, err := e.proposedManifest(ctx, base.Location, p)
	if err != nil {
		return engine.Staged{}, err
	}
	m, err := e.manifest(ctx, base)
	if err != nil {
		return engine.Staged{}, err
	}
	found, err := format.CheckSuccessor(ctx, e.folder(base.Location), m, next)
	if err != nil {
		return engine.Staged{}, err
	}
	if err := e.young(ctx, base.Location, found.Added, p); err != nil {
		return engine.Staged{}, err
	}
	snap := base
	snap.Version++
	if snap, err = e.stageBytes(ctx, snap, next, raw, lake.NewID()); err != nil {
		return engine.Staged{}, err
	}
	return engine.Staged{Snapshot: snap, Ops: records.Advance(base, snap, nil)}, nil
}

// AdoptFirst implements [engine.Adopter].
func (e *Engine) AdoptFirst(ctx context.Context, loc lake.Location, inc lake.Incarnation, p engine.Proposal) (engine.Staged, *arrow.Schema, error) {
	staged, schema, err := e.adoptFirst(ctx, loc, inc, p)
	if err != nil {
		return engine.Staged{}, nil, lake.Wrap("take the first version of "+string(loc), err)
	}
	return staged, schema, nil
}

func (e *Engine) adoptFirst(ctx context.Context, loc lake.Location, inc lake.Incarnation, p engine.Proposal) (engine.Staged, *arrow.Schema, error) {
	if p.Version != 1 {
		return engine.Staged{}, nil, lake.Errorf(lake.Conflict, "version %d: a table begins with version 1", p.Version)
	}
	m, raw, err := e.proposedManifest(ctx, loc, p)
	if err != nil {
		return engine.Staged{}, nil, err
	}
	found, err := format.CheckFirst(ctx, e.folder(loc), m)
	if err != nil {
		return engine.Staged{}, nil, err
	}
	schema, err := m.ArrowSchema()
	if err != nil {
		return engine.Staged{}, nil, err
	}
	if err := e.CheckSchema(schema); err != nil {
		return engine.Staged{}, nil, err
	}
	if err := e.young(ctx, loc, found.Added, p); err != nil {
		return engine.Staged{}, nil, err
	}
	first := lake.Snapshot{Engine: Name, Location: loc, Incarnation: inc, Version: 1}
	snap, err := e.stageBytes(ctx, first, m, raw, lake.NewID())
	if err != nil {
		return engine.Staged{}, nil, err
	}
	return engine.Staged{Snapshot: snap, Ops: records.Create(snap)}, schema, nil
}

// proposedManifest reads and parses the manifest of a proposal.
func (e *Engine) proposedManifest(ctx context.Context, loc lake.Location, p engine.Proposal) (*format.Manifest, []byte, error) {
	raw, err := e.proposed(ctx, loc, p)
	if err != nil {
		return nil, nil, err
	}
	m, err := format.ParseManifest(raw)
	if lake.Is(err, lake.Corrupt) {
		err = lake.Errorf(lake.Invalid, "%w", err)
	}
	return m, raw, err
}

// proposed reads the manifest of a proposal, which must lie where a writer of
// the format stages the manifest of that version.
func (e *Engine) proposed(ctx context.Context, loc lake.Location, p engine.Proposal) ([]byte, error) {
	want := loc.Prefix() + format.ManifestName(uint64(p.Version))
	rest, ok := strings.CutPrefix(p.Key, want)
	switch {
	case !ok || len(rest) < 2 || rest[0] != '-' && rest[0] != '.' || strings.Contains(rest, "/"):
		return nil, lake.Errorf(lake.Invalid, "the manifest of version %d is at %q: want %s-<id>", p.Version, p.Key, want)
	case p.Size < 0 || p.Size > maxProposal:
		return nil, lake.Errorf(lake.Invalid, "a manifest of %d bytes: at most %d are taken", p.Size, maxProposal)
	}
	raw, err := objstore.ReadAll(ctx, e.store, p.Key, maxProposal)
	switch {
	case lake.Is(err, lake.NotFound), lake.Is(err, lake.Corrupt):
		return nil, lake.Errorf(lake.Invalid, "the staged manifest: %w", err)
	case err != nil:
		return nil, err
	case p.Size > 0 && int64(len(raw)) != p.Size:
		return nil, lake.Errorf(lake.Invalid, "the staged manifest has %d bytes, %d were announced", len(raw), p.Size)
	}
	return raw, nil
}

// Holds implements [engine.Adopter].
func (e *Engine) Holds(ctx context.Context, snap lake.Snapshot, p engine.Proposal) (bool, error) {
	if p.Version != snap.Version {
		return false, nil
	}
	raw, err := e.proposed(ctx, snap.Location, p)
	if lake.Is(err, lake.Invalid) {
		return false, nil
	}
	return err == nil && matches(snap, raw), err
}

// young refuses objects that were written before a clean-up might have found
// them without a version, or that are not there any more.
func (e *Engine) young(ctx context.Context, loc lake.Location, names []string, p engine.Proposal) error {
	for _, name := range names {
		key := loc.Prefix() + name
		dir := key[:strings.LastIndexByte(key, '/')+1]
		infos, _, err := e.store.List(ctx, dir, key[:len(key)-1], 16)
		if err != nil {
			return err
		}
		at := -1
		for i, info := range infos {
			if info.Key == key {
				at = i
			}
		}
		switch {
		case at < 0:
			return lake.Errorf(lake.Invalid, "object %q is not there", name)
		case infos[at].Modified.Before(p.Since):
			return lake.Errorf(lake.Invalid, "object %q was written at %s, before %s: it may be cleaned up as an orphan; write it again",
				name, infos[at].Modified.UTC().Format(timeFormat), p.Since.UTC().Format(timeFormat))
		}
	}
	return nil
}

const timeFormat = "2006-01-02T15:04:05Z"

// stageBytes stores the bytes of a manifest under a staged name and returns the
// snapshot that pins it.
func (e *Engine) stageBytes(ctx context.Context, snap lake.Snapshot, m *format.Manifest, raw []byte, id lake.ID) (lake.Snapshot, error) {
	snap.Manifest = lake.Manifest{
		Path:   format.ManifestName(uint64(snap.Version)) + "-" + id.String(),
		Size:   int64(len(raw)),
		SHA256: sha256.Sum256(raw),
	}
	// A repeated attempt of the store's own may find the object it made.
	if err := objstore.StageIdentical(ctx, e.store, snap.Location.Prefix()+snap.Manifest.Path, raw); err != nil {
		return snap, lake.Wrap("stage manifest", err)
	}
	if !e.keepsRaw() {
		raw = nil
	}
	e.manifests.stage(snap, m, raw)
	return snap, nil
}
