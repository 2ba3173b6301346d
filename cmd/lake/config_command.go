// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/cmd/lake/config"
)

func (a *app) configCommand() *cobra.Command {
	show := group("show", "Print the settings in force and where each comes from")
	check := group("check", "Say everything that is wrong with a configuration")
	for _, c := range config.All() {
		show.AddCommand(a.configLeaf(c, "Print the settings of lake "+c.Set().Process, a.showConfig))
		check.AddCommand(a.configLeaf(c, "Check the settings of lake "+c.Set().Process, a.checkConfig))
	}
	return group("config", "Look at the configuration of the server processes", show, check)
}

// configLeaf is a command that takes the flags of a process. It opens the files
// that the configuration names and connects to nothing.
func (a *app) configLeaf(c config.Process, short string, do func(config.Process, error) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: c.Set().Process, Short: short, Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return do(c, a.load(c, cmd.Flags())) },
	}
	addConfig(cmd.Flags())
	c.Set().AddFlags(cmd.Flags())
	return cmd
}

// showConfig prints what is in force also where there are mistakes: they are
// easier to find then.
func (a *app) showConfig(c config.Process, mistakes error) error {
	out := a.rows([]heading{{name: "setting"}, {name: "value"}, {name: "source"}, {name: "variable"}})
	for _, x := range c.Set().Settings() {
		if err := out.Row([]cell{textCell(x.Key), textCell(x.Text()), textCell(x.Source), textCell(x.Env)}); err != nil {
			return outputError(err)
		}
	}
	if err := out.Close(); err != nil {
		return outputError(err)
	}
	return mistakes
}

func (a *app) checkConfig(c config.Process, mistakes error) error {
	if mistakes == nil {
		a.note("the configuration of lake %s is good", c.Set().Process)
	}
	return mistakes
}
