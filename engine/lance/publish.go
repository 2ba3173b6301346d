// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/objstore"
)

// stage stores the manifest under a staged name and returns the snapshot that
// pins it. The id in the name is fresh, so two writers never stage the same.
func (e *Engine) stage(ctx context.Context, snap lake.Snapshot, m *format.Manifest, id lake.ID) (lake.Snapshot, error) {
	buf := e.buffers.take()
	raw, err := m.AppendTo(buf)
	if err != nil {
		return snap, err
	}
	snap, err = e.stageBytes(ctx, snap, m, raw, id)
	if !e.keepsRaw() {
		e.buffers.give(raw)
	}
	return snap, err
}

// keepsRaw reports whether the bytes of a staged manifest are needed after they
// were stored: where the store cannot give an object another name.
func (e *Engine) keepsRaw() bool {
	_, moves := e.store.(objstore.Mover)
	_, stages := e.store.(objstore.Stager)
	return !moves || !stages // a store that is no Stager may still be sending them
}

// buffers lend memory for the bytes of manifests, nearly all of which are the
// same from version to version. The zero value is ready.
type buffers struct{ pool sync.Pool }

// maxBuffer bounds what is kept between two versions of the largest tables.
const maxBuffer = 4 << 20

func (b *buffers) take() []byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return (*buf)[:0]
	}
	return nil
}

func (b *buffers) give(buf []byte) {
	if cap(buf) <= maxBuffer {
		b.pool.Put(&buf)
	}
}

// Publish implements [engine.Engine].
func (e *Engine) Publish(ctx context.Context, committed lake.Snapshot) error {
	if err := e.publish(ctx, committed); err != nil {
		return lake.Wrap(fmt.Sprintf("publish version %d of %s", committed.Version, committed.Location), err)
	}
	return nil
}

func (e *Engine) publish(ctx context.Context, snap lake.Snapshot) error {
	if err := checkSnapshot(snap); err != nil {
		return err
	}
	known := e.manifests.get(snap)
	if known.staged && e.renamed(ctx, snap) {
		e.manifests.published(snap)
		return nil
	}
	raw := known.raw
	if raw == nil {
		found, key, err := e.read(ctx, snap)
		if err != nil {
			return err
		}
		if key == finalKey(snap) {
			e.discardLeft(ctx, stagedKey(snap))
			return nil
		}
		raw = found
	}
	var err error
	if !e.renamed(ctx, snap) {
		if err = objstore.PutIdentical(ctx, e.store, finalKey(snap), raw); err == nil {
			e.discard(stagedKey(snap))
		}
	}
	if errors.Is(err, objstore.ErrExists) {
		return lake.Errorf(lake.Corrupt, "another writer has taken the name %s: %w", format.ManifestName(uint64(snap.Version)), err)
	}
	if err == nil {
		e.manifests.published(snap)
	}
	return err
}

// renamed publishes a staged manifest by its name alone, where the store can do
// that, and reports whether it did. Any failure may be a repeated attempt, or
// another process that was faster, so the caller then puts the bytes, which
// decides.
func (e *Engine) renamed(ctx context.Context, snap lake.Snapshot) bool {
	m, ok := e.store.(objstore.Mover)
	return ok && m.Move(ctx, stagedKey(snap), finalKey(snap)) == nil
}

// discardLeft discards what a crash may have left; mostly it is not there, and
// to see that costs less than a durable delete.
func (e *Engine) discardLeft(ctx context.Context, key string) {
	if obj, err := e.store.Open(ctx, key); err == nil {
		_ = obj.Close()
		e.discard(key)
	}
}

// discard deletes an object of no more use, beside what is acknowledged. Where
// that fails, or there is too much of it, the sweep of the location finds it.
func (e *Engine) discard(key string) {
	if !e.discards.TryAcquire(1) {
		return
	}
	e.discarding.Go(func() {
		defer e.discards.Release(1)
		ctx, cancel := context.WithTimeout(context.Background(), discardTimeout)
		defer cancel()
		_ = e.store.Delete(ctx, key)
	})
}

const (
	// maxDiscards keeps deletes from crowding out what clients wait for.
	maxDiscards    = 8
	discardTimeout = 10 * time.Second
)

func finalKey(s lake.Snapshot) string {
	return s.Location.Prefix() + format.ManifestName(uint64(s.Version))
}

func stagedKey(s lake.Snapshot) string { return s.Location.Prefix() + s.Manifest.Path }

// checkSnapshot refuses snapshots that this engine cannot have made.
func checkSnapshot(s lake.Snapshot) error {
	switch {
	case s.Engine != Name:
		return lake.Errorf(lake.Invalid, "the snapshot was written by engine %q, this is %q", s.Engine, Name)
	case s.Version == 0 || s.Location == "":
		return lake.Errorf(lake.Invalid, "the snapshot names no version of a location")
	case !strings.HasPrefix(s.Manifest.Path, format.ManifestName(uint64(s.Version))+"-"):
		return lake.Errorf(lake.Invalid, "the snapshot's manifest path %q does not belong to version %d", s.Manifest.Path, s.Version)
	}
	return nil
}

// manifest returns the parsed manifest of a snapshot.
func (e *Engine) manifest(ctx context.Context, snap lake.Snapshot) (*format.Manifest, error) {
	if err := checkSnapshot(snap); err != nil {
		return nil, err
	}
	if m := e.manifests.get(snap).m; m != nil {
		return m, nil
	}
	m, err := e.readManifest(ctx, snap)
	if err == nil {
		e.manifests.add(snap, m)
	}
	return m, err
}

func (e *Engine) readManifest(ctx context.Context, snap lake.Snapshot) (*format.Manifest, error) {
	raw, _, err := e.read(ctx, snap)
	if err != nil {
		return nil, err
	}
	m, err := format.ParseManifest(raw)
	if err != nil {
		return nil, err
	}
	if m.Version() != uint64(snap.Version) {
		return nil, lake.Errorf(lake.Corrupt, "the pinned manifest is of version %d, not %d", m.Version(), snap.Version)
	}
	return m, nil
}

// read returns the exact bytes a snapshot pins and the key they were found
// under: the final name or, where that is missing or holds something else, the
// staged one. Between the two looks a publication may have moved the bytes,
// hence the third.
func (e *Engine) read(ctx context.Context, snap lake.Snapshot) (raw []byte, key string, err error) {
	var mismatch error
	for _, key := range []string{finalKey(snap), stagedKey(snap), finalKey(snap)} {
		raw, err := objstore.ReadAll(ctx, e.store, key, snap.Manifest.Size)
		switch {
		case err == nil && matches(snap, raw):
			return raw, key, nil
		case err == nil || lake.Is(err, lake.Corrupt):
			mismatch = lake.Errorf(lake.Corrupt, "object %q is not the pinned manifest of %d bytes, sha256 %s", key, snap.Manifest.Size, snap.Manifest.SHA256)
		case !lake.Is(err, lake.NotFound):
			return nil, "", err
		}
	}
	if mismatch != nil {
		return nil, "", mismatch
	}
	return nil, "", engine.ErrUnavailable
}

func matches(snap lake.Snapshot, raw []byte) bool {
	return int64(len(raw)) == snap.Manifest.Size && lake.Digest(sha256.Sum256(raw)) == snap.Manifest.SHA256
}
