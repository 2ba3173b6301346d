// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if a.format == "table" {
				_, err := fmt.Fprintf(a.stdout, "lake %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
				return err
			}
			out := a.rows([]heading{{name: "version"}, {name: "go"}, {name: "os"}, {name: "arch"}})
			if err := out.Row([]cell{textCell(version), textCell(runtime.Version()), textCell(runtime.GOOS), textCell(runtime.GOARCH)}); err != nil {
				return outputError(err)
			}
			return out.Close()
		},
	}
}
