// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package slot is the inside of an engine slot: a child process of a query
// replica that runs one SQL statement at a time and knows nothing but that
// statement and its rows. Package slotwire describes how the two speak; package
// pool is the other side.
//
// A slot has no environment, no files but its spill directory, no network and
// no way to start a program: see [confine]. It ends when its parent does,
// because the socket between them closes.
package slot

import (
	"context"
	"os"

	"github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/engine/slotwire"
)

// Argument is the only command line argument of a slot. It is no command for
// people: without its descriptors it fails.
const Argument = "engine-slot"

// Engine is what a slot runs statements with.
type Engine interface {
	engine.Engine
	// SerializeSQL parses a text for the gate.
	SerializeSQL(ctx context.Context, sql string) ([]byte, error)
}

// Open makes the engine of a slot, for one statement at a time.
type Open func(slotwire.Setup) (Engine, error)

// RunIfAsked is called first of all by the main function of every binary that
// may be the parent of slots. In a slot it does not return; elsewhere it does
// nothing. It is not for init functions: until those have ended, Go holds back
// calls from threads that are not its own, such as those of the engine.
func RunIfAsked(open Open) {
	if Asked() {
		os.Exit(run(open))
	}
}

// Asked reports whether this process is to be a slot.
func Asked() bool { return len(os.Args) == 2 && os.Args[1] == Argument }
