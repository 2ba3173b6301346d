// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"iter"
	"time"

	"github.com/lakeplane/lake/lake"
)

// Cleaner is an optional ability of an [Engine]: to tell which objects of a
// location the versions that stay do not need.
type Cleaner interface {
	// Clean looks at a location whose current version is given. It fails with
	// lake.Unsupported when something there needs objects that the engine cannot
	// name, and then nothing may be deleted. It deletes nothing itself.
	Clean(ctx context.Context, current lake.Snapshot) (Cleaning, error)
}

// Cleaning is one look at a location. It is not safe for concurrent use.
type Cleaning interface {
	// Tagged reads which versions a tag keeps now, in ascending order.
	Tagged(ctx context.Context) ([]lake.Version, error)
	// Written are the versions whose manifests are there, under any name, with
	// the time the store gives the youngest of each.
	Written() map[lake.Version]time.Time
	// Keep notes the versions that stay. It reads their manifests. It fails with
	// [ErrUnavailable] when one is gone, and with lake.Unsupported as Clean does.
	Keep(ctx context.Context, snaps ...lake.Snapshot) error
	// KeepUnrecorded notes a version that is pinned and has no record any more,
	// if it is there; found says whether.
	KeepUnrecorded(ctx context.Context, v lake.Version) (found bool, err error)
	// Unneeded yields the objects that nothing kept needs, those first whose
	// absence takes a version away as a whole. The current version must have
	// been kept. It deletes nothing.
	Unneeded(ctx context.Context, l CleanLimits) iter.Seq2[Garbage, error]
}

// CleanLimits say which objects that no kept version needs may go.
type CleanLimits struct {
	// Before is the age limit of what may belong to a version being made.
	Before time.Time
	// Floor: manifests of this version and of older ones go whatever their age;
	// versions up to it are not being made any more.
	Floor lake.Version
	// After is the key that an earlier pass saw last, or empty.
	After string
}

// Garbage is an object that may be deleted.
type Garbage struct {
	Key  string
	Size int64
	// Version is set on what makes a version openable: its manifest.
	Version lake.Version
}
