// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package local

import "golang.org/x/sys/unix"

func createUnnamed(int) (int, error) { return -1, unix.ENOSYS }

func unnamed(int) source { return source{} }
