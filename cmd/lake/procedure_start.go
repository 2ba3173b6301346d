// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/sdk"
)

func (a *app) procedureStartCommand() *cobra.Command {
	var opts sdk.StartOptions
	var wait bool
	c := &cobra.Command{
		Use:   "start KIND",
		Short: "Start a procedure that works on the whole deployment, such as operation-gc",
		Long: "Starts operation-gc or catalog-finalize. Those who ask while one is open share it. With --wait,\n" +
			"follows it as `lake procedure watch` does. Drops are started by `lake table drop`, maintenances by\n" +
			"`lake table compact`.",
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := a.client(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			p, shared, err := client.StartProcedure(cmd.Context(), args[0], opts)
			if err != nil {
				return err
			}
			if shared {
				a.note("one was open already: this is it")
			}
			if wait {
				if p, err = a.watch(cmd.Context(), client, p.ProcedureID, 500*time.Millisecond); err != nil {
					return err
				}
				return a.watched(p)
			}
			if a.format == "table" {
				return a.lines(p)
			}
			out := a.rows(procedureHeadings)
			if err := out.Row(procedureCells(p)); err != nil {
				return outputError(err)
			}
			return out.Close()
		},
	}
	c.Flags().BoolVar(&opts.DryRun, "dry-run", false, "count what would be done and change nothing")
	c.Flags().StringVar(&opts.Reason, "reason", "", "why, for the audit")
	c.Flags().BoolVar(&wait, "wait", false, "follow it until it has ended")
	return c
}
