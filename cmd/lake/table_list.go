// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/lake"
)

func (a *app) tableListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [NAMESPACE]",
		Short: "List tables",
		Args:  arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			namespace := ""
			if len(args) > 0 {
				namespace = args[0]
				if err := lake.ValidateNamespace(namespace); err != nil {
					return usageError{err}
				}
			}
			client, err := a.client(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			out := a.rows([]heading{{name: "table"}, {name: "version"}, {name: "created"}, {name: "updated"}, {name: "incarnation"}})
			for t, err := range client.ListTables(cmd.Context(), namespace) {
				if err != nil {
					return out.broken(err)
				}
				row := []cell{
					textCell(t.Name.String()), numberCell(uint64(t.Snapshot.Version)), timeCell(t.CreatedAt), timeCell(t.UpdatedAt),
					textCell(t.Snapshot.Incarnation.String()),
				}
				if err := out.Row(row); err != nil {
					return outputError(err)
				}
			}
			return out.Close()
		},
	}
}

func formatNumber[T int | int64 | uint64](n T) string {
	if n < 0 {
		return strconv.FormatInt(int64(n), 10)
	}
	return strconv.FormatUint(uint64(n), 10)
}
