// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/internal/schemadsl"
	"github.com/lakeplane/lake/sdk"
)

func (a *app) tableDescribeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "describe NAMESPACE.TABLE",
		Short: "Show a table's columns and where it is",
		Long:  "Shows a table's columns, current version and location. csv prints the columns only.",
		Args:  arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := tableName(args[0])
			if err != nil {
				return err
			}
			client, err := a.client(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			t, err := client.Table(cmd.Context(), name)
			if err != nil {
				return err
			}
			return a.describe(t)
		},
	}
}

func (a *app) describe(t sdk.Table) error {
	if a.format == "json" {
		return a.describeJSON(t)
	}
	if a.format == "table" {
		s := t.Snapshot
		for _, line := range [][2]string{
			{"table", t.Name.String()},
			{"version", fmt.Sprint(s.Version)},
			{"engine", s.Engine},
			{"location", string(s.Location)},
			{"incarnation", s.Incarnation.String()},
			{"created", t.CreatedAt.UTC().Format(time.RFC3339)},
			{"updated", t.UpdatedAt.UTC().Format(time.RFC3339)},
			{"compact", fmt.Sprint(t.Options().Compact)},
		} {
			if _, err := fmt.Fprintf(a.stdout, "%-12s %s\n", line[0], printable(line[1], math.MaxInt)); err != nil {
				return outputError(err)
			}
		}
		if _, err := fmt.Fprintln(a.stdout); err != nil {
			return outputError(err)
		}
	}
	out := a.rows([]heading{{name: "column"}, {name: "type"}, {name: "nullable"}})
	for _, f := range t.Schema.Fields() {
		kind, _ := schemadsl.FormatType(f.Type, false)
		if err := out.Row([]cell{textCell(f.Name), textCell(kind), {text: fmt.Sprint(f.Nullable)}}); err != nil {
			return outputError(err)
		}
	}
	return out.Close()
}

// describedColumn is a column in JSON.
type describedColumn struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Nullable bool   `json:"nullable"`
}

func (a *app) describeJSON(t sdk.Table) error {
	out := a.rows([]heading{
		{name: "table"},
		{name: "version"},
		{name: "engine"},
		{name: "location"},
		{name: "incarnation"},
		{name: "created"},
		{name: "updated"},
		{name: "compact"},
		{name: "columns"},
	})
	s := t.Snapshot
	err := out.Row([]cell{
		textCell(t.Name.String()), numberCell(uint64(s.Version)), textCell(s.Engine), textCell(string(s.Location)), textCell(s.Incarnation.String()),
		timeCell(t.CreatedAt), timeCell(t.UpdatedAt),
		{value: t.Options().Compact},
		{value: describedColumns(t.Schema)},
	})
	if err != nil {
		return outputError(err)
	}
	return out.Close()
}

func describedColumns(s *arrow.Schema) []describedColumn {
	columns := make([]describedColumn, s.NumFields())
	for i, f := range s.Fields() {
		kind, _ := schemadsl.FormatType(f.Type, false)
		columns[i] = describedColumn{f.Name, kind, f.Nullable}
	}
	return columns
}
