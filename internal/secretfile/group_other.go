// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build !unix

package secretfile

import "io/fs"

// byGroup is for systems whose files have an owner and a group.
func byGroup(fs.FileInfo) bool { return false }
