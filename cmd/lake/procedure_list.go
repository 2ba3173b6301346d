// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
)

func (a *app) procedureListCommand() *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use:   "list",
		Short: "List procedures, the finished ones too",
		Args:  arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := a.client(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			out := a.rows(procedureHeadings)
			for p, err := range client.ListProcedures(cmd.Context(), kind) {
				if err != nil {
					return err
				}
				if err := out.Row(procedureCells(p)); err != nil {
					return outputError(err)
				}
			}
			return out.Close()
		},
	}
	c.Flags().StringVar(&kind, "kind", "", "only this kind, such as drop-table")
	return c
}
