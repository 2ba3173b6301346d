// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package query is the read tier of Lake: a stateless Arrow Flight SQL server
// over pinned snapshots.
//
// A statement is planned by GetFlightInfo: it passes the gate, every table it
// names is authorized and resolved to one immutable snapshot, and the answer
// carries the exact result schema and an encrypted ticket that pins all of it.
// DoGet redeems the ticket on any replica and reads exactly those snapshots,
// whatever was written meanwhile. Between the two calls a replica remembers
// nothing that another one would need.
//
// Tables are addressed as namespace.table or lake.namespace.table: "lake" is
// the one SQL catalog. Writes never happen through SQL text. Appends, and the
// control calls of the Catalog and Procedures services, are forwarded to the
// authority, so that a client needs one address.
package query
