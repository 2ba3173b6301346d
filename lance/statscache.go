// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"container/list"
	"context"
	"sync"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lake/predicate"
	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/stats"
)

const (
	statsDir = "_lake/stats/"
	statsExt = ".stats"
	// DefaultStatsBytes is the size from which on a data file is worth a sidecar:
	// to read a smaller one takes no longer than to read what it holds.
	DefaultStatsBytes = 1 << 20
	// defaultStatsMemory is about 100,000 files of 20 columns.
	defaultStatsMemory = 64 << 20
)

// StatsName returns the name of the sidecar of a data file, given the path that
// its manifest has. It belongs to the file: whoever deletes one deletes both.
func StatsName(path string) string { return statsDir + path + statsExt }

// DataName returns the name of a data file, given the path that its manifest
// has.
func DataName(path string) string { return dataDir + path }

// StatsCache keeps the statistics of data files across the datasets that share
// it. Files are immutable, so what it knows is never stale, including that a
// file has none. It is safe for concurrent use.
type StatsCache struct {
	smallest uint64
	most     int

	mu      sync.Mutex
	entries map[statsKey]*list.Element // of *statsEntry
	recent  *list.List                 // most recently used first
	bytes   int
}

// statsKey is a data file of a dataset's root.
type statsKey struct{ root, path string }

type statsEntry struct {
	key   statsKey
	stats fileStats
}

// fileStats are the statistics of a data file by field id, nil when it has
// none.
type fileStats map[int32]predicate.Stats

// NewStatsCache returns a cache. Only data files of at least smallest bytes are
// looked up (0 means [DefaultStatsBytes]); memory is about how many bytes are
// kept (0 means 64 MiB).
func NewStatsCache(smallest, memory int64) *StatsCache {
	if smallest == 0 {
		smallest = DefaultStatsBytes
	}
	if memory == 0 {
		memory = defaultStatsMemory
	}
	return &StatsCache{
		smallest: uint64(max(smallest, 0)), most: int(max(memory, 0)),
		entries: map[statsKey]*list.Element{}, recent: list.New(),
	}
}

// Forget drops what is known of a dataset's root, whose objects are about to be
// deleted.
func (c *StatsCache) Forget(root string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.recent.Front(); e != nil; {
		next := e.Next()
		if e.Value.(*statsEntry).key.root == root {
			c.drop(e)
		}
		e = next
	}
}

// load returns the statistics of a data file. Without a good sidecar there are
// none, which is no error: only the end of ctx is one.
func (c *StatsCache) load(ctx context.Context, v view, df *lancepb.DataFile, rows uint64) (fileStats, error) {
	if df.GetFileSizeBytes() < c.smallest {
		return nil, nil
	}
	key := statsKey{v.root, df.GetPath()}
	if s, ok := c.get(key); ok {
		return s, nil
	}
	raw, err := readAll(ctx, v.st, StatsName(df.GetPath()), stats.MaxBytes)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil && !lake.Is(err, lake.NotFound) && !lake.Is(err, lake.Corrupt) {
		return nil, nil // perhaps it can be read next time
	}
	var s fileStats
	if err == nil {
		s = decodeStats(raw, df, rows)
	}
	c.put(key, s)
	return s, nil
}

// decodeStats returns nil for a sidecar that is not of this file.
func decodeStats(raw []byte, df *lancepb.DataFile, rows uint64) fileStats {
	f, err := stats.Decode(raw)
	if err != nil || f.Rows != rows || f.Size != df.GetFileSizeBytes() {
		return nil
	}
	s := make(fileStats, len(f.Columns))
	for _, c := range f.Columns {
		s[c.Field] = c.Stats
	}
	return s
}

func (c *StatsCache) get(key statsKey) (fileStats, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil {
		return nil, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*statsEntry).stats, true
}

func (c *StatsCache) put(key statsKey, s fileStats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		return // another caller was faster, and read the same
	}
	entry := &statsEntry{key, s}
	c.entries[key] = c.recent.PushFront(entry)
	c.bytes += entry.bytes()
	for c.bytes > c.most && c.recent.Len() > 0 {
		c.drop(c.recent.Back())
	}
}

// drop removes an entry. It is called with the lock held.
func (c *StatsCache) drop(e *list.Element) {
	entry := c.recent.Remove(e).(*statsEntry)
	delete(c.entries, entry.key)
	c.bytes -= entry.bytes()
}

// bytes estimates the memory of an entry.
func (e *statsEntry) bytes() int {
	const perEntry, perColumn = 256, 160
	return perEntry + len(e.key.path) + perColumn*len(e.stats)
}
