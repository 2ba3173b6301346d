// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"

	driver "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/internal/notify"
	"github.com/lakeplane/lake/metastore/internal/rules"
)

// Store is a [metastore.Store] in a local directory. It also is a
// [metastore.Watcher] and a [metastore.Snapshotter]. It is safe for concurrent
// use by one process.
type Store struct {
	db      *driver.DB
	dir     string
	opts    Options
	lock    *driver.Lock
	stripes stripes
	tokens  tokens
	keys    keyset
	hub     notify.Hub
	full    atomic.Bool           // the volume is below MinFreeBytes
	failure atomic.Pointer[error] // the first failed sync

	gate   sync.RWMutex // held shared by every call, exclusively by Close
	closed bool
	stop   context.CancelFunc
	done   sync.WaitGroup
}

var (
	_ metastore.Store       = (*Store)(nil)
	_ metastore.Watcher     = (*Store)(nil)
	_ metastore.Snapshotter = (*Store)(nil)
)

// Open opens the store in dir, which it makes if it is missing. It fails with
// a [*LockedError] while another process, or this one, holds dir, and with
// lake.Corrupt when dir holds something else or damaged files.
func Open(dir string, opts Options) (*Store, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	return open(dir, opts.withDefaults())
}

func open(dir string, opts Options) (*Store, error) {
	if err := opts.fs.MkdirAll(dir, 0o700); err != nil {
		return nil, lake.Errorf(lake.Unavailable, "make metastore directory %q: %w", dir, err)
	}
	lock, err := lockDirectory(dir, opts.fs)
	if err != nil {
		return nil, err
	}
	db, err := driver.Open(dir, opts.driver(lock))
	if err != nil {
		return nil, errors.Join(openError(dir, err), lock.Close())
	}
	s := &Store{db: db, dir: dir, opts: opts, lock: lock}
	s.stripes.seed = maphash.MakeSeed()
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, db.Close(), lock.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.keys.filter = newFilter(keyFilterBits)
	snapshot, tokens := db.NewSnapshot(), s.tokens.state.Load()
	s.done.Go(func() { s.fillFilters(ctx, snapshot, tokens) })
	s.done.Go(func() { s.tend(ctx) })
	return s, nil
}

func openError(dir string, err error) error {
	kind := lake.Unavailable
	if driver.IsCorruptionError(err) {
		kind = lake.Corrupt
	}
	return lake.Errorf(kind, "open metastore directory %q: %w", dir, err)
}

// prepare checks the layout's version and loads the state of the tokens.
func (s *Store) prepare() error {
	if err := s.checkLayout(); err != nil {
		return err
	}
	s.measure()
	return s.tokens.load(s.db, s.opts.TokenWindow)
}

// checkLayout stamps a new directory and refuses one that another layout
// wrote.
func (s *Store) checkLayout() error {
	found, err := s.read(layoutKey)
	switch {
	case err != nil:
		return err
	case found == nil:
		return driverError("stamp the layout", s.db.Set(layoutKey, []byte(layoutVersion), driver.Sync))
	case string(found) != layoutVersion:
		return lake.Errorf(lake.Unsupported, "metastore directory %q has layout %q: this release reads %q", s.dir, found, layoutVersion)
	}
	return nil
}

// enter admits a call until leave, or says why not.
func (s *Store) enter(ctx context.Context) error {
	if err := rules.Alive(ctx); err != nil {
		return err
	}
	s.gate.RLock()
	err := s.usable()
	if err != nil {
		s.gate.RUnlock()
	}
	return err
}

func (s *Store) leave() { s.gate.RUnlock() }

func (s *Store) usable() error {
	if s.closed {
		return metastore.ErrClosed
	}
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// fail stops all further use: what the memtable shows may not be on disk.
func (s *Store) fail(cause error) error {
	err := error(lake.Errorf(lake.Unavailable, "metastore: the log of %q failed, restart the process: %w", s.dir, cause))
	s.failure.CompareAndSwap(nil, &err)
	return err
}

// Watch implements [metastore.Watcher].
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	return s.hub.Watch(ctx, prefix)
}

// Close implements [metastore.Store]. It waits for the calls in flight and
// gives the directory free. A second Close does nothing. After a failed sync
// the directory stays locked until the process ends, since Pebble cannot close
// a broken log.
func (s *Store) Close() error {
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.stop()
	s.done.Wait()
	s.hub.Close()
	if err := s.failure.Load(); err != nil {
		return *err
	}
	removed := s.opts.fs.Remove(s.opts.fs.PathJoin(s.dir, infoFile))
	return errors.Join(driverError("close", s.db.Close()), s.lock.Close(), removed)
}

// measure notes whether the volume is nearly full.
func (s *Store) measure() {
	if s.opts.MinFreeBytes < 0 {
		return
	}
	usage, err := s.opts.fs.GetDiskUsage(s.dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return
	}
	if err != nil {
		s.opts.Logger.Warn("metastore: cannot measure free space", "dir", s.dir, "error", err)
		return
	}
	full := usage.AvailBytes < uint64(s.opts.MinFreeBytes)
	if s.full.Swap(full) != full {
		s.opts.Logger.Warn("metastore: free space", "dir", s.dir, "available", usage.AvailBytes, "refusing", full)
	}
}

// driverError classifies an error of Pebble.
func driverError(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case driver.IsCorruptionError(err):
		return lake.Errorf(lake.Corrupt, "metastore: %s: %w", op, err)
	}
	return fmt.Errorf("%w: %s: %w", metastore.ErrRetryable, op, err)
}
