// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package duck runs SQL with DuckDB, linked in through a thin C layer of our
// own. It is the only package that knows DuckDB.
//
// # How rows go in
//
// The table function lake_scan(id) is the only source of rows. id comes from
// a registry; what it means is known to the slot of the running query alone.
// DuckDB's threads pull Arrow batches of up to 256 Ki rows, each with only the
// projected columns, by one call into Go a batch; C code then fills one vector
// of 2,048 rows after another: fixed-width values are read where they lie
// (lent.c), strings are pointers into the batch, and a column that the statement
// groups by is a dictionary as long as it has few values (dict.c). A batch stays
// pinned until its thread asks for the next, when the pipeline is done with every
// vector made of it.
//
// Tables appear as views under the names of the request, made in a transaction
// that is rolled back when the query ends. So a statement finds its authorized
// tables and nothing else, and nothing stays behind.
//
// # How rows come out
//
// Results are streamed: DuckDB makes rows only as fast as they are taken. Its
// chunks are gathered into batches bounded by rows, bytes and waiting time,
// in exactly the planned Arrow schema. DuckDB knows nothing of nullability,
// metadata, large offsets or time units of zoned timestamps, so the plan
// traces which columns are plain references (lineage.go) and delivers those
// as registered.
//
// # How queries stop
//
// When a query's context ends, its instance is interrupted again and again
// until the call returns, table callbacks see the same context, and the caller
// is let go after a grace period whatever happens. DuckDB cannot be
// interrupted everywhere; a slot that does not return is replaced.
package duck
