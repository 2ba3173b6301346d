// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Command lake is the command line of Lake, and a whole Lake on one machine
// (lake dev).
//
// Data goes to standard output, progress and errors to standard error. The exit
// status is 0 only for success, 2 for a command line that cannot be understood,
// 130 after an interrupt and 1 for every other failure.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/lakeplane/lake/cmd/lake/process"
)

// version is set by the linker.
var version = "dev"

func main() {
	process.RunSlotIfAsked()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
