// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package slotwire is what a query replica and its engine slots say to each
// other. A slot is a child process that runs one statement at a time; package
// slot is its side, package pool the replica's.
//
// # Transport
//
// A pair of connected sockets carries frames: a length, a kind, the number of
// the statement, a body. Columns do not travel through it. Two shared memory
// segments do that, one each way: the sender copies the buffers of a batch into
// a free region of its segment ([Arena]) and sends a frame that says where they
// lie and what they mean ([Region]); the receiver names the region in a later
// frame when it needs it no longer. The replica alone writes the rows that go
// to the slot, and the slot alone the results.
//
// # Back-pressure
//
// Both directions are bounded by what the receiver has not taken yet:
// [ResultWindow] result batches, and [ScanWindow] batches of a scan. A sender
// that is ahead waits.
//
// # Trust
//
// The slot trusts the replica. The replica does not trust the slot: it bounds
// every frame, checks every number, and copies a result out of the shared
// memory before it looks at it, because the slot could change it meanwhile. A
// slot that breaks the protocol is killed. What it can do at worst is to give
// wrong rows for the statement it was given, made of the tables it was given.
//
// Both ends are the same binary; [Version] guards against a mistake there.
package slotwire

import "time"

// Version is said in [Hello]; both ends must say the same.
const Version = 2

const (
	// ResultWindow is how many result batches a slot may have under way.
	ResultWindow = 2
	// MaxScans is how many scans a statement may have open at once.
	MaxScans = 4096
	// Alive is how often the replica asks a silent slot for a sign of life, as
	// a part of the time after which it is given up.
	Alive = 4
	// StartTimeout bounds the start of a slot.
	StartTimeout = 30 * time.Second
)

// Sizes of the shared segments. They are addresses, not memory: only pages
// that were touched exist.
const (
	ScanArenaBytes   = 1 << 30
	ResultArenaBytes = 64 << 20
)

// The descriptors a slot is born with, beside the standard ones.
const (
	SocketFD      = 3
	ScanArenaFD   = 4
	ResultArenaFD = 5
)

// ScanWindow is how many batches of a scan may wait in the slot for one of the
// threads that read it. Half of them is enough for all threads: each message
// wakes a process, so the slot asks for the other half at once.
func ScanWindow(readers int) int { return 2 * (readers + 1) }
