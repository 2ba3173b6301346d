// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/cmd/lake/process"
	"github.com/lakeplane/lake/worker"
)

func (a *app) workerEnsureCommand() *cobra.Command {
	c := config.NewWorker()
	c.TemporalOnly = true
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "ensure",
		Short: "Bring Temporal to what this release needs: search attributes, schedules, the current worker version",
		Long: "Creates or updates the search attributes and schedules, and makes the build of --worker-build-id,\n" +
			"if there is one, the version that gets work. It takes the worker's settings, changes nothing that is as\n" +
			"it should be, and leaves a schedule that an operator paused paused. Run it once after an upgrade.\n" +
			"A worker creates by itself what is missing, and updates nothing.",
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.load(c, cmd.Flags()); err != nil {
				return err
			}
			temporal, err := process.DialTemporal(c.Temporal, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			defer temporal.Close()
			mode := worker.Bring
			if dryRun {
				mode = worker.Look
			}
			changes, err := worker.Ensure(cmd.Context(), temporal.Client, process.WorkerDeployment(c), mode)
			return a.printChanges(changes, dryRun, err)
		},
	}
	addConfig(cmd.Flags())
	c.Set().AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be done and change nothing")
	return cmd
}

// printChanges prints what was changed before the failure, if there was one.
func (a *app) printChanges(changes []worker.Change, dryRun bool, failure error) error {
	out := a.rows([]heading{{name: "what"}, {name: "name"}, {name: "action"}, {name: "detail"}})
	for _, c := range changes {
		action := c.Action
		if dryRun && action != "unchanged" {
			action = "would be " + action
		}
		if err := out.Row([]cell{textCell(c.What), textCell(c.Name), textCell(action), {text: c.Detail, null: c.Detail == ""}}); err != nil {
			return outputError(err)
		}
	}
	if failure != nil {
		return out.broken(failure)
	}
	return out.Close()
}
