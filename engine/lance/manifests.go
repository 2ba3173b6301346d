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
	raw  []byte // until published, else nil
}

// bytes estimates the memory of a parsed manifest from its encoded size.
func (e *manifestEntry) bytes() int64 { return 1024 + 6*e.snap.Manifest.Size }

func newManifestCache(most int64) *manifestCache {
	return &manifestCache{most: most, entries: map[lake.Snapshot]*list.Element{}, recent: list.New()}
}

func (c *manifestCache) get(snap lake.Snapshot) (m *format.Manifest, raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[snap]
	if e == nil {
		return nil, nil
	}
	c.recent.MoveToFront(e)
	entry := e.Value.(*manifestEntry)
	return entry.m, entry.raw
}

// add keeps a manifest, and its bytes when they are still to be published.
func (c *manifestCache) add(snap lake.Snapshot, m *format.Manifest, raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[snap]; e != nil {
		c.remove(e)
	}
	entry := &manifestEntry{snap, m, raw}
	c.entries[snap] = c.recent.PushFront(entry)
	c.size += entry.bytes()
	for c.size > c.most && c.recent.Len() > 0 {
		c.remove(c.recent.Back())
	}
}

// published drops the bytes of a manifest.
func (c *manifestCache) published(snap lake.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[snap]; e != nil {
		e.Value.(*manifestEntry).raw = nil
	}
}

func (c *manifestCache) remove(e *list.Element) {
	entry := c.recent.Remove(e).(*manifestEntry)
	delete(c.entries, entry.snap)
	c.size -= entry.bytes()
}
