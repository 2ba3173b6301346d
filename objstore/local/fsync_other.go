// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix && !darwin

package local

import "golang.org/x/sys/unix"

func fsync(fd int) error { return unix.Fsync(fd) }
