// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package local

import "golang.org/x/sys/unix"

// openPath opens a folder below another by one system call. It follows no
// symbolic link.
func openPath(root int, folder string) (int, error) {
	return unix.Openat2(root, folder, &unix.OpenHow{
		Flags: openFolder, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
}
