// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/sdk"
)

func (a *app) procedureCommand() *cobra.Command {
	return group("procedure", "Show, watch and control durable procedures",
		a.procedureListCommand(), a.procedureShowCommand(), a.procedureWatchCommand(), a.procedureStartCommand(),
		a.orderCommand("pause", "Hold a procedure", pauseHelp, sdk.Pause),
		a.orderCommand("resume", "Let a procedure that is held go on", "", sdk.Resume),
		a.orderCommand("retry", "Try again now, or begin a cancelled or failed procedure again where it was", "", sdk.Retry),
		a.orderCommand("cancel", "End a procedure before it is done, and say what that leaves behind", cancelHelp, sdk.Cancel),
		a.procedureApproveCommand(), a.procedureRateCommand(), a.procedureRebuildCommand())
}

// procedureID reads "kind/id". An id of three parts is a drop's: the form in
// which people see it beside a table.
func procedureID(arg string) (sdk.ProcedureID, error) {
	if strings.Count(arg, "/") == 2 {
		arg = "drop-table/" + arg
	}
	id, err := sdk.ParseProcedureID(arg)
	if err != nil {
		return id, usageError{err}
	}
	return id, nil
}

// counters prints named counts in order.
func counters(p sdk.Procedure) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.Counters)) {
		parts = append(parts, fmt.Sprintf("%s=%d", name, p.Counters[name]))
	}
	return strings.Join(parts, " ")
}

// procedureHeadings are the columns of a procedure.
var procedureHeadings = []heading{
	{name: "procedure"},
	{name: "state"},
	{name: "phase"},
	{name: "counters"},
	{name: "total"},
	{name: "per_second"},
	{name: "eta"},
	{name: "epoch"},
	{name: "created"},
	{name: "updated"},
	{name: "last_error"},
	{name: "ui"},
}

func procedureCells(p sdk.Procedure) []cell {
	return []cell{
		textCell(p.ProcedureID.String()), textCell(string(p.State)), textCell(p.Phase),
		{text: counters(p), value: p.Counters},
		totalCell(p.Progress), rateCell(p.Progress), etaCell(p.Progress),
		numberCell(p.Epoch), timeCell(p.CreatedAt), timeCell(p.UpdatedAt),
		{text: p.LastError, null: p.LastError == ""},
		linkCell(p.UIURL),
	}
}

// summary is a procedure in one line.
func summary(p sdk.Procedure) string {
	text := string(p.State)
	if p.Cancelling {
		text += ", being cancelled"
	}
	if p.Phase != "" {
		text += ", " + p.Phase
	}
	if c := counters(p); c != "" {
		text += ", " + c
	}
	text += progressText(p, time.Now())
	if p.LastError != "" {
		text += ", last error: " + oneLine(p.LastError)
	}
	return text
}
