// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package sdk is the Go client of Lake: tables, appends, SQL and procedures
// over one connection to a query replica.
//
// Errors carry a lake.Kind, so callers decide by lake.KindOf(err) or
// lake.Is(err, lake.NotFound). Rows go in and out as Arrow record batches.
//
// # Appends happen once
//
// [Client.Append] makes an operation id and a digest of the rows, once, and
// repeats both in every attempt, so that an attempt whose answer was lost can
// be repeated safely: the authority applies an operation at most once. When the
// outcome stays unknown for longer than the retry window, Append returns a
// [*PendingAppend], which is the same operation to be resumed later.
//
// Three things make that hold further. [WithCheckpoints] keeps an append on
// disk until its outcome is known, so it outlives the process that sent it.
// [PendingAppend.WithOperation] takes an id of the caller's, so it is the same
// operation whoever sends it. And the table is remembered (see
// [Client.Schema]), so rows do not end up in another table that was given the
// same name.
//
// # Small appends
//
// Appends of up to 256 KiB that one client makes to one table within a second of
// each other go through one open call, which ends some seconds after the last.
// That saves each a call of its own and changes nothing else: each is applied
// or refused alone, and goes by a call where the server or a proxy does not take
// such a call. Larger ones, and those of several batches, have a call each.
//
// # Several replicas
//
// [Connect] takes a list of addresses and uses the first that serves.
package sdk
