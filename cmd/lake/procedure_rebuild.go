// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/activities/sweep"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/cmd/lake/process"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/worker"
	"github.com/lakeplane/lake/workflows"
)

func (a *app) procedureRebuildCommand() *cobra.Command {
	c := config.NewWorker()
	c.NoObjects = true
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Start every unfinished procedure again after Temporal's database was lost",
		Long: "Reads the unfinished procedures from the metastore and starts a workflow for each that has none; one\n" +
			"that has one is left alone, and one that an operator paused or cancelled stays so. Before, it brings\n" +
			"the search attributes and schedules back, as `lake worker ensure` does. It takes the worker's\n" +
			"settings and may run beside a live deployment, as often as one likes. The procedure sweep does the\n" +
			"same within a minute of a worker's start; this does it now and says what it did.",
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.load(c, cmd.Flags()); err != nil {
				return err
			}
			return a.rebuild(cmd.Context(), c, dryRun)
		},
	}
	addConfig(cmd.Flags())
	c.Set().AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be started and change nothing")
	return cmd
}

func (a *app) rebuild(ctx context.Context, c *config.Worker, dryRun bool) (err error) {
	silent := slog.New(slog.DiscardHandler)
	records, err := process.OpenRecords(ctx, c.Metastore, c.Caller, c.AllowInsecure == config.Insecure, silent)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Close()) }()
	temporal, err := process.DialTemporal(c.Temporal, silent)
	if err != nil {
		return err
	}
	defer temporal.Close()
	if !dryRun {
		if _, err := worker.Ensure(ctx, temporal.Client, process.WorkerDeployment(c), worker.Bring); err != nil {
			return err
		}
	}
	client := temporal.Procedures()
	all := sweep.New(catalog.New(records.Store, catalog.Options{}), client, sweep.Options{Log: silent})
	out := a.rows([]heading{{name: "procedure"}, {name: "action"}, {name: "ui"}})
	result, err := all.All(ctx, func(ref workflows.Ref) bool {
		action := "started"
		if dryRun {
			action = "would be started"
		}
		_ = out.Row([]cell{textCell(ref.String()), textCell(action), linkCell(client.UIURL(ref.String()))}) // Close tells
		return !dryRun
	})
	if err != nil {
		return out.broken(err)
	}
	if err := out.Close(); err != nil {
		return outputError(err)
	}
	a.note("%d unfinished procedures: %d had a workflow, %d started, %d could not be, %d cancelled by operators are left alone",
		result.Intents, result.Live, result.Started, result.Failed, result.Stopped)
	if result.Failed > 0 {
		return lake.Errorf(lake.Unavailable, "%d procedures were not started, the last because: %s", result.Failed, result.LastError)
	}
	return nil
}
