// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package metasrv is the authority: it serves the Catalog and Procedures
// services and takes appends by Arrow Flight DoPut.
//
// Each RPC has a file of its own: the handler checks the request and the
// principal's grants, calls the catalog and the engine, and returns. The rules
// are in package catalog; the translation of errors is in services/internal/rpc.
//
// # An append
//
// Admission comes before the first message is read. The stream is then
// received within its bounds and its digest verified, the rows are decoded
// without trust in a single length or offset of theirs, and the engine stages
// them as data objects that nothing refers to. From there on the table's
// committer has it: all appends that wait while a commit is under way join the
// next version, one manifest and one commit for all of them. There is no added
// delay: a lone append is committed at once.
//
// From the moment its payload is verified an append no longer depends on its
// client. A second stream with the same operation id, from a client that lost
// the first, waits for the same result.
//
// A version is acknowledged only when it is published, that is, when any reader
// of the format can open it by its number. A version is built on a base only
// when the base is published. So an operation that is found in an older version
// than the current one needs nothing but its record to be acknowledged again.
package metasrv
