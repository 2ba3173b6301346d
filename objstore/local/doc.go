// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package local keeps objects as files under a directory of a local file
// system. The object "a/b" is the file a/b under the root, so other tools can
// read a table in place. Several processes may use one root.
//
// An object is written to a file without a name, or a scratch file where the
// system has none such, synced, and linked under its name, which fails when the
// name is taken: that is the put-if-absent. Its folder is synced before the call
// returns, and so is the parent of every folder that was made on the way. Folders
// that become empty are removed. What is staged is linked first and synced then,
// with its folder.
//
// Two rules come from the file system. A key cannot also be the folder of
// another: with "x" stored, "x/y" is refused with lake.Precondition, and the
// other way round. The first segment ".tmp" is reserved for scratch files.
// Symbolic links below the root are not followed. File names are compared as
// bytes, so the volume must be case sensitive.
package local
