// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package secure reads the certificates and tokens by which Lake's processes
// prove to each other who they are. All of them are files, and a file that
// changes is read again, so that a rotation needs no restart.
package secure
