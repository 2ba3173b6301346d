// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/cmd/lake/devserver"
	"github.com/lakeplane/lake/internal/devtemporal"
	"github.com/lakeplane/lake/internal/progress"
	"github.com/lakeplane/lake/lake"
)

const (
	defaultPortBase = 50051
	// devSlack is what the Temporal child may take beyond the grace.
	devSlack = 2 * time.Second
)

func (a *app) devCommand() *cobra.Command {
	opts := devserver.Options{Version: version}
	logLevel := "warn"
	c := &cobra.Command{
		Use:   "dev",
		Short: "Run a whole Lake on this machine",
		Long: "Runs metasrv, query and worker in this process over local files, with a Temporal\n" +
			"server and its UI as a child process. It listens on loopback only and asks for no\n" +
			"credentials. An interrupt stops it within the grace period, a second one at once.\n\n" +
			"Ports from --port-base on: query, meta, metrics, Temporal, Temporal UI, Lance namespace.",
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.format != "table" {
				return usagef("dev prints no data: --format does not apply")
			}
			opts.Log = a.logger(logLevel)
			if opts.Log == nil {
				return usagef("--log-level %q: want debug, info, warn or error", logLevel)
			}
			return a.dev(cmd.Context(), opts)
		},
	}
	flags := c.Flags()
	flags.StringVar(&opts.DataDir, "data-dir", defaultDataDir(), "where everything durable is kept (env LAKE_DATA_DIR)")
	flags.IntVar(&opts.PortBase, "port-base", defaultPortBase, "first of six ports; 0 picks free ones")
	flags.BoolVar(&opts.NoTemporal, "no-temporal", false, "run without Temporal: dropped tables' objects stay until it runs with it")
	flags.StringVar(&opts.TemporalAddress, "temporal-address", "", "use the Temporal server at this host:port instead of a child")
	flags.StringVar(&opts.TemporalNamespace, "temporal-namespace", "", "its namespace (default lake)")
	flags.StringVar(&opts.TemporalUI, "temporal-ui", "", "URL of its web UI")
	flags.DurationVar(&opts.Grace, "shutdown-grace", 30*time.Second, "how long an orderly stop may take")
	flags.DurationVar(&opts.UndropWindow, "undrop-window", 0, "how long a drop can be undone; 0 deletes at once")
	flags.BoolVar(&opts.InProcessSQL, "in-process-sql", false, "run SQL in this process, not in processes of their own")
	flags.StringVar(&logLevel, "log-level", logLevel, "debug, info, warn or error, on standard error")
	return c
}

// defaultDataDir is where a user's development data are.
func defaultDataDir() string {
	if dir := os.Getenv("LAKE_DATA_DIR"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "lake-data"
	}
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "lake", "dev")
	}
	return filepath.Join(home, ".local", "share", "lake", "dev")
}

// logger writes to standard error from a level on; nil for an unknown one.
func (a *app) logger(level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: l}))
}

// buildProgress shows the one-time build of the Temporal server.
func (a *app) buildProgress() devtemporal.Progress {
	bar := progress.New(a.stderr, "building the Temporal development server, once, about 5 minutes:")
	return func(packages int, elapsed time.Duration) {
		bar.Update(progress.Status{Text: fmt.Sprintf("%d packages, %s", packages, elapsed.Round(time.Second))})
	}
}

// dev runs a server until an interrupt.
func (a *app) dev(ctx context.Context, opts devserver.Options) error {
	if err := opts.Validate(); err != nil {
		return usageError{err}
	}
	a.serves = true
	opts.BuildProgress = a.buildProgress()
	server, err := devserver.Start(ctx, opts)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprint(a.stdout, block(server.State())) // it serves whether or not somebody reads this
	run := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-server.Failed():
		}
		return lake.Wrap("stop", server.Stop())
	}
	return untilTold(ctx, opts.Grace+devSlack, func() {
		a.note("stopping, within %s; interrupt again to stop at once", opts.Grace)
	}, run, server.Kill)
}

// block says where everything is.
func block(s devserver.State) string {
	temporal, ui := s.Temporal, s.TemporalUI
	if temporal == "" {
		temporal = "not running: drops wait"
	}
	var out strings.Builder
	out.WriteString("Lake is ready.\n")
	for _, line := range [][2]string{
		{"query", "grpc://" + s.Query + "  (Flight SQL)"},
		{"meta", "grpc://" + s.Meta},
		{"lance", s.LanceNamespace + "  (Lance REST namespace)"},
		{"metrics", s.Metrics},
		{"temporal", temporal},
		{"temporal ui", ui},
		{"data", s.DataDir},
	} {
		if line[1] != "" {
			fmt.Fprintf(&out, "  %-12s %s\n", line[0], line[1])
		}
	}
	fmt.Fprintf(&out, "Try: lake selftest --addr %s\n", s.Query)
	return out.String()
}
