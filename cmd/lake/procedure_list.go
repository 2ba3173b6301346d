// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/workflows"
)

var procedureStates = []sdk.ProcedureState{sdk.Pending, sdk.Running, sdk.Paused, sdk.Completed, sdk.Failed, sdk.Cancelled}

func stateNames() string {
	names := make([]string, len(procedureStates))
	for i, s := range procedureStates {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

func (a *app) procedureListCommand() *cobra.Command {
	var kind, state string
	var open bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List procedures, the finished ones too",
		Args:  arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if open && sdk.ProcedureState(state).Terminal() {
				return usagef("--open excludes --state %s, in which a procedure has ended", state)
			}
			if state != "" && !slices.Contains(procedureStates, sdk.ProcedureState(state)) {
				return usagef("--state %q: want %s", state, stateNames())
			}
			client, err := a.client(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			out := a.rows(procedureHeadings)
			for p, err := range client.ListProcedures(cmd.Context(), kind) {
				if err != nil {
					return out.broken(err)
				}
				if open && p.State.Terminal() || state != "" && string(p.State) != state {
					continue
				}
				if err := out.Row(procedureCells(p)); err != nil {
					return outputError(err)
				}
			}
			if out.rows == 0 && kind != "" && !slices.Contains(workflows.Kinds, workflows.Kind(kind)) {
				// A server of a newer release may know it.
				a.note("nothing of kind %q; this release knows %v", kind, workflows.Kinds)
			}
			return out.Close()
		},
	}
	c.Flags().StringVar(&kind, "kind", "", "only this kind, such as drop-table")
	c.Flags().StringVar(&state, "state", "", "only those in this state: "+stateNames())
	c.Flags().BoolVar(&open, "open", false, "only those that have not ended")
	return c
}
