// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/sdk"
)

func (a *app) tableVersionsCommand() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:   "versions NAMESPACE.TABLE",
		Short: "List a table's versions, the newest first",
		Long: "Lists what each version of a table holds and what made it: create, append (with how\n" +
			"many operations it added), compact, delete and what other writers did. Tags keep a\n" +
			"version from being given up. Versions that were given up are not listed.",
		Example: "  lake table versions robots.episodes\n  lake table versions robots.episodes --limit 0 --format json",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.versions(cmd, args[0], limit) },
	}
	c.Flags().IntVar(&limit, "limit", 20, "how many to list; 0 lists all")
	return c
}

func (a *app) versions(cmd *cobra.Command, arg string, limit int) error {
	if limit < 0 {
		return usagef("--limit %d: want 0 or more", limit)
	}
	name, err := tableName(arg)
	if err != nil {
		return err
	}
	client, err := a.client(cmd.Context())
	if err != nil {
		return err
	}
	defer client.Close()
	out := a.rows([]heading{
		{name: "version"}, {name: "made"}, {name: "change"}, {name: "operations"}, {name: "rows"}, {name: "parts"}, {name: "bytes"}, {name: "tags"},
	})
	listed := 0
	for v, err := range client.TableVersions(cmd.Context(), name) {
		if err != nil {
			return out.broken(err)
		}
		if err := out.Row(versionCells(v)); err != nil {
			return outputError(err)
		}
		if listed++; listed == limit {
			break
		}
	}
	return out.Close()
}

func versionCells(v sdk.TableVersion) []cell {
	tags := v.Tags
	if tags == nil {
		tags = []string{}
	}
	return []cell{
		numberCell(uint64(v.Version)), timeCell(v.MadeAt), textCell(v.Change), numberCell(v.Operations),
		numberCell(v.Rows), numberCell(v.Parts), numberCell(v.Bytes),
		{text: strings.Join(tags, ","), value: tags},
	}
}
