// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

func (a *app) tableTagCommand() *cobra.Command {
	var opts sdk.TagOptions
	var version uint64
	c := &cobra.Command{
		Use:   "tag NAMESPACE.TABLE TAG",
		Short: "Keep a version under a name",
		Long: "Names a version of a table: the current one, or --version. Table maintenance, and\n" +
			"other Lance clients that clean up, keep it until `lake table untag`. Tags do not\n" +
			"move. Who tagged what and why is in the audit of the table's maintenance.",
		Example: "  lake table tag robots.episodes train-2026-11 --version 412 --reason \"model 7\"",
		Args:    arguments(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Version = lake.Version(version)
			return a.tags(cmd, args[0], func(ctx context.Context, client *sdk.Client, name lake.TableName) ([]sdk.TableTag, error) {
				t, err := client.TagTable(ctx, name, args[1], opts)
				return []sdk.TableTag{t}, err
			})
		},
	}
	c.Flags().Uint64Var(&version, "version", 0, "the version to keep; 0 is the current one")
	c.Flags().StringVar(&opts.Reason, "reason", "", "what it is kept for")
	return c
}

func (a *app) tableUntagCommand() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "untag NAMESPACE.TABLE TAG",
		Short: "Remove a name, and let maintenance give up its version",
		Args:  arguments(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.tags(cmd, args[0], func(ctx context.Context, client *sdk.Client, name lake.TableName) ([]sdk.TableTag, error) {
				t, err := client.UntagTable(ctx, name, args[1], reason)
				return []sdk.TableTag{t}, err
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why it is not needed any more")
	return c
}

func (a *app) tableTagsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tags NAMESPACE.TABLE",
		Short: "List the names that keep versions",
		Args:  arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.tags(cmd, args[0], func(ctx context.Context, client *sdk.Client, name lake.TableName) ([]sdk.TableTag, error) {
				return client.TableTags(ctx, name)
			})
		},
	}
}

// tags makes a call on the tags of a table and prints those it returns.
func (a *app) tags(cmd *cobra.Command, arg string, call func(context.Context, *sdk.Client, lake.TableName) ([]sdk.TableTag, error)) error {
	name, err := tableName(arg)
	if err != nil {
		return err
	}
	client, err := a.client(cmd.Context())
	if err != nil {
		return err
	}
	defer client.Close()
	tags, err := call(cmd.Context(), client, name)
	if err != nil {
		return err
	}
	out := a.rows([]heading{{name: "tag"}, {name: "version"}})
	for _, t := range tags {
		if err := out.Row([]cell{textCell(t.Tag), numberCell(uint64(t.Version))}); err != nil {
			return outputError(err)
		}
	}
	return out.Close()
}
