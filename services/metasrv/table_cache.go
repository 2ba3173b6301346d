// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"sync"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
)

// tableCacheBytes bounds the tables kept, by the size of their schemas.
const (
	tableCacheBytes = 64 << 20
	tableOverhead   = 1 << 10
)

// tableCache keeps tables as the leader's own commits left them, so that an
// append need not read what no other process may have changed. It is only a
// guess: every commit expects the exact record, and a refusal that rests on a
// kept table is decided again on a fresh one.
//
// What is kept belongs to one epoch of the leadership, since another leader
// may have been in between, and to one era: dropping or creating a table begins
// another, so that a table read before that cannot be kept after it. The zero
// cache is ready.
type tableCache struct {
	mu     sync.Mutex
	now    tableEra
	tables map[lake.TableName]catalog.Table
	bytes  int
	busy   map[lake.TableName]int // changes under way, of which nothing is kept
}

// tableEra is a time in which what is read may be kept.
type tableEra struct{ epoch, changes uint64 }

// begin returns the era of what is read from now on, under a fence.
func (c *tableCache) begin(fence catalog.Fence) tableEra {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now.epoch != fence.Epoch() {
		c.now.epoch = fence.Epoch()
		c.clear()
	}
	return c.now
}

// get returns the table as it was last seen in the era.
func (c *tableCache) get(name lake.TableName, era tableEra) (catalog.Table, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != era || c.busy[name] > 0 {
		return catalog.Table{}, false
	}
	t, ok := c.tables[name]
	return t, ok
}

// put keeps a table that was read or made in the era, unless a newer version
// of it is kept.
func (c *tableCache) put(t catalog.Table, era tableEra) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, there := c.tables[t.Name]
	switch {
	case c.now != era || c.busy[t.Name] > 0:
		c.drop(t.Name) // what is kept may be older than what is not
		return
	case there && old.Snapshot.Version >= t.Snapshot.Version:
		return
	case there:
		c.bytes -= tableSize(old)
	case c.tables == nil || c.bytes+tableSize(t) > tableCacheBytes:
		c.clear() // forgetting costs one read a table
	}
	c.tables[t.Name] = t
	c.bytes += tableSize(t)
}

// forget drops a table, and whatever is being read of it.
func (c *tableCache) forget(name lake.TableName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.changes++
	c.drop(name)
}

// leave keeps nothing of a table until done is called. It is for a change that
// others can see before whoever makes it knows that it was made.
func (c *tableCache) leave(name lake.TableName) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy == nil {
		c.busy = map[lake.TableName]int{}
	}
	c.busy[name]++
	return func() {
		c.mu.Lock()
		if c.busy[name]--; c.busy[name] == 0 {
			delete(c.busy, name)
		}
		c.mu.Unlock()
		c.forget(name)
	}
}

func (c *tableCache) drop(name lake.TableName) {
	if old, there := c.tables[name]; there {
		c.bytes -= tableSize(old)
		delete(c.tables, name)
	}
}

func (c *tableCache) clear() { c.tables, c.bytes = map[lake.TableName]catalog.Table{}, 0 }

func tableSize(t catalog.Table) int { return tableOverhead + 2*len(t.Schema) }
