// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import (
	"fmt"
	"os"
)

// lockFile opens the lock file without a lock: on this system the port check is
// what keeps two servers from one database.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("database lock: %w", err)
	}
	return f, nil
}
