// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package catalog holds the rules over the metastore: which table a name
// stands for, who may change it, which append operations are already in it,
// and what is left of a dropped one.
//
// # Protocol
//
// Every change is exactly one metastore transaction. The transaction holds
// everything that must become true together, and a guard on everything that
// must still be true:
//
//   - create: the fence's stripe is kept, tbl/<ns>/<name> appears, the
//     directory generation is replaced;
//   - advance (an append): the fence's stripe is kept, tbl/<ns>/<name> moves
//     from the exact record the version was built on, the engine's pointer and
//     history rows move with it, and one record per append operation appears;
//   - drop: the fence's stripe is kept, the exact tbl/<ns>/<name> goes, the
//     tombstone and the procedure that will clean up appear, the engine's
//     pointer is retired, the directory generation is replaced.
//
// So there is no state between "the engine committed" and "the registry
// advanced", and nothing to repair after a crash. A leader that lost its
// election fails at its next write whatever its clock says, because the
// takeover replaced the stripe the write keeps.
//
// Every record embeds a nonce. After an ambiguous answer of the metastore the
// same transaction is sent again under the same token, and a strong read that
// finds our exact bytes proves that it applied. What stays ambiguous is
// reported as lake.Undetermined, never as success or failure.
//
// The package knows no engine, no transport and no backend.
package catalog
