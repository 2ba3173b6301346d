// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/sdk"
)

func (a *app) tableCompactCommand() *cobra.Command {
	var opts sdk.CompactOptions
	c := &cobra.Command{
		Use:   "compact NAMESPACE.TABLE",
		Short: "Start joining what small appends left behind",
		Long: "Asks for a compaction and prints the id of the durable procedure that does it, to\n" +
			"follow with `lake procedure watch`. Appends and reads go on meanwhile; rows, their\n" +
			"order and older versions stay. Workers also compact by themselves what is worth it.",
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return a.compact(cmd, args[0], opts) },
	}
	c.Flags().BoolVar(&opts.DryRun, "dry-run", false, "say what would be joined and change nothing")
	return c
}

// compact asks for the maintenance of a table, and tells what of it is known.
func (a *app) compact(cmd *cobra.Command, arg string, opts sdk.CompactOptions) error {
	name, err := tableName(arg)
	if err != nil {
		return err
	}
	client, err := a.client(cmd.Context())
	if err != nil {
		return err
	}
	defer client.Close()
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
