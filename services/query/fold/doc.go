// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package fold computes aggregates of Arrow batches, with or without groups, as
// the SQL engine would: a statement such as
//
//	SELECT robot, count(*), avg(speed) FROM fleet.runs GROUP BY robot
//
// that reads a table needs nothing else of an engine, and the engine would have
// to be handed every value first.
//
// The values are those of the engine. What is not certain to be is not
// answered: a function of a type that is not listed has no [Func.Type], and a
// value whose result depends on more than the rows is [ErrEngine]. Only sums
// and deviations of floating-point numbers may differ in their last digits, as
// those of the engine do from one run to the next.
//
// # How it works
//
// Batches are taken in chunks that stay in the cache. A chunk's rows get the
// numbers of their groups, from 1; then every accumulator runs one loop over
// its column and the numbers. Rows that do not count for it, because of a null
// or a filter, have number 0, whose state nobody reads; without groups the
// values that count are moved together instead. What several aggregates need
// is computed once: avg(x) and sum(x) share a sum, everything shares the count
// of rows.
package fold
