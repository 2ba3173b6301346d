// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"iter"
	"time"

	"github.com/lakeplane/lake/lake"
)

// Compactor is an optional ability of an [Engine]: to join what many small
// appends left behind, without changing rows or their order.
type Compactor interface {
	// Compact rewrites data of the snapshot where that is worth while, into
	// objects that no version names yet. It returns nil when nothing is. It
	// takes as long as copying the data does; appends go on meanwhile.
	Compact(ctx context.Context, base lake.Snapshot) (Compaction, error)

	// StageCompaction stages the version after base with the rewritten data.
	// base is the snapshot that was compacted or a later one; lake.Conflict
	// means that what was rewritten has changed since. It is as quick as
	// staging an append, so it may be repeated until its commit succeeds.
	StageCompaction(ctx context.Context, base lake.Snapshot, c Compaction) (Staged, error)
}

// Compaction is rewritten data. Only the engine that made it knows what is
// inside.
type Compaction interface {
	// Parts are how many pieces of data there were and are.
	Parts() (before, after int)
}

// Sweeper is an optional ability of an [Engine]: to tell which objects of a
// location no version needs.
type Sweeper interface {
	// Sweep yields the object store keys of objects that none of the kept
	// snapshots needs and that were written before the given time. It deletes
	// nothing. The caller answers for keep being complete: the current snapshot
	// and every one that is retained or pinned; and for the age being beyond
	// what the longest write takes.
	Sweep(ctx context.Context, loc lake.Location, keep []lake.Snapshot, before time.Time) iter.Seq2[string, error]
}

// Inspector is an optional ability of an [Engine]: to tell what a version
// consists of, for whoever holds the objects against the records.
type Inspector interface {
	// Inspect reads the manifest of a committed version, which is verified
	// against its digest. It fails with [ErrUnavailable] when the manifest is
	// gone and with lake.Corrupt when other bytes are in its place.
	Inspect(ctx context.Context, snap lake.Snapshot) (Inspection, error)

	// VersionName reports whether an object of a location has the name that
	// makes it a version for any reader of the format, and of which.
	VersionName(loc lake.Location, key string) (lake.Version, bool)
}

// Inspection is what a version consists of.
type Inspection struct {
	// Published says that the version can be opened by its number.
	Published bool
	// Manifest is the key of the manifest; Objects are the others.
	Manifest string
	Objects  []ObjectSize
	// Extras are keys of objects that belong to the version where they are
	// there. Nothing is lost without them.
	Extras []string
}

// ObjectSize is an object and its length in bytes, -1 where it is not recorded.
type ObjectSize struct {
	Key  string
	Size int64
}
