// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package datasets keeps opened snapshots, so that queries over the same
// version share its metadata.
package datasets

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
)

// Opener opens exactly a pinned snapshot; an engine.Engine is one.
type Opener interface {
	Name() string
	Open(ctx context.Context, snap lake.Snapshot) (engine.Dataset, error)
}

// Options tunes a [Cache]. The zero value of a field means its default.
type Options struct {
	// Bytes bounds the cached datasets by their own estimate; default 256 MiB.
	// Datasets in use count, but are never closed under a query.
	Bytes uint64
	// Timeout bounds one open; default 1 min.
	Timeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Bytes == 0 {
		o.Bytes = 256 << 20
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	return o
}

// identity is what makes two snapshots the same bytes. The name is not part of
// it: a table dropped and created again under one name has another
// incarnation and so another entry.
type identity struct {
	location    lake.Location
	incarnation lake.Incarnation
	version     lake.Version
	manifest    lake.Digest
}

// Cache opens snapshots once and shares them. It is safe for concurrent use.
type Cache struct {
	opener Opener
	opts   Options
	life   context.Context
	stop   context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	entries map[identity]*entry
	idle    list.List // of *entry without users, the longest idle first
	bytes   uint64
}

type entry struct {
	id      identity
	ready   chan struct{}
	cancel  context.CancelFunc // ends the open when nobody waits for it
	dataset engine.Dataset
	err     error
	bytes   uint64
	users   int
	place   *list.Element // in idle, when there are no users
}

// New makes an empty cache. Close it when no handle is in use.
func New(opener Opener, opts Options) *Cache {
	c := &Cache{opener: opener, opts: opts.withDefaults(), entries: map[identity]*entry{}}
	c.life, c.stop = context.WithCancel(context.Background())
	return c
}

// Close ends the opens in flight and closes every dataset without users; the
// others close with their last handle.
func (c *Cache) Close() {
	c.mu.Lock()
	c.stop()
	c.mu.Unlock()
	c.wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trim(0)
}

// Bytes returns what the open datasets take by their own estimate.
func (c *Cache) Bytes() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// Handle is one use of an open dataset. The dataset stays open until Release.
type Handle struct {
	engine.Dataset
	release func()
}

// Release ends the use. Calling it again does nothing.
func (h *Handle) Release() { h.release() }

// Open returns the dataset of a snapshot. A snapshot of another engine is
// lake.Unsupported; other errors are the engine's and are not kept.
func (c *Cache) Open(ctx context.Context, snap lake.Snapshot) (*Handle, error) {
	if snap.Engine != c.opener.Name() {
		return nil, lake.Errorf(lake.Unsupported, "snapshot of engine %q: this replica reads %q", snap.Engine, c.opener.Name())
	}
	e, err := c.acquire(snap)
	if err != nil {
		return nil, err
	}
	select {
	case <-e.ready:
	case <-ctx.Done():
		c.release(e)
		return nil, ctx.Err()
	}
	if e.err != nil {
		c.release(e)
		return nil, e.err
	}
	return &Handle{Dataset: e.dataset, release: sync.OnceFunc(func() { c.release(e) })}, nil
}

// acquire returns the entry of a snapshot with one more user, opening it if
// nobody did.
func (c *Cache) acquire(snap lake.Snapshot) (*entry, error) {
	id := identity{snap.Location, snap.Incarnation, snap.Version, snap.Manifest.SHA256}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[id]
	if e == nil {
		if c.life.Err() != nil {
			return nil, lake.Errorf(lake.Unavailable, "the replica is shutting down")
		}
		e = &entry{id: id, ready: make(chan struct{})}
		c.entries[id] = e
		var ctx context.Context
		ctx, e.cancel = context.WithTimeout(c.life, c.opts.Timeout)
		c.wg.Go(func() { c.open(ctx, e, snap) })
	}
	if e.place != nil {
		c.idle.Remove(e.place)
		e.place = nil
	}
	e.users++
	return e, nil
}

func (c *Cache) open(ctx context.Context, e *entry, snap lake.Snapshot) {
	defer e.cancel()
	dataset, err := c.opener.Open(ctx, snap)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(e.ready)
	if err != nil {
		e.err = err
		c.forget(e)
		return
	}
	e.dataset, e.bytes = dataset, dataset.Bytes()
	c.bytes += e.bytes
	if e.users == 0 { // everyone left while it was opening
		c.rest(e)
	}
	c.trim(c.opts.Bytes)
}

func (c *Cache) release(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.users--; e.users > 0 {
		return
	}
	select {
	case <-e.ready:
		if e.err == nil {
			c.rest(e)
			c.trim(c.opts.Bytes)
		}
	default:
		c.forget(e) // still opening, and nobody wants it any more
		e.cancel()
	}
}

// rest puts an entry without users last in the idle list. One that is no
// longer in the cache closes. c.mu is held.
func (c *Cache) rest(e *entry) {
	e.place = c.idle.PushBack(e)
	if c.entries[e.id] != e || c.life.Err() != nil {
		c.discard(e)
	}
}

// trim closes idle datasets, the longest idle first, until at most limit bytes
// are open. c.mu is held.
func (c *Cache) trim(limit uint64) {
	for c.idle.Len() > 0 && (c.bytes > limit || limit == 0) {
		c.discard(c.idle.Front().Value.(*entry))
	}
}

func (c *Cache) discard(e *entry) {
	c.idle.Remove(e.place)
	e.place = nil
	c.forget(e)
	c.bytes -= e.bytes
	_ = e.dataset.Close() // read-only: nothing is lost
}

func (c *Cache) forget(e *entry) {
	if c.entries[e.id] == e {
		delete(c.entries, e.id)
	}
}
