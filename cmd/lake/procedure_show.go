// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) procedureShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show one procedure",
		Args:  arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := procedureID(args[0])
			if err != nil {
				return err
			}
			client, err := a.client(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			p, err := client.Procedure(cmd.Context(), id)
			if err != nil {
				return err
			}
			cells := procedureCells(p)
			if a.format == "table" {
				for i, h := range procedureHeadings {
					if cells[i].null {
						continue
					}
					if _, err := fmt.Fprintf(a.stdout, "%-12s %s\n", h.name, cells[i].text); err != nil {
						return outputError(err)
					}
				}
				return nil
			}
			out := a.rows(procedureHeadings)
			if err := out.Row(cells); err != nil {
				return outputError(err)
			}
			return out.Close()
		},
	}
}
