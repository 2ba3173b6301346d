// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/internal/progress"
	"github.com/lakeplane/lake/internal/schemadsl"
	"github.com/lakeplane/lake/lake"
)

func (a *app) sqlCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sql QUERY",
		Short: "Run one SELECT and print its rows",
		Long: "Runs one SELECT over namespace.table and prints the rows as they arrive.\n" +
			"QUERY \"-\" reads the text from standard input. In a table a null is NULL;\n" +
			"in csv it is an empty field and an empty text is \"\".",
		Example: "  lake sql 'SELECT robot_id, count(*) AS n FROM robots.episodes GROUP BY ALL ORDER BY ALL'",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := args[0]
			if query == "-" {
				text, err := io.ReadAll(io.LimitReader(a.stdin, lake.MaxSQLBytes+1))
				if err != nil {
					return lake.Errorf(lake.Invalid, "read the query: %w", err)
				}
				query = string(text)
			}
			return a.sql(cmd, query)
		},
	}
}

func (a *app) sql(cmd *cobra.Command, query string) (err error) {
	ctx := cmd.Context()
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	began := time.Now()
	result, err := c.Query(ctx, query)
	if err != nil {
		return err
	}
	defer result.Release()
	out := a.rows(headings(result.Schema()))
	if t, ok := out.(*tableWriter); ok {
		t.clip = true
	}
	rows := int64(0)
	for batch, err := range result.Batches() {
		if err != nil {
			if rows > 0 { // what was printed is whole rows
				_ = out.Close()
			}
			return err
		}
		if err := printBatch(out, batch); err != nil {
			return outputError(err)
		}
		rows += batch.NumRows()
	}
	if err := out.Close(); err != nil {
		return outputError(err)
	}
	a.note("%s in %s", counted(rows, "row"), time.Since(began).Round(time.Millisecond))
	return nil
}

func outputError(err error) error { return lake.Errorf(lake.Unknown, "print: %w", err) }

func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return progress.Count(n) + " " + what + "s"
}

func headings(s *arrow.Schema) []heading {
	out := make([]heading, s.NumFields())
	for i, f := range s.Fields() {
		kind, _ := schemadsl.FormatType(f.Type, false)
		out[i] = heading{f.Name, kind}
	}
	return out
}

func printBatch(out rowWriter, b arrow.RecordBatch) error {
	cells := make([]cell, b.NumCols())
	for row := range int(b.NumRows()) {
		for i, column := range b.Columns() {
			cells[i] = valueCell(column, row)
		}
		if err := out.Row(cells); err != nil {
			return err
		}
	}
	return nil
}

// valueCell prints one value of an array.
func valueCell(arr arrow.Array, i int) cell {
	if arr.IsNull(i) || arr.DataType().ID() == arrow.NULL {
		return cell{null: true}
	}
	id := arr.DataType().ID()
	c := cell{text: arr.ValueStr(i), value: arr.GetOneForMarshal(i), right: arrow.IsInteger(id) || arrow.IsFloating(id) || arrow.IsDecimal(id)}
	switch a := arr.(type) {
	case *array.String:
		c.text, c.value = strings.ToValidUTF8(a.Value(i), "\uFFFD"), nil
	case *array.Decimal128:
		// Arrow's own text drops trailing zeros: 12.50 is not 12.5 on a bill.
		c.text = a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)
	}
	return c
}
