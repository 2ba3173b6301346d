// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package divide decides which statements may be answered in parts, and where
// the parts begin. A statement may, when its result over a table is its results
// over the pieces of the table put together, in any order: it looks at each row
// alone. That is read off the syntax tree by lists of what is allowed, so what
// nobody has thought of is answered as a whole, which is never wrong.
package divide
