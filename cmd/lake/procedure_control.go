// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/sdk"
)

const pauseHelp = "Holds a procedure: what is under way ends its page first. The pause is in the metastore, so it\n" +
	"outlives the workflow, the worker and Temporal's database, until `lake procedure resume`."

const cancelHelp = "Ends a procedure before it is done, and prints what that leaves behind and how to go on.\n" +
	"To hold one for a while, pause it; to take a drop back, use `lake table undrop`."

// orderCommand gives an order that has nothing but a reason.
func (a *app) orderCommand(name, short, long string, order func(reason string) sdk.Order) *cobra.Command {
	var reason string
	if long == "" {
		long = short + "."
	}
	c := &cobra.Command{
		Use: name + " ID", Short: short, Long: long + "\n\nWho gave the order, when and why is shown by `lake procedure show`.",
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return a.control(cmd, args[0], order(reason)) },
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the audit")
	if name == "cancel" {
		_ = c.MarkFlagRequired("reason") // it is there: a line above
	}
	return c
}

func (a *app) procedureApproveCommand() *cobra.Command {
	var reason string
	var acknowledgements []string
	c := &cobra.Command{
		Use:   "approve ID",
		Short: "Pass the point of no return of a procedure that waits for it",
		Long: "Approves what cannot be taken back. Each acknowledgement is given on its own: `lake procedure show`\n" +
			"tells which ones are awaited, and the procedure's runbook what each of them means.",
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.control(cmd, args[0], sdk.Approve(reason, acknowledgements...))
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the audit")
	c.Flags().StringArrayVar(&acknowledgements, "acknowledge", nil, "what is confirmed, once for each, such as writer-rollout")
	_ = c.MarkFlagRequired("reason")
	return c
}

func (a *app) procedureRateCommand() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "rate ID PER_SECOND",
		Short: "Bound how many items a procedure handles a second, while it runs",
		Long: "Bounds the items a second of a procedure, such as the objects that a drop deletes, so that it leaves\n" +
			"the store to others. It is in force within seconds; 0 lifts the bound.",
		Args: arguments(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			rate, err := strconv.ParseFloat(args[1], 64)
			if err != nil {
				return usagef("rate %q: want a number of items a second, 0 for no bound", args[1])
			}
			return a.control(cmd, args[0], sdk.SetRate(rate, reason))
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the audit")
	return c
}

// control gives an order and prints the procedure as it is then.
func (a *app) control(cmd *cobra.Command, arg string, order sdk.Order) error {
	id, err := procedureID(arg)
	if err != nil {
		return err
	}
	client, err := a.client(cmd.Context())
	if err != nil {
		return err
	}
	defer client.Close()
	done, err := client.Control(cmd.Context(), id, order)
	if err != nil {
		return err
	}
	if done.LeavesBehind != "" {
		a.note("left behind: %s", done.LeavesBehind)
	}
	if !done.WorkflowTold {
		a.note("no open workflow could be told; the order is recorded and holds at the procedure's next step")
	}
	if a.format == "table" {
		return a.lines(done.Procedure)
	}
	out := a.rows(append(procedureHeadings, heading{name: "leaves_behind"}, heading{name: "workflow_told"}))
	err = out.Row(append(procedureCells(done.Procedure),
		cell{text: done.LeavesBehind, null: done.LeavesBehind == ""}, cell{text: fmt.Sprint(done.WorkflowTold), value: done.WorkflowTold}))
	if err != nil {
		return outputError(err)
	}
	return out.Close()
}

// lines prints one procedure, a line a field.
func (a *app) lines(p sdk.Procedure) error {
	cells := procedureCells(p)
	for i, h := range procedureHeadings {
		if cells[i].null || cells[i].text == "" {
			continue
		}
		if _, err := fmt.Fprintf(a.stdout, "%-12s %s\n", h.name, oneLine(cells[i].text)); err != nil {
			return outputError(err)
		}
	}
	for _, line := range remarks(p) {
		if _, err := fmt.Fprintf(a.stdout, "%-12s %s\n", line[0], oneLine(line[1])); err != nil {
			return outputError(err)
		}
	}
	return nil
}

// remarks are what only some procedures have.
func remarks(p sdk.Procedure) (lines [][2]string) {
	if p.Rate > 0 {
		lines = append(lines, [2]string{"rate", fmt.Sprintf("%g a second", p.Rate)})
	}
	if p.Stopped {
		lines = append(lines, [2]string{"stopped", "by an operator; `lake procedure retry` goes on"})
	}
	if len(p.Awaited) > 0 {
		lines = append(lines, [2]string{"approve by", "lake procedure approve " + p.ProcedureID.String() + " --acknowledge " + strings.Join(p.Awaited, " --acknowledge ") + " --reason …"})
	}
	if p.Approval != nil {
		lines = append(lines, [2]string{"approved", fmt.Sprintf("by %s, %s", p.Approval.By, strings.Join(p.Approval.Acknowledgements, ", "))})
	}
	return lines
}
