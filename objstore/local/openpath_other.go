// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package local

import "golang.org/x/sys/unix"

// openPath opens a folder below another by one system call. There is none here.
func openPath(int, string) (int, error) { return -1, unix.ENOSYS }
