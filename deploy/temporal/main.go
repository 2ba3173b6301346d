// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Command lake-temporal-dev is the Temporal server Lake uses on one machine:
// frontend, history, matching and worker in one process over one SQLite file,
// with the Temporal web UI beside it.
//
// It lives in a module of its own because the server and the SDK used by the
// lake module cannot share one build list. The lake binary starts it as a child
// (package internal/devtemporal); it can also be started by hand, and it takes
// the flags of "temporal server start-dev" that the SDK's test suite passes.
//
// When it is ready it prints one line of JSON on standard output,
// {"address":"127.0.0.1:7233","ui":"http://127.0.0.1:8233","namespace":"lake"},
// and nothing else there, ever; logs go to standard error.
//
// It has no authentication. It listens on a loopback address only, unless
// --allow-insecure says that something else protects the port.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes: 1 is a failure of the server, 2 a mistake in the flags or a
// taken port or file, which starting again will not cure.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with its world passed in.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	opts, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "lake-temporal-dev: %v\n", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if opts.exitWithParent {
		ctx = endOfInput(ctx, stdin)
	}
	if err := serve(ctx, opts, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "lake-temporal-dev: %v\n", err)
		if errors.Is(err, errTaken) {
			return exitUsage
		}
		return exitFailed
	}
	return 0
}

// endOfInput returns a context that ends when r does. The parent holds the
// other end of the pipe and the kernel closes it however the parent dies, so
// the server never outlives it. Pdeathsig would follow the parent's thread, not
// the parent, and exists on Linux only.
func endOfInput(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, r)
	}()
	return ctx
}
