// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package local

import "golang.org/x/sys/unix"

// fsync also empties the drive's own cache, which plain fsync leaves alone on
// this system. Volumes that cannot do that get the plain one.
func fsync(fd int) error {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0); err == nil {
		return nil
	}
	return unix.Fsync(fd)
}
