// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package remote is the metastore backend of a process that is far from the
// authority: a gRPC client of the Metastore service (api/lake/v1/metastore.proto),
// which metasrv serves.
//
// # One call, one request
//
// A call of the contract is one request, unless its answer was lost. Then it
// is sent again, for [Options.Patience] at most: a read because it changes
// nothing, a commit because it carries a token, which is made here when the
// caller gave none, and by which the server's store applies it once. Nothing
// below may repeat a commit of its own accord with another token, and nothing
// does: gRPC's own retries send the same bytes.
//
// # Outcomes
//
// A commit fails in one of three ways, and the difference is what was proved.
// It certainly did not apply when the server said so, or when no attempt got
// as far as being turned into bytes. Everything else is unknown: a connection
// that broke, a deadline that passed, an answer of somebody in between. After
// an attempt of unknown outcome only "applied" is an answer: a conflict can be
// our own first attempt's doing, and that attempt may still be under way.
//
// # Trust
//
// The server decides what the records are, but not what an answer may look
// like: a record that was not asked for, a page out of order or over its limit
// and a scan that does not move are lake.Corrupt.
package remote
