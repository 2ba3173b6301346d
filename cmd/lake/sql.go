// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/lakeplane/lake/internal/progress"
	"github.com/lakeplane/lake/internal/schemadsl"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// sqlFlags are what `lake sql` is asked for beside its text.
type sqlFlags struct {
	params []string
	timing bool
}

func (a *app) sqlCommand() *cobra.Command {
	var f sqlFlags
	c := &cobra.Command{
		Use:   "sql [QUERY]",
		Short: "Run a SELECT and print its rows, or ask for statements",
		Long: "Runs one SELECT over namespace.table and prints the rows as they arrive.\n" +
			"QUERY \"-\" reads the text from standard input. In a table a null is NULL;\n" +
			"in csv it is an empty field and an empty text is \"\". The format arrow is an\n" +
			"Arrow IPC stream.\n\n" +
			"Without QUERY it asks for statements, each ended by ;, and \\? tells what else it\n" +
			"knows. When standard input is no terminal, it runs the statements found there,\n" +
			"up to the first that fails.",
		Example: "  lake sql 'SELECT robot_id, count(*) AS n FROM robots.episodes GROUP BY ALL ORDER BY ALL'\n" +
			"  lake sql --param 42 --param pick 'SELECT * FROM robots.episodes WHERE id = ? AND task = ?'\n" +
			"  lake sql --format arrow 'FROM robots.episodes' > episodes.arrows",
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkArrowOutput(a.stdout, a.format); err != nil {
				return err
			}
			if len(args) == 0 {
				return a.statements(cmd, f)
			}
			query := args[0]
			if query == "-" {
				text, err := a.readSQL()
				if err != nil {
					return err
				}
				query = text
			}
			return a.sql(cmd, query, f)
		},
	}
	c.Flags().StringArrayVar(&f.params, "param", nil, "value of the next placeholder (?): a number, true, false, null, or text; text:42 is text")
	c.Flags().BoolVar(&f.timing, "timing", true, "say how many rows there were and how long it took, on standard error")
	return c
}

func (a *app) readSQL() (string, error) {
	text, err := io.ReadAll(io.LimitReader(a.stdin, lake.MaxSQLBytes+1))
	if err != nil {
		return "", lake.Errorf(lake.Invalid, "read the query: %w", err)
	}
	return string(text), nil
}

func (a *app) sql(cmd *cobra.Command, query string, f sqlFlags) error {
	c, err := a.client(cmd.Context())
	if err != nil {
		return err
	}
	defer c.Close()
	return a.printQuery(cmd.Context(), c, query, f)
}

func (a *app) printQuery(ctx context.Context, c *sdk.Client, query string, f sqlFlags) error {
	p, err := printQuery(ctx, c, a.stdout, a.format, query, parameters(f.params))
	if err == nil && f.timing {
		a.note("%s in %s", counted(p.rows, "row"), p.took.Round(time.Millisecond))
	}
	return err
}

// statements runs what standard input holds, or asks for it at a terminal.
func (a *app) statements(cmd *cobra.Command, f sqlFlags) error {
	c, err := a.client(cmd.Context())
	if err != nil {
		return err
	}
	defer c.Close()
	if in, out, ok := a.terminal(); ok {
		return newPrompt(a, c, in, out, f).run(context.WithoutCancel(cmd.Context()))
	}
	text, err := a.readSQL()
	if err != nil {
		return err
	}
	for {
		statement, rest, _ := cutStatement(text)
		if !saysNothing(statement) {
			if err := a.printQuery(cmd.Context(), c, statement, f); err != nil {
				return err
			}
		}
		if text = rest; text == "" {
			return nil
		}
	}
}

// terminal returns the terminal that standard input and output are.
func (a *app) terminal() (in, out *os.File, ok bool) {
	in, inOK := a.stdin.(*os.File)
	out, outOK := a.stdout.(*os.File)
	ok = inOK && outOK && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
	return in, out, ok
}

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
	c := cell{value: exactValue(arr, i), right: arrow.IsInteger(id) || arrow.IsFloating(id) || arrow.IsDecimal(id)}
	switch arr.(type) {
	case *array.String, *array.Decimal128:
		c.text, c.value = c.value.(string), nil
	case array.ListLike, *array.Struct:
		var text strings.Builder
		_ = writeJSON(&text, c.value) // of values that JSON has
		c.text = text.String()
	default:
		c.text = arr.ValueStr(i)
	}
	return c
}

// exactValue is a value for JSON. It differs from Arrow's own in that decimals keep
// their scale, wherever they are: 12.50 is not 12.5 on a bill.
func exactValue(arr arrow.Array, i int) any {
	if arr.IsNull(i) {
		return nil
	}
	switch a := arr.(type) {
	case *array.String:
		return strings.ToValidUTF8(a.Value(i), "\uFFFD")
	case *array.Decimal128:
		return a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)
	case array.ListLike:
		start, end := a.ValueOffsets(i)
		items := make([]any, 0, end-start)
		for at := start; at < end; at++ {
			items = append(items, exactValue(a.ListValues(), int(at)))
		}
		return items
	case *array.Struct:
		fields := make(map[string]any, a.NumField())
		for f, field := range a.DataType().(*arrow.StructType).Fields() {
			fields[field.Name] = exactValue(a.Field(f), i)
		}
		return fields
	}
	return arr.GetOneForMarshal(i)
}
