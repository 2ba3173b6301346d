// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

// Adopter is an optional ability of an [Engine]: to take a version that another
// writer of the format has made.
type Adopter interface {
	// Adopt checks that the proposal is a version after base that may be trusted
	// with the table, and stages it. It changes nothing else. lake.Conflict: it
	// was made for another version than the one after base. lake.Unsupported and
	// lake.Invalid say what is not taken, and what is wrong.
	Adopt(ctx context.Context, base lake.Snapshot, p Proposal) (Staged, error)
	// AdoptFirst is Adopt for version 1 of an incarnation that is not registered:
	// it checks that the proposal is a table that Lake can go on with, and returns
	// the schema to register. lake.Conflict: it is of another version.
	AdoptFirst(ctx context.Context, loc lake.Location, inc lake.Incarnation, p Proposal) (Staged, *arrow.Schema, error)
	// Holds reports whether the proposal is the version of the snapshot, byte for
	// byte: what a writer proposed once may be proposed again by who missed the
	// answer.
	Holds(ctx context.Context, snap lake.Snapshot, p Proposal) (bool, error)
	// VersionKey is the key under which a published version's manifest is found
	// by other readers of the format.
	VersionKey(snap lake.Snapshot) string
}

// Proposal is a version that another writer has staged.
type Proposal struct {
	Version lake.Version
	// Key is where its manifest is, and Size its length in bytes.
	Key  string
	Size int64
	// Since is when the oldest of its new objects may have been written: earlier
	// ones may be cleaned up.
	Since time.Time
}
