// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/internal/progress"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

func (a *app) procedureWatchCommand() *cobra.Command {
	interval := 500 * time.Millisecond
	c := &cobra.Command{
		Use:   "watch ID",
		Short: "Follow a procedure until it has ended",
		Long: "Follows a procedure until it has ended and prints its last state. The exit\n" +
			"status is 0 when it completed, 1 when it failed or was cancelled.",
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := procedureID(args[0])
			if err != nil {
				return err
			}
			if interval <= 0 {
				return usagef("--interval %s: want a positive time, such as 500ms", interval)
			}
			client, err := a.client(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			p, err := a.watch(cmd.Context(), client, id, interval)
			if err != nil {
				return err
			}
			return a.watched(p)
		},
	}
	c.Flags().DurationVar(&interval, "interval", interval, "how often to ask")
	return c
}

// watch shows changes on standard error and returns the terminal state.
func (a *app) watch(ctx context.Context, client *sdk.Client, id sdk.ProcedureID, interval time.Duration) (sdk.Procedure, error) {
	bar := progress.New(a.stderr, id.String())
	defer bar.Clear()
	var last sdk.Procedure
	for p, err := range client.WatchProcedure(ctx, id, interval) {
		if err != nil {
			return p, err
		}
		if last.Kind == "" && p.UIURL != "" {
			bar.Finish("Temporal UI: " + p.UIURL)
		}
		if p.State != last.State || p.Phase != last.Phase {
			bar.Finish(time.Now().Format(time.TimeOnly) + " " + summary(p))
		} else {
			bar.Update(progress.Status{Text: summary(p)})
		}
		last = p
	}
	return last, nil
}

// watched prints the end of a procedure.
func (a *app) watched(p sdk.Procedure) error {
	if a.format == "table" {
		_, err := fmt.Fprintf(a.stdout, "%s %s\n", p.ProcedureID, summary(p))
		if err != nil {
			return outputError(err)
		}
	} else {
		out := a.rows(procedureHeadings)
		if err := out.Row(procedureCells(p)); err != nil {
			return outputError(err)
		}
		if err := out.Close(); err != nil {
			return outputError(err)
		}
	}
	if p.State != sdk.Completed {
		return lake.Errorf(lake.Precondition, "procedure %s %s: %s", p.ProcedureID, p.State, p.LastError)
	}
	return nil
}
