// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

// Skip leaves out the next n rows, or all that are left when those are fewer.
func (c *Cursor) Skip(n uint64) { c.at += min(n, c.o.End-c.at) }
