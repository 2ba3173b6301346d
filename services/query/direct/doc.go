// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package direct answers statements that only name columns of one table, such
// as
//
//	SELECT episode, reward FROM robots.runs LIMIT 1000
//
// by reading the table: a SQL engine would hand on what it was handed, after
// two copies of every value. Which statements those are is read off the syntax
// tree by what is allowed, so what nobody has thought of goes to the engine,
// which is never wrong.
//
// The engine has planned the statement, and its schema is binding: a statement
// whose columns the engine would deliver in another type than they are stored
// in is the engine's to answer.
package direct
