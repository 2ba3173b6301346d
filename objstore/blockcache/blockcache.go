// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package blockcache keeps what was read of a far object store, so that a
// fleet that scans the same tables again asks it once. Objects never change,
// and a name is never used for another one, so nothing kept can be stale.
//
// Objects are kept in blocks. A read takes the blocks that are there from
// memory and asks for each run of missing ones with one request, all runs at
// once; readers that want the same block wait for one request. What was used
// last is kept, up to a bound in bytes.
package blockcache

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// Options bound a [Cache].
type Options struct {
	// Bytes is how much is kept at most. 0 means 256 MiB.
	Bytes int64
	// BlockBytes is the size of a block: what is fetched at least. 0 means
	// 256 KiB.
	BlockBytes int64
}

// Stats are counts since the cache was made, but for Bytes, which is now.
type Stats struct {
	// Hits and Misses count blocks that were there and that were fetched.
	Hits, Misses uint64
	// Fetches counts requests to the store, FetchedBytes what they brought.
	Fetches, FetchedBytes uint64
	// Bytes is what is kept now.
	Bytes int64
}

// Cache is an [objstore.Store] that keeps what is read. Writes, listings and
// deletes go to the store as they are. It is safe for concurrent use.
type Cache struct {
	objstore.Store
	opts Options

	mu     sync.Mutex
	blocks map[blockID]*list.Element // of *block
	recent *list.List                // most recently used first
	bytes  int64

	hits, misses, fetches, fetched atomic.Uint64
}

type blockID struct {
	key   string
	index int64
}

// block is a part of an object, there or on its way.
type block struct {
	id    blockID
	ready chan struct{} // closed when data or err is set
	data  []byte
	err   error
}

// New returns a cache before a store, which it does not close. It fails with
// lake.Invalid when the options hold a negative size or less room than a block
// takes.
func New(store objstore.Store, opts Options) (*Cache, error) {
	if opts.Bytes == 0 {
		opts.Bytes = 256 << 20
	}
	if opts.BlockBytes == 0 {
		opts.BlockBytes = 256 << 10
	}
	if opts.BlockBytes < 0 || opts.Bytes < opts.BlockBytes {
		return nil, lake.Errorf(lake.Invalid, "block cache: %d bytes in blocks of %d: want positive sizes and room for one block", opts.Bytes, opts.BlockBytes)
	}
	return &Cache{Store: store, opts: opts, blocks: map[blockID]*list.Element{}, recent: list.New()}, nil
}

// Stats returns the counts.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{Hits: c.hits.Load(), Misses: c.misses.Load(), Fetches: c.fetches.Load(), FetchedBytes: c.fetched.Load(), Bytes: c.bytes}
}

// Open implements [objstore.Store]. Whether the object is there is always asked
// of the store.
func (c *Cache) Open(ctx context.Context, key string) (objstore.Object, error) {
	obj, err := c.Store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	if _, mapped := obj.(objstore.Mapped); mapped {
		return obj, nil // it is in memory
	}
	return &object{Object: obj, cache: c, key: key}, nil
}

// Delete implements [objstore.Store].
func (c *Cache) Delete(ctx context.Context, key string) error {
	c.forget(key)
	return c.Store.Delete(ctx, key)
}

// DeleteAll implements [objstore.BatchDeleter].
func (c *Cache) DeleteAll(ctx context.Context, keys []string) (int, error) {
	c.forget(keys...)
	return objstore.DeleteAll(ctx, c.Store, keys)
}

// forget gives the room of deleted objects back.
func (c *Cache) forget(keys ...string) {
	gone := make(map[string]bool, len(keys))
	for _, k := range keys {
		gone[k] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.recent.Front(); e != nil; {
		next := e.Next()
		if gone[e.Value.(*block).id.key] {
			c.remove(e)
		}
		e = next
	}
}

// object is an open object whose reads go through the cache.
type object struct {
	objstore.Object
	cache *Cache
	key   string
}

// ReadAt implements io.ReaderAt.
func (o *object) ReadAt(p []byte, off int64) (int, error) {
	size := o.Size()
	if off < 0 {
		return 0, fmt.Errorf("%w: offset %d", objstore.ErrInvalid, off)
	}
	want := p[:min(int64(len(p)), max(size-off, 0))]
	if err := o.cache.fill(o, want, off); err != nil {
		return 0, err
	}
	if len(want) < len(p) {
		return len(want), io.EOF
	}
	return len(want), nil
}

// fill copies existing bytes of the object.
func (c *Cache) fill(o *object, p []byte, off int64) error {
	if len(p) == 0 {
		return nil
	}
	first, last := off/c.opts.BlockBytes, (off+int64(len(p))-1)/c.opts.BlockBytes
	blocks, missing := c.take(o.key, first, last)
	var group errgroup.Group
	for _, run := range missing {
		group.Go(func() error { return c.fetch(o, run) })
	}
	err := group.Wait()
	for _, b := range blocks {
		<-b.ready
		if b.err != nil {
			// Another reader's request failed, by that reader's fault perhaps.
			return errors.Join(err, c.around(o, p, off, b.err))
		}
		start := b.id.index * c.opts.BlockBytes
		if start >= off {
			copy(p[start-off:], b.data)
		} else {
			copy(p, b.data[off-start:])
		}
	}
	return err
}

// around reads past the cache, for a reader whose block somebody else failed to
// fetch. A failure of the reader's own is final.
func (c *Cache) around(o *object, p []byte, off int64, cause error) error {
	n, err := o.Object.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	return errors.Join(cause, err)
}

// take returns the blocks of a range, and the runs of those that the caller
// must fetch.
func (c *Cache) take(key string, first, last int64) (blocks []*block, missing [][]*block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var run []*block
	for i := first; i <= last; i++ {
		id := blockID{key, i}
		if e := c.blocks[id]; e != nil {
			c.recent.MoveToFront(e)
			blocks = append(blocks, e.Value.(*block))
			c.hits.Add(1)
			if run != nil {
				missing, run = append(missing, run), nil
			}
			continue
		}
		b := &block{id: id, ready: make(chan struct{})}
		c.blocks[id] = c.recent.PushFront(b)
		blocks, run = append(blocks, b), append(run, b)
		c.misses.Add(1)
	}
	if run != nil {
		missing = append(missing, run)
	}
	return blocks, missing
}

// fetch reads a run of blocks with one request and hands them to everybody who
// waits.
func (c *Cache) fetch(o *object, run []*block) error {
	off := run[0].id.index * c.opts.BlockBytes
	end := min(o.Size(), (run[len(run)-1].id.index+1)*c.opts.BlockBytes)
	data := make([]byte, end-off)
	n, err := o.Object.ReadAt(data, off)
	if n == len(data) {
		err = nil
	} else if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	c.fetches.Add(1)
	c.fetched.Add(uint64(n))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, b := range run {
		if b.err = err; err == nil {
			from := int64(i) * c.opts.BlockBytes
			b.data = keep(data[from:min(from+c.opts.BlockBytes, int64(len(data)))], len(run))
		}
		c.landed(b)
		close(b.ready)
	}
	c.evict()
	return err
}

// keep returns memory of a block's own, so that one kept block does not hold
// the whole run.
func keep(data []byte, blocks int) []byte {
	if blocks == 1 {
		return data
	}
	return append(make([]byte, 0, len(data)), data...)
}

// landed counts a block that came, and drops one that did not.
func (c *Cache) landed(b *block) {
	e := c.blocks[b.id]
	if e == nil || e.Value.(*block) != b {
		return // forgotten meanwhile
	}
	if b.err != nil {
		c.recent.Remove(e)
		delete(c.blocks, b.id)
		return
	}
	c.bytes += int64(len(b.data))
}

// evict drops what was not used for the longest time.
func (c *Cache) evict() {
	for e := c.recent.Back(); e != nil && c.bytes > c.opts.Bytes; {
		before := e.Prev()
		if e.Value.(*block).data != nil { // not one on its way
			c.remove(e)
		}
		e = before
	}
}

// remove drops a block. One on its way has no bytes yet and is not counted.
func (c *Cache) remove(e *list.Element) {
	b := c.recent.Remove(e).(*block)
	delete(c.blocks, b.id)
	c.bytes -= int64(len(b.data))
}
