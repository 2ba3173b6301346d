// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package pool runs SQL in engine slots that are child processes, so that a
// statement that crashes, hangs or bloats the engine costs its own slot and
// nothing else. It is the replica's side of package slotwire.
//
// The replica keeps what is worth stealing: the credentials, the caches, the
// connections. A slot gets the text of a statement, the schemas of its
// authorized tables, and those of their rows that it asks for.
//
// # When a slot goes
//
// A slot is replaced when it ends by itself, when its engine reports an
// internal error, when it does not end a statement that was stopped
// ([Options.Grace]), when it gives no sign of life ([Options.Silence]), when it
// takes more memory than it may ([Options.Resident]), when it breaks the
// protocol, and after [Options.Statements] statements. Only the statement
// that it ran fails; others do not notice.
package pool
