// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package direct plans and answers statements that only name columns of one
// table, or simple functions of them, and rows of it in simple terms, such as
//
//	SELECT episode, reward FROM robots.runs WHERE episode = 7 LIMIT 1000
//	SELECT robot, count(*), avg(reward) FROM robots.runs GROUP BY robot ORDER BY 2 DESC
//
// by reading the table: a SQL engine would hand on what it was handed, after
// two copies of every value, or fold what lies in memory already. Which
// statements those are is read off the syntax tree by what is allowed, so what
// nobody has thought of goes to the engine, which is never wrong.
//
// The planned schema is binding, whoever planned it: a statement whose columns
// would be delivered in another type than they are stored in is the engine's.
package direct
