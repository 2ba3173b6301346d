// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"errors"
	"log/slog"
	"time"

	driver "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Options tune a store. The zero value is good for production.
type Options struct {
	// CacheBytes bounds the block cache. Default: 64 MiB.
	CacheBytes int64
	// MemTableBytes is the size at which the memtable is flushed, and so about
	// the size of the log that a restart replays. Default: 32 MiB.
	MemTableBytes int64
	// TokenWindow is how long a transaction's token is remembered, at least;
	// it may be twice as long. Default: 15 minutes, the contract's 10 and a
	// margin for a wall clock that jumps while the process is down.
	TokenWindow time.Duration
	// MinFreeBytes is the free space of the volume below which commits are
	// refused with lake.Exhausted; reads go on. It leaves room for the flush
	// of what was accepted. Default: 64 MiB; negative turns the check off.
	MinFreeBytes int64
	// Logger receives what Pebble reports in the background. Default: errors
	// go to [slog.Default].
	Logger *slog.Logger

	fs vfs.FS // replaced by tests that crash the machine
}

func (o Options) withDefaults() Options {
	setDefault(&o.CacheBytes, 64<<20)
	setDefault(&o.MemTableBytes, 32<<20)
	setDefault(&o.TokenWindow, 15*time.Minute)
	setDefault(&o.MinFreeBytes, 64<<20)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.fs == nil {
		o.fs = vfs.Default
	}
	return o
}

func setDefault[T int64 | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// Validate reports every field that is out of range, as lake.Invalid.
func (o Options) Validate() error {
	o = o.withDefaults()
	var all []error
	if o.CacheBytes < 1<<20 {
		all = append(all, lake.Errorf(lake.Invalid, "cache of %d bytes: want at least 1 MiB", o.CacheBytes))
	}
	if o.MemTableBytes < 8<<20 || o.MemTableBytes > 1<<30 {
		// The largest transaction must fit into a memtable.
		all = append(all, lake.Errorf(lake.Invalid, "memtable of %d bytes: want 8 MiB..1 GiB", o.MemTableBytes))
	}
	if o.TokenWindow < metastore.TokenWindow {
		all = append(all, lake.Errorf(lake.Invalid, "token window %v: want at least %v", o.TokenWindow, metastore.TokenWindow))
	}
	return errors.Join(all...)
}

// formatVersion pins Pebble's file format, so that an upgrade of the library
// does not silently make a directory unreadable to the release before.
const formatVersion = driver.FormatTableFormatV6

func (o Options) driver(lock *driver.Lock) *driver.Options {
	d := &driver.Options{
		CacheSize:             o.CacheBytes,
		FS:                    o.fs,
		FormatMajorVersion:    formatVersion,
		FlushDelayDeleteRange: 10 * time.Second, // the space of swept tokens
		Lock:                  lock,
		Logger:                logger{o.Logger},
		MaxOpenFiles:          256,
		MemTableSize:          uint64(o.MemTableBytes),
	}
	for i := range d.Levels {
		// A create looks up a key that is absent; the filter saves it the disk.
		d.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return d
}
