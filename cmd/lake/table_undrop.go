// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

func (a *app) tableUndropCommand() *cobra.Command {
	var incarnation string
	c := &cobra.Command{
		Use:   "undrop NAMESPACE.TABLE",
		Short: "Take a drop back while nothing has been deleted",
		Long: "Takes a drop back while its undrop window is open and nothing has been deleted:\n" +
			"the same table is there again at once, with its version and rows. When several\n" +
			"dropped tables had the name, the error lists their incarnations to choose from.",
		Example: "  lake table drop robots.episodes --undrop-window 1h\n  lake table undrop robots.episodes",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.undrop(cmd, args[0], incarnation)
		},
	}
	c.Flags().StringVar(&incarnation, "incarnation", "", "which of several dropped tables of the name")
	return c
}

func (a *app) undrop(cmd *cobra.Command, arg, incarnation string) error {
	name, err := tableName(arg)
	if err != nil {
		return err
	}
	var opts sdk.UndropOptions
	if incarnation != "" {
		if opts.Incarnation, err = lake.ParseID(incarnation); err != nil {
			return usageError{err}
		}
	}
	client, err := a.client(cmd.Context())
	if err != nil {
		return err
	}
	defer client.Close()
	t, err := client.UndropTable(cmd.Context(), name, opts)
	if err != nil {
		return err
	}
	return a.printTable(t)
}

// printTable prints which table it is.
func (a *app) printTable(t sdk.Table) error {
	out := a.rows([]heading{{name: "table"}, {name: "version"}, {name: "incarnation"}})
	if err := out.Row([]cell{textCell(t.Name.String()), numberCell(uint64(t.Snapshot.Version)), textCell(t.Snapshot.Incarnation.String())}); err != nil {
		return outputError(err)
	}
	return out.Close()
}
