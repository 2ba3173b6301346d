// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/sdk"
)

func (a *app) procedureShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show one procedure, and who ordered what, when and why",
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
			audit, err := events(cmd.Context(), client, id)
			if err != nil {
				return err
			}
			if a.format == "table" {
				return a.showLines(p, audit)
			}
			out := a.rows(append(procedureHeadings, heading{name: "rate"}, heading{name: "stopped"}, heading{name: "awaited"}, heading{name: "audit"}))
			err = out.Row(append(procedureCells(p), cell{text: fmt.Sprint(p.Rate), value: p.Rate}, cell{text: fmt.Sprint(p.Stopped), value: p.Stopped},
				cell{text: strings.Join(p.Awaited, " "), value: p.Awaited}, cell{text: auditText(audit), value: auditValue(audit)}))
			if err != nil {
				return outputError(err)
			}
			return out.Close()
		},
	}
}

func events(ctx context.Context, client *sdk.Client, id sdk.ProcedureID) (audit []sdk.Event, err error) {
	for e, err := range client.ProcedureEvents(ctx, id) {
		if err != nil {
			return nil, err
		}
		audit = append(audit, e)
	}
	return audit, nil
}

func (a *app) showLines(p sdk.Procedure, audit []sdk.Event) error {
	if err := a.lines(p); err != nil {
		return err
	}
	for _, e := range audit {
		if _, err := fmt.Fprintf(a.stdout, "%-12s %s\n", "audit", oneLine(eventLine(e))); err != nil {
			return outputError(err)
		}
	}
	return nil
}

// eventLine is an event in one line.
func eventLine(e sdk.Event) string {
	text := fmt.Sprintf("%s %s by %s", e.At.Format(time.RFC3339), e.Action, e.By)
	if e.Via != "" {
		text += " via " + e.Via
	}
	if e.Phase != "" {
		text += " in phase " + e.Phase
	}
	if e.Action == "set-rate" {
		text += fmt.Sprintf(" to %g a second", e.Rate)
	}
	if len(e.Acknowledgements) > 0 {
		text += " acknowledging " + strings.Join(e.Acknowledgements, ", ")
	}
	if e.Reason != "" {
		text += ": " + oneLine(e.Reason)
	}
	return text
}

func auditText(audit []sdk.Event) string {
	lines := make([]string, len(audit))
	for i, e := range audit {
		lines[i] = eventLine(e)
	}
	return strings.Join(lines, "; ")
}

func auditValue(audit []sdk.Event) []map[string]any {
	out := make([]map[string]any, len(audit))
	for i, e := range audit {
		out[i] = map[string]any{
			"action": e.Action, "at": e.At.Format(time.RFC3339Nano), "by": e.By, "via": e.Via, "reason": e.Reason,
			"state": string(e.State), "phase": e.Phase, "rate": e.Rate, "acknowledgements": e.Acknowledgements,
		}
	}
	return out
}
