// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/audit"
	"github.com/lakeplane/lake/cmd/lake/config"
)

func (a *app) tableCheckCommand() *cobra.Command {
	c := config.NewFsck()
	f := fsckFlags{depth: audit.Deep}
	var data bool
	cmd := &cobra.Command{
		Use:   "check NAMESPACE.TABLE",
		Short: "Look into every object of a table's versions",
		Long: "Does what `lake fsck` does, for one table, and looks into its objects: manifests have the\n" +
			"committed bytes, data files are of the form and the number of rows that their versions\n" +
			"say, deletions can be read, and statistics are of their files. With --data every value of\n" +
			"every row is read, and held against the statistics. It works on the stores themselves and\n" +
			"may run beside a live deployment. It changes nothing.\n\n" +
			"The problems are those of `lake fsck`, and useless: statistics that no reader takes, which\n" +
			"costs time only. The exit status is 1 when something promised is not there.",
		Example: "  lake table check robots.episodes --metastore lake://127.0.0.1:50052 --objects file:///var/lib/lake/objects\n" +
			"  lake table check robots.episodes --data --format json",
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := tableName(args[0]); err != nil {
				return err
			}
			if err := a.loadFsck(c, cmd.Flags()); err != nil {
				return err
			}
			if data {
				f.depth = audit.Data
			}
			return a.fsck(cmd.Context(), c, f, args)
		},
	}
	addConfig(cmd.Flags())
	c.Set().AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&data, "data", false, "read every value of every row too")
	cmd.Flags().DurationVar(&f.grace, "grace", time.Hour, "how old an object is before it counts as left behind")
	return cmd
}
