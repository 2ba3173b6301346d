// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package pebble is the metastore backend of a single node: a Pebble database
// in a local directory that one process holds at a time.
//
// # Commits
//
// Every commit is synced to disk before it is acknowledged. An acknowledged
// write that only reached the operating system's buffers is lost with the
// machine, and one that only reached the process is lost by a plain kill.
//
// The keys of a transaction map to stripes, each with a lock. A commit holds
// the locks of its stripes, taken in ascending order, exclusively where it
// writes and shared where it only guards, while it checks its expectations and
// puts its batch into the log's queue and the memtable. It lets go of them
// before it waits for the sync, so that commits to one hot key share a sync just
// as commits to different keys do.
//
// What a commit looks up is mostly not there: its token, and the keys it
// creates. Filters answer that, which are filled in the background when the
// store opens, and each stripe knows the record it guarded or updated last. They
// take 8 MiB at most and are never the last word: what they do not rule out is read.
//
// # Reads
//
// A write is visible in the memtable before it is durable, and a crash in that
// moment takes it back. Whatever a caller is told must survive a crash, so
// every answer waits until what it observed is durable: each stripe remembers
// the last commit that wrote through it and has not been synced, and a read
// waits for it. The log is written in order, so that commit's sync covers all
// earlier ones of the stripe. The same holds for conflicts, which are reads as
// well. The price is that reading a key that is being written takes up to two
// syncs; the alternative of keeping the last durable value beside each pending
// one would be faster for that case and was not worth its weight.
//
// # Failures
//
// When a sync fails, the outcome of the commits in flight is unknown and
// nothing the memtable holds can be trusted, so the store refuses all further
// calls until the process starts again. A write to a log that is already known
// to be broken ends the process, as it does in Pebble itself. Running out of
// disk space would end there, so commits are refused early, at
// [Options.MinFreeBytes].
package pebble
