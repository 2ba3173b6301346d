// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build !unix

package devtemporal

import (
	"context"
	"os"
	"os/exec"
)

func detach(*exec.Cmd) {}

// askToStop has no orderly form here; the child also stops when its input ends.
func askToStop(*os.Process) error { return nil }

// lockDir does not lock here: two builds at once waste time and nothing else,
// since each renames a whole file into place.
func lockDir(context.Context, string) (unlock func(), err error) { return func() {}, nil }
