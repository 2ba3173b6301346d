// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/lake"
)

const (
	defaultAddr = "127.0.0.1:50051"

	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// app is what all commands share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	addr      string
	addrGiven bool
	format    string
	connect   connectFlags
	// serves: the command is a server, whose orderly end is what it is told.
	serves bool
}

// usageError is a mistake in the command line itself.
type usageError struct{ error }

// Unwrap returns the mistake.
func (u usageError) Unwrap() error { return u.error }

func usagef(format string, args ...any) error {
	return usageError{lake.Errorf(lake.Invalid, format, args...)}
}

// run runs one command line and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if a.interrupted(ctx, err) {
		a.note("lake: interrupted")
		return exitInterrupted
	}
	a.complain(err)
	var usage usageError
	if errors.As(err, &usage) || isCobraUsage(err) {
		return exitUsage
	}
	return exitFailure
}

// interrupted reports whether a command failed because it was told to stop. What
// came from a server, or from the way to it, is a call that was given up.
func (a *app) interrupted(ctx context.Context, err error) bool {
	if ctx.Err() == nil {
		return false
	}
	givenUp := status.Code(err) == codes.Canceled || lake.Is(err, lake.Unavailable)
	return errors.Is(err, context.Canceled) || !a.serves && givenUp
}

// note tells the user something on standard error. When that fails, nobody is
// left to tell.
func (a *app) note(format string, args ...any) { _, _ = fmt.Fprintf(a.stderr, format+"\n", args...) }

// complain tells an error: on one line, but for the mistakes of a
// configuration, which have a line each.
func (a *app) complain(err error) {
	var mistakes config.Mistakes
	if !errors.As(err, &mistakes) {
		a.note("lake: %s", oneLine(err.Error()))
		return
	}
	a.note("lake: %s in the configuration:", counted(int64(len(mistakes)), "mistake"))
	for _, m := range mistakes {
		a.note("  %s", oneLine(m.Error()))
	}
}

// oneLine keeps an error, or what somebody wrote, on one line and free of terminal
// control sequences, whatever it quotes.
func oneLine(text string) string {
	return printable(strings.Join(strings.Fields(text), " "), math.MaxInt)
}

// isCobraUsage recognises the library's own complaints, which have no type.
func isCobraUsage(err error) bool {
	return strings.HasPrefix(err.Error(), "unknown command ") || strings.HasPrefix(err.Error(), "required flag(s) ")
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "lake",
		Short:         "A lakehouse for robot data: tables, appends that happen once, SQL, durable procedures",
		Long:          "Lake keeps tables that robots append to and fleets read through SQL.\n\n`lake dev` runs all of it on this machine; `lake meta`, `lake query` and `lake worker` are the\nprocesses of a deployment; the other commands talk to a running Lake.",
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.addrGiven = cmd.Flags().Changed("addr") || os.Getenv("LAKE_ADDR") != ""
			return checkFormat(a.format, cmd.Name() == "sql")
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	flags := root.PersistentFlags()
	flags.StringVar(&a.addr, "addr", fromEnv("LAKE_ADDR", defaultAddr), "host:port of a query server (env LAKE_ADDR)")
	flags.StringVarP(&a.format, "format", "o", "table", "how to print data: table, json (one object a line) or csv; sql also knows arrow (an IPC stream)")
	a.connect.add(flags)
	root.AddCommand(a.devCommand(), a.selftestCommand(), a.sqlCommand(), a.ingestCommand(),
		a.tableCommand(), a.procedureCommand(), a.metaCommand(), a.queryCommand(), a.workerCommand(),
		a.fsckCommand(), a.configCommand(), a.versionCommand())
	return root
}

func fromEnv(key, otherwise string) string {
	if v := os.Getenv(key); v != "" {
		return v
	}
	return otherwise
}

// arguments wraps a check of positional arguments so that failing it is a usage
// error that shows the right form.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%w: want: %s", err, cmd.UseLine())
		}
		return nil
	}
}

// group is a command that only holds others. Without one of them it does nothing,
// which is no success: a script that checks a configuration must not pass because
// it did not say which.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q for %q: see %s --help", args[0], cmd.CommandPath(), cmd.CommandPath())
			}
			cmd.SetOut(cmd.ErrOrStderr())
			return errors.Join(cmd.Help(), usagef("%s needs a command: want one of the above", cmd.CommandPath()))
		},
	}
	c.AddCommand(commands...)
	return c
}

// tableName reads a table's name from the command line.
func tableName(arg string) (lake.TableName, error) {
	name, err := lake.ParseTableName(arg)
	if err != nil {
		return name, usageError{err}
	}
	return name, nil
}
