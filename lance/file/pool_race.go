// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build race

package file

// spoil makes the content of a released buffer wrong: a reader that still holds
// it, or that expects a new one to be zero, shall fail in a test and not
// deliver another batch's values.
func spoil(b []byte) {
	for i := range b {
		b[i] = 0xa5
	}
}
