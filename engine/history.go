// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"github.com/lakeplane/lake/lake"
)

// Historian is an optional ability of an [Engine]: to tell people what a table's
// versions are.
type Historian interface {
	// Describe tells what a committed version holds and what made it. It reads
	// its manifest and no data. It fails with [ErrUnavailable] when the manifest
	// is gone.
	Describe(ctx context.Context, snap lake.Snapshot) (Description, error)
	// Tags returns the names that were given to versions of a location, each list
	// in order.
	Tags(ctx context.Context, loc lake.Location) (map[lake.Version][]string, error)
}

// Description is what a version holds.
type Description struct {
	// Made is when its writer made it, by that writer's clock.
	Made time.Time
	// Change is what made it out of the version before, in a word: create, append,
	// compact, delete or what else the format knows.
	Change string
	// Rows are the rows that are not deleted.
	Rows uint64
	// Pieces are how many pieces of data it has, Bytes their objects' length.
	Pieces int
	Bytes  uint64
}

// Tagger is an optional ability of an [Engine]: to name versions so that they
// stay, for every writer of the format that cleans up.
type Tagger interface {
	// Tag names a committed version. lake.AlreadyExists when the name is taken by
	// another version; the same again succeeds. lake.Invalid for a name that the
	// format does not allow. The version may be on its way out: who tags it looks
	// at the table's floor afterwards.
	Tag(ctx context.Context, snap lake.Snapshot, tag string) error
	// Untag removes a name, and returns the version it named. lake.NotFound when
	// there is none.
	Untag(ctx context.Context, loc lake.Location, tag string) (lake.Version, error)
}
