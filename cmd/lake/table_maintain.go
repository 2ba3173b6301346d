// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/sdk"
)

func (a *app) tableMaintainCommand() *cobra.Command {
	var opts sdk.CompactOptions
	c := &cobra.Command{
		Use:   "maintain NAMESPACE.TABLE",
		Short: "Start joining small pieces of data and deleting old versions",
		Long: "Asks for the durable procedure that joins what small appends left behind and then\n" +
			"deletes what no version that stays needs, and prints its id, to follow with\n" +
			"`lake procedure watch`. The newest versions stay, those that were current lately, and\n" +
			"tagged ones. --dry-run says what would go by the settings of the metadata server\n" +
			"(table_retain_versions, table_retain_for, table_orphan_age). Workers do this by\n" +
			"themselves where it is worth it.",
		Example: "  lake table maintain robots.episodes --dry-run\n  lake procedure watch $(lake table maintain robots.episodes -o json | jq -r .procedure)",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Reclaim = opts.DryRun
			return a.compact(cmd, args[0], opts)
		},
	}
	c.Flags().BoolVar(&opts.DryRun, "dry-run", false, "say what would be joined and deleted, and change nothing")
	return c
}
