// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/spf13/cobra"
)

func (a *app) tableCommand() *cobra.Command {
	return group("table", "Create, list, describe, check, compact, maintain, tag, drop and undrop tables",
		a.tableCreateCommand(), a.tableListCommand(), a.tableDescribeCommand(), a.tableVersionsCommand(), a.tableCheckCommand(), a.tableCompactCommand(), a.tableMaintainCommand(), a.tableTagCommand(), a.tableUntagCommand(), a.tableTagsCommand(), a.tableDropCommand(), a.tableUndropCommand())
}

func timeCell(t time.Time) cell {
	if t.IsZero() || t.Unix() == 0 {
		return cell{null: true}
	}
	return textCell(t.UTC().Format(time.RFC3339))
}

func numberCell[T int | int64 | uint64](n T) cell {
	return cell{text: formatNumber(n), value: n, right: true}
}
