// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package local

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// createUnnamed makes a file on the file system of a folder, without a name.
func createUnnamed(dir int) (fd int, err error) {
	err = retryInterrupted(func() (err error) {
		fd, err = unix.Openat(dir, ".", unix.O_RDWR|unix.O_TMPFILE|unix.O_CLOEXEC, 0o644)
		return err
	})
	return fd, err
}

// unnamed is how such a file is linked. To do so by the descriptor alone takes a
// privilege on many systems.
func unnamed(fd int) source {
	return source{dir: unix.AT_FDCWD, name: "/proc/self/fd/" + strconv.Itoa(fd), flags: unix.AT_SYMLINK_FOLLOW}
}
