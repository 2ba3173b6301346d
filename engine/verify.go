// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/lakeplane/lake/lake"
)

// Verifier is an optional ability of an [Engine]: to look into the objects of a
// version.
type Verifier interface {
	// Verify opens the objects of a committed version and tells which do not hold
	// what it says. Objects that are missing are not its business; its manifest
	// must be there. It fails when something could not be looked at.
	Verify(ctx context.Context, snap lake.Snapshot, opts VerifyOptions) error
}

// VerifyOptions say how deep a verification goes.
type VerifyOptions struct {
	// Data reads every value of every row; without it, only what a scan reads
	// before that.
	Data bool
	// Skip is asked for each object with rows, by its key; true leaves it out.
	// Versions have most objects in common. It is required.
	Skip func(key string) bool
	// Found is told of each object that does not hold what it should. Its error
	// ends the verification. It is required.
	Found func(Fault) error
}

// Fault is an object that does not hold what a version says.
type Fault struct {
	Key string
	// Harmless says that nothing is lost by it.
	Harmless bool
	Err      error
}
