// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package secretfile decides whether a file of secrets is private enough.
package secretfile

import (
	"io/fs"

	"github.com/lakeplane/lake/lake"
)

// Check refuses, with lake.Invalid, what is not a regular file, and a file that
// others than its reader can read or write: its mode must be 0600 or stricter.
//
// Where the reader is not the owner, it may be a member of the file's group
// instead, which may read and nothing more (0640, 0440): so are secrets that an
// administrator owns, and those that Kubernetes mounts for a pod's fsGroup.
func Check(info fs.FileInfo) error {
	mode := info.Mode()
	switch perm := mode.Perm(); {
	case !mode.IsRegular():
		return lake.Errorf(lake.Invalid, "not a regular file")
	case perm&0o077 == 0, perm&0o037 == 0 && byGroup(info):
		return nil
	default:
		return lake.Errorf(lake.Invalid, "mode %04o lets others read it: want 0600, or 0640 of another owner and a group of this process", perm)
	}
}
