// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package postgres is the metastore backend on PostgreSQL, 13 or later, for
// production without a cloud provider's database.
//
// # Commits
//
// A commit is one call of a function in the database and one round trip. The
// function takes transaction-scoped advisory locks on hashes of the keys, in
// ascending order: exclusive ones for keys it writes, shared ones for guards.
// Then it checks the token and the expectations and writes. Nothing but the
// function writes the tables. Locking rows instead would not cover keys that
// are absent, and a shared row lock dirties the row it guards; an EXISTS alone
// does not keep a guard at all.
//
// # Unknown outcomes
//
// Every commit has a token, which is stored with its effects. When the
// connection breaks during a call, the call is made again with the same token:
// it reports success if the first one applied. If it finds a conflict instead,
// the first call may still be under way in the server, and the outcome is
// reported as unknown.
//
// # Poolers
//
// It works behind a pooler in transaction mode: no prepared statements, no
// session state, no session locks.
package postgres
