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

// watch shows changes on standard error and returns the terminal state. While the
// server is away it says so and keeps asking: the procedure does not depend on it.
func (a *app) watch(ctx context.Context, client *sdk.Client, id sdk.ProcedureID, interval time.Duration) (sdk.Procedure, error) {
	w := &lookout{bar: progress.New(a.stderr, id.String())}
	defer w.bar.Clear()
	for {
		p, err := client.Procedure(ctx, id)
		switch {
		case err == nil:
			if w.show(p); p.State.Terminal() {
				return p, nil
			}
		case ctx.Err() != nil || !lake.Is(err, lake.Unavailable):
			return p, err
		case !w.away:
			w.away = true
			w.say("no answer, asking on: " + oneLine(err.Error()))
		}
		select {
		case <-ctx.Done():
			return w.last, context.Cause(ctx)
		case <-time.After(interval):
		}
	}
}

// lookout is what was said of a procedure so far.
type lookout struct {
	bar  *progress.Bar
	last sdk.Procedure
	away bool // nobody answered the last time
}

// show says what has changed.
func (w *lookout) show(p sdk.Procedure) {
	if w.last.Kind == "" && p.UIURL != "" {
		w.bar.Finish("Temporal UI: " + oneLine(p.UIURL))
	}
	if w.away || p.State != w.last.State || p.Phase != w.last.Phase {
		w.say(summary(p))
	} else {
		w.bar.Update(progress.Status{Text: summary(p)})
	}
	w.last, w.away = p, false
}

func (w *lookout) say(text string) { w.bar.Finish(time.Now().Format(time.TimeOnly) + " " + text) }

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
