// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package devtemporal runs the Temporal server of a single machine as a child
// process: it finds or builds the binary of deploy/temporal, starts it, waits
// until a client can rely on it, starts it again when it dies, and stops it.
//
// The server is a separate process because its module graph and the one of the
// lake module exclude each other, and because a procedure must survive the
// death of either: tests kill the child at will and so do operators.
//
// The child watches its standard input, a pipe whose other end is held here, so
// it ends with this process even when this process is killed.
package devtemporal
