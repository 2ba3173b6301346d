// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package registration remembers, for a moment, which snapshot each table name
// stands for, so that readers of a hot table do not all ask the authority.
package registration

import (
	"context"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/grpc"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/internal/untrusted"
	"github.com/lakeplane/lake/lake"
)

// Source is the authority's resolution call; a lakepb.CatalogClient is one.
type Source interface {
	GetTable(context.Context, *lakepb.GetTableRequest, ...grpc.CallOption) (*lakepb.Table, error)
}

// Registration is what a name stood for when it was resolved.
type Registration struct {
	Name     lake.TableName
	Snapshot lake.Snapshot
	// Schema is the table's Arrow schema as registered.
	Schema *arrow.Schema
}

// Options tunes a [Cache]. The zero value of a field means its default.
type Options struct {
	// TTL is how long a resolution is used, and so how stale a read through a
	// replica may be when the write went through another one; default 1 s.
	TTL time.Duration
	// Entries bounds the cache; default 20,000.
	Entries int
	// Timeout bounds one call to the authority; default 10 s.
	Timeout time.Duration
	// MinVersionWait is how long a read waits for a version it was told of;
	// default 2 s.
	MinVersionWait time.Duration
}

func (o Options) withDefaults() Options {
	if o.TTL == 0 {
		o.TTL = time.Second
	}
	if o.Entries == 0 {
		o.Entries = 20_000
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.MinVersionWait == 0 {
		o.MinVersionWait = 2 * time.Second
	}
	return o
}

// Cache resolves names. It is safe for concurrent use.
//
// One call to the authority is in flight per name, shared by all who ask
// meanwhile. Failures are never kept, and none is shared with those who asked
// after the call had begun, so a table is found as soon as it exists.
// [Cache.Evict] forgets both what is kept and what is in flight: a fill that
// started before a write can neither be joined nor stored after it, so a client
// that wrote through this replica reads its write.
type Cache struct {
	source Source
	opts   Options
	life   context.Context
	stop   context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	kept  map[lake.TableName]kept
	fills map[lake.TableName]*fill
}

type kept struct {
	reg   Registration
	until time.Time
}

type fill struct {
	done chan struct{}
	reg  Registration
	err  error
}

// New makes an empty cache. Close it.
func New(source Source, opts Options) *Cache {
	c := &Cache{source: source, opts: opts.withDefaults(), kept: map[lake.TableName]kept{}, fills: map[lake.TableName]*fill{}}
	c.life, c.stop = context.WithCancel(context.Background())
	return c
}

// Close ends the calls in flight and waits for them.
func (c *Cache) Close() {
	c.mu.Lock()
	c.stop()
	c.mu.Unlock()
	c.wg.Wait()
}

// Evict forgets a name, after it was written, created or dropped.
func (c *Cache) Evict(name lake.TableName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kept, name)
	delete(c.fills, name)
}

// Get resolves a name. A table that does not exist is lake.NotFound. When min
// is not zero the result has at least that version; if the authority does not
// reach it within a moment the error is lake.Precondition.
func (c *Cache) Get(ctx context.Context, name lake.TableName, min lake.Version) (Registration, error) {
	reg, err := c.get(ctx, name, min)
	if err != nil || reg.Snapshot.Version >= min {
		return reg, err
	}
	deadline := time.NewTimer(c.opts.MinVersionWait)
	defer deadline.Stop()
	for pause := 10 * time.Millisecond; ; pause = 2 * pause {
		select {
		case <-ctx.Done():
			return Registration{}, ctx.Err()
		case <-deadline.C:
			return Registration{}, lake.Errorf(lake.Precondition, "table %s is at version %d: version %d was asked for", name, reg.Snapshot.Version, min)
		case <-time.After(pause):
		}
		if reg, err = c.get(ctx, name, min); err != nil || reg.Snapshot.Version >= min {
			return reg, err
		}
	}
}

// get resolves once: what is kept, if it is young and new enough, else what
// the authority says. A failure of somebody else's call may be about what was
// before this one, such as a table that did not exist yet, so it asks again.
func (c *Cache) get(ctx context.Context, name lake.TableName, min lake.Version) (Registration, error) {
	for late := false; ; late = true {
		f, begun, reg := c.join(name, min)
		if f == nil {
			return reg, nil
		}
		select {
		case <-f.done:
			if f.err == nil || begun || late {
				return f.reg, f.err
			}
		case <-ctx.Done():
			return Registration{}, ctx.Err()
		}
	}
}

// join returns what is kept, or the call in flight and whether it began with
// this one.
func (c *Cache) join(name lake.TableName, min lake.Version) (f *fill, begun bool, reg Registration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, ok := c.kept[name]; ok && k.reg.Snapshot.Version >= min && time.Now().Before(k.until) {
		return nil, false, k.reg
	}
	if f, ok := c.fills[name]; ok {
		return f, false, Registration{}
	}
	f = &fill{done: make(chan struct{})}
	if c.life.Err() != nil {
		f.err = lake.Errorf(lake.Unavailable, "the replica is shutting down")
		close(f.done)
		return f, true, Registration{}
	}
	c.fills[name] = f
	c.wg.Go(func() { c.run(name, f) })
	return f, true, Registration{}
}

func (c *Cache) run(name lake.TableName, f *fill) {
	ctx, cancel := context.WithTimeout(c.life, c.opts.Timeout)
	defer cancel()
	start := time.Now()
	f.reg, f.err = Fetch(ctx, c.source, name)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(f.done)
	if c.fills[name] != f {
		return // evicted meanwhile: the answer may be older than the write
	}
	delete(c.fills, name)
	if f.err == nil {
		c.keep(name, kept{f.reg, start.Add(c.opts.TTL)})
	} else {
		delete(c.kept, name)
	}
}

// keep stores an entry, and makes room by dropping expired entries first and
// then any. c.mu is held.
func (c *Cache) keep(name lake.TableName, k kept) {
	if _, ok := c.kept[name]; !ok && len(c.kept) >= c.opts.Entries {
		now := time.Now()
		for n, old := range c.kept {
			if now.After(old.until) {
				delete(c.kept, n)
			}
		}
		for n := range c.kept {
			if len(c.kept) < c.opts.Entries {
				break
			}
			delete(c.kept, n)
		}
	}
	c.kept[name] = k
}

// Fetch resolves a name at the authority, without any cache.
func Fetch(ctx context.Context, source Source, name lake.TableName) (Registration, error) {
	t, err := source.GetTable(ctx, &lakepb.GetTableRequest{Name: &lakepb.TableName{Namespace: name.Namespace, Name: name.Name}})
	if err != nil {
		return Registration{}, grpcerr.FromStatus(err)
	}
	return Of(name, t)
}

// Of returns what the authority says of a table. It is lake.Corrupt where that
// makes no sense.
func Of(name lake.TableName, t *lakepb.Table) (Registration, error) {
	schema, err := untrusted.DecodeSchema(t.GetSchema())
	if err != nil {
		return Registration{}, lake.Errorf(lake.Corrupt, "schema of %s: %w", name, err)
	}
	snap, err := decode(t.GetSnapshot())
	if err != nil {
		return Registration{}, lake.Errorf(lake.Corrupt, "snapshot of %s: %w", name, err)
	}
	return Registration{Name: name, Snapshot: snap, Schema: schema}, nil
}

func decode(s *lakepb.Snapshot) (lake.Snapshot, error) {
	inc, err := lake.ParseID(s.GetIncarnation())
	if err != nil {
		return lake.Snapshot{}, err
	}
	m := s.GetManifest()
	snap := lake.Snapshot{
		Engine: s.GetEngine(), Location: lake.Location(s.GetLocation()), Incarnation: inc,
		Version: lake.Version(s.GetVersion()), Manifest: lake.Manifest{Path: m.GetPath(), Size: m.GetSize()},
	}
	if len(m.GetSha256()) != len(snap.Manifest.SHA256) || snap.Version == 0 {
		return lake.Snapshot{}, lake.Errorf(lake.Corrupt, "version %d with a digest of %d bytes", snap.Version, len(m.GetSha256()))
	}
	snap.Manifest.SHA256 = lake.Digest(m.GetSha256())
	return snap, nil
}
