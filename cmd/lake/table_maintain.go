// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

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
		RunE:    func(cmd *cobra.Command, args []string) error { return a.maintain(cmd, args[0], opts) },
	}
	c.Flags().BoolVar(&opts.DryRun, "dry-run", false, "say what would be joined and deleted, and change nothing")
	return c
}

func (a *app) maintain(cmd *cobra.Command, arg string, opts sdk.CompactOptions) error {
	name, err := tableName(arg)
	if err != nil {
		return err
	}
	client, err := a.client(cmd.Context())
	if err != nil {
		return err
	}
	defer client.Close()
	opts.Reclaim = opts.DryRun
	c, err := client.CompactTable(cmd.Context(), name, opts)
	if err != nil {
		return err
	}
	head := []heading{
		{name: "table"}, {name: "version"}, {name: "procedure"}, {name: "parts_before"}, {name: "parts_after"}, {name: "dry_run"}, {name: "ui"},
	}
	cells := []cell{
		textCell(name.String()), numberCell(uint64(c.Table.Snapshot.Version)), textCell(c.Procedure.String()),
		numberCell(c.PartsBefore), numberCell(c.PartsAfter),
		{text: fmt.Sprint(c.DryRun), value: c.DryRun},
		linkCell(c.UIURL),
	}
	if r := c.Reclaim; r != nil {
		head = append(head, heading{name: "versions_kept"}, heading{name: "versions_tagged"}, heading{name: "versions_deleted"},
			heading{name: "objects_deleted"}, heading{name: "bytes_deleted"})
		cells = append(cells, numberCell(r.VersionsKept), numberCell(r.VersionsTagged), numberCell(r.VersionsReclaimed),
			numberCell(r.Objects), numberCell(r.Bytes))
	}
	out := a.rows(head)
	if err := out.Row(cells); err != nil {
		return outputError(err)
	}
	return out.Close()
}
