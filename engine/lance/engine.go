// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/semaphore"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/lance/file"
	"github.com/lakeplane/lake/lance/schema"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/objstore"
)

// Name is the engine's name in snapshots.
const Name = "lance"

// Options are the knobs of an engine. Only Store is required.
type Options struct {
	// Store holds the objects of all tables.
	Store objstore.Store
	// Allocator makes the memory of batches. Default: a [file.Pool], which keeps
	// what was released for the batches to come.
	Allocator memory.Allocator
	// OpenFiles bounds the data files kept open between scans. Default:
	// [format.DefaultOpenFiles].
	OpenFiles int
	// ManifestBytes bounds the manifests kept for the next append, in bytes of
	// memory. Default: 64 MiB.
	ManifestBytes int64
	// HoldBytes is how large an append may be, in bytes of Arrow buffers, for
	// its rows to be held in memory until its version is staged. Default:
	// 128 KiB; a negative value holds none.
	HoldBytes int64
	// StatsBytes is the size of a data file, in bytes, from which on statistics
	// for [engine.Pruner] are stored beside it. The rows of held appends get none
	// whatever their size, until they are compacted. Default: 1 MiB; a negative
	// value stores and reads none.
	StatsBytes int64
	// Now is the clock of manifests. Default: time.Now.
	Now func() time.Time
}

// Engine implements [engine.Engine]. It is safe for concurrent use.
type Engine struct {
	store     objstore.Store
	files     *format.FileCache
	stats     *format.StatsCache // nil: none are read
	write     format.WriteOptions
	manifests *manifestCache
	buffers   buffers
	shapes    shapes
	hold      uint64
	now       func() time.Time

	discards   *semaphore.Weighted
	discarding sync.WaitGroup
}

var (
	_ engine.Engine = (*Engine)(nil)

	// records names the metastore families of the engine; other tools that
	// work on Lake's keyspace know them by these names.
	records = engine.Records{Latest: "lance-manifest-latest", History: "lance-manifest"}
)

// New returns an engine. It fails with lake.Invalid when the options lack a
// store or hold a negative bound.
func New(o Options) (*Engine, error) {
	if o.Store == nil || o.OpenFiles < 0 || o.ManifestBytes < 0 {
		return nil, lake.Errorf(lake.Invalid, "lance engine: a store is required, and open files (%d) and manifest bytes (%d) may not be negative", o.OpenFiles, o.ManifestBytes)
	}
	if o.ManifestBytes == 0 {
		o.ManifestBytes = 64 << 20
	}
	if o.HoldBytes == 0 {
		o.HoldBytes = 128 << 10
	}
	if o.StatsBytes == 0 {
		o.StatsBytes = format.DefaultStatsBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Allocator == nil {
		o.Allocator = file.NewPool()
	}
	e := &Engine{
		store:     o.Store,
		files:     format.NewFileCache(o.OpenFiles, o.Allocator),
		manifests: newManifestCache(o.ManifestBytes),
		hold:      uint64(max(o.HoldBytes, 0)),
		now:       o.Now,
		write:     format.WriteOptions{StatsBytes: max(o.StatsBytes, 0)},
		discards:  semaphore.NewWeighted(maxDiscards),
	}
	if o.StatsBytes > 0 {
		e.stats = format.NewStatsCache(o.StatsBytes, 0)
	}
	return e, nil
}

// Close drops the files kept open, and waits for deletes of superseded
// manifests. Datasets, scans and batches still in use keep what they need.
func (e *Engine) Close() error {
	e.discarding.Wait()
	return e.files.Close()
}

// Name returns "lance".
func (e *Engine) Name() string { return Name }

// CheckSchema implements [engine.Engine].
func (e *Engine) CheckSchema(s *arrow.Schema) error {
	if s == nil || s.NumFields() == 0 {
		return lake.Errorf(lake.Invalid, "the schema has no fields")
	}
	if _, err := optionsOf(s); err != nil {
		return err
	}
	return schema.Check(s)
}

// Retire implements [engine.Engine].
func (e *Engine) Retire(snap lake.Snapshot) []metastore.Op { return records.Retire(snap) }

// Restore implements [engine.Engine].
func (e *Engine) Restore(snap lake.Snapshot) []metastore.Op { return records.Restore(snap) }

// Forget implements [engine.Engine].
func (e *Engine) Forget(snap lake.Snapshot) []metastore.Op {
	e.files.Forget(string(snap.Location))
	if e.stats != nil {
		e.stats.Forget(string(snap.Location))
	}
	return records.Forget(snap)
}

// HistoryPrefix implements [engine.Engine].
func (e *Engine) HistoryPrefix(loc lake.Location) string { return records.HistoryPrefix(loc) }

// Create implements [engine.Engine].
func (e *Engine) Create(ctx context.Context, loc lake.Location, inc lake.Incarnation, s *arrow.Schema) (engine.Staged, error) {
	if err := e.CheckSchema(s); err != nil {
		return engine.Staged{}, err
	}
	id := lake.NewID()
	m, err := format.NewManifest(s, format.Commit{
		UUID: id.String(), Time: e.now(), Properties: map[string]string{propertyIncarnation: inc.String()},
	})
	if err != nil {
		return engine.Staged{}, lake.Wrap("create "+string(loc), err)
	}
	first := lake.Snapshot{Engine: Name, Location: loc, Incarnation: inc, Version: 1}
	snap, err := e.stage(ctx, first, m, id)
	if err != nil {
		return engine.Staged{}, lake.Wrap("create "+string(loc), err)
	}
	return engine.Staged{Snapshot: snap, Ops: records.Create(snap)}, nil
}
