// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/cmd/lake/process"
	"github.com/lakeplane/lake/lake"
)

func (a *app) metaCommand() *cobra.Command {
	c := config.NewMeta()
	return a.serverCommand(c, &c.Common, "Run a metadata server: the authority for tables, versions and appends",
		"Several members on one PostgreSQL metastore elect a leader, and pass writes on to it; one\n"+
			"member alone may keep an embedded metastore (pebble).",
		func(ctx context.Context, tel process.Telemetry) error { return process.RunMeta(ctx, c, tel) })
}

func (a *app) queryCommand() *cobra.Command {
	c := config.NewQuery()
	return a.serverCommand(c, &c.Common, "Run a query replica: Flight SQL over pinned snapshots",
		"Replicas keep nothing and need no metastore: as many as the readers need. Those that share\n"+
			"the ticket keys redeem each other's tickets.",
		func(ctx context.Context, tel process.Telemetry) error { return process.RunQuery(ctx, c, tel) })
}

func (a *app) workerCommand() *cobra.Command {
	c := config.NewWorker()
	cmd := a.serverCommand(c, &c.Common, "Run a worker: the durable procedures, such as the end of a drop",
		"Any number of workers may poll the Temporal server; leases in the metastore keep two of them\n"+
			"from doing one thing.",
		func(ctx context.Context, tel process.Telemetry) error { return process.RunWorker(ctx, c, tel) })
	cmd.AddCommand(a.workerEnsureCommand())
	return cmd
}

// serverCommand runs a process until it is told to stop.
func (a *app) serverCommand(c config.Process, common *config.Common, short, long string, run func(context.Context, process.Telemetry) error) *cobra.Command {
	name := c.Set().Process
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Long: long + "\n\nSettings come from flags, environment, the file of --config, and defaults, in this order.\n" +
			"`lake config show " + name + "` tells them all. SIGTERM stops it within --shutdown-grace, a second signal at once.",
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.serves = true
			if err := a.load(c, cmd.Flags()); err != nil {
				return err
			}
			tel := process.NewTelemetry(name, version, a.serverLog(common))
			slog.SetDefault(tel.Log)
			return untilTold(cmd.Context(), common.Grace,
				func() { tel.Log.Info("stopping", "grace", common.Grace.String()) },
				func(ctx context.Context) error { return run(ctx, tel) }, func() {})
		},
	}
	addConfig(cmd.Flags())
	c.Set().AddFlags(cmd.Flags())
	return cmd
}

func addConfig(flags *pflag.FlagSet) {
	flags.String("config", "", "YAML file of settings (env LAKE_CONFIG)")
}

// load reads the configuration of a process. Flags of the client commands do
// not apply to a server, and somebody who gives one expects something.
func (a *app) load(c config.Process, flags *pflag.FlagSet) error {
	for _, name := range []string{"addr", "token-file", "ca-file", "tls", "insecure"} {
		if flags.Changed(name) {
			return usagef("--%s is for the commands that talk to a server", name)
		}
	}
	path, err := flags.GetString("config")
	if err != nil {
		return err
	}
	if err := config.Load(c, path, os.Environ(), flags); err != nil {
		return usageError{err}
	}
	return nil
}

// serverLog writes to standard error.
func (a *app) serverLog(c *config.Common) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		panic(err) // the setting allows known levels only
	}
	opts := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "pretty" {
		return slog.New(slog.NewTextHandler(a.stderr, opts))
	}
	return slog.New(slog.NewJSONHandler(a.stderr, opts))
}

// untilTold runs a process until the first signal, and ends it at the second,
// or when it still runs after the grace: then kill ends what the process began.
// Nothing acknowledged is lost by that.
func untilTold(ctx context.Context, grace time.Duration, stopping func(), run func(context.Context) error, kill func()) error {
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	select {
	case err := <-ended:
		if err == nil && ctx.Err() == nil {
			err = lake.Errorf(lake.Unknown, "the server ended by itself")
		}
		return notCanceled(ctx, err)
	case <-ctx.Done():
		stopping()
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(again)
	over := time.NewTimer(grace)
	defer over.Stop()
	select {
	case err := <-ended:
		return notCanceled(ctx, err)
	case <-again:
		kill()
		return lake.Errorf(lake.Unknown, "ended at once by a second signal: %w", context.Canceled)
	case <-over.C:
		kill()
		return lake.Errorf(lake.Unknown, "the grace of %s is over", grace)
	}
}

// notCanceled forgets an error that only says that the process was told to
// stop, for example while it connected.
func notCanceled(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
