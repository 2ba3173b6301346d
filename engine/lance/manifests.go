// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"container/list"
	"sync"

	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
)

// manifestCache keeps the manifests that were staged or read last, so that an
// append does not read its base again. An entry is found only by the exact
// snapshot, digest included, so it cannot be stale.
type manifestCache struct {
	most int64

	mu      sync.Mutex
	entries map[lake.Snapshot]*list.Element // of *manifestEntry
	recent  *list.List                      // most recently used first
	size    int64
}

type manifestEntry struct {
	snap lake.Snapshot
	m    *format.Manifest
	// staged says that it is still to be published. raw are its bytes then, where
	// the store cannot publish it without.
	staged bool
	raw    []byte
}

// bytes estimates the memory of a parsed manifest from its encoded size.
func (e *manifestEntry) bytes() int64 { return 1024 + 6*e.snap.Manifest.Size }

func newManifestCache(most int64) *manifestCache {
	return &manifestCache{most: most, entries: map[lake.Snapshot]*list.Element{}, recent: list.New()}
}

// get returns a copy of the entry of a snapshot, or the zero entry.
func (c *manifestCache) get(snap lake.Snapshot) manifestEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[snap]
	if e == nil {
		return manifestEntry{}
	}
	c.recent.MoveToFront(e)
	return *e.Value.(*manifestEntry)
}

// add keeps a manifest that was read.
func (c *manifestCache) add(snap lake.Snapshot, m *format.Manifest) {
	c.put(&manifestEntry{snap: snap, m: m})
}

// stage keeps a manifest that is to be published, with its bytes or nil.
func (c *manifestCache) stage(snap lake.Snapshot, m *format.Manifest, raw []byte) {
	c.put(&manifestEntry{snap: snap, m: m, staged: true, raw: raw})
}

func (c *manifestCache) put(entry *manifestEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[entry.snap]; e != nil {
		c.remove(e)
	}
	c.entries[entry.snap] = c.recent.PushFront(entry)
	c.size += entry.bytes()
	for c.size > c.most && c.recent.Len() > 0 {
		c.remove(c.recent.Back())
	}
}

// published notes that a manifest needs nothing more.
func (c *manifestCache) published(snap lake.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[snap]; e != nil {
		entry := e.Value.(*manifestEntry)
		entry.staged, entry.raw = false, nil
	}
}

func (c *manifestCache) remove(e *list.Element) {
	entry := c.recent.Remove(e).(*manifestEntry)
	delete(c.entries, entry.snap)
	c.size -= entry.bytes()
}
