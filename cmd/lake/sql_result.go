// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"golang.org/x/term"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// batchPrinter prints the batches of a result in one format.
type batchPrinter interface {
	Batch(b arrow.RecordBatch) error
	Close() error
}

// printer returns the printer of a format.
func printer(out io.Writer, format string, schema *arrow.Schema) batchPrinter {
	if format == "arrow" {
		buffered := bufio.NewWriter(out)
		return &arrowPrinter{out: buffered, ipc: ipc.NewWriter(buffered, ipc.WithSchema(schema))}
	}
	rows := rowsTo(out, format, headings(schema))
	if t, ok := rows.(*tableWriter); ok {
		t.clip = true
	}
	return &rowPrinter{rows}
}

// rowPrinter prints cell by cell.
type rowPrinter struct{ out rowWriter }

// Batch implements batchPrinter.
func (p *rowPrinter) Batch(b arrow.RecordBatch) error { return printBatch(p.out, b) }

// Close implements batchPrinter.
func (p *rowPrinter) Close() error { return p.out.Close() }

// arrowPrinter prints an Arrow IPC stream.
type arrowPrinter struct {
	out *bufio.Writer
	ipc *ipc.Writer
}

// Batch implements batchPrinter.
func (p *arrowPrinter) Batch(b arrow.RecordBatch) error { return p.ipc.Write(b) }

// Close implements batchPrinter.
func (p *arrowPrinter) Close() error {
	if err := p.ipc.Close(); err != nil {
		return err
	}
	return p.out.Flush()
}

// checkArrowOutput keeps an IPC stream off a terminal.
func checkArrowOutput(out io.Writer, format string) error {
	if f, ok := out.(*os.File); ok && format == "arrow" && term.IsTerminal(int(f.Fd())) {
		return usagef("format arrow is not for a terminal: send it to a file or a pipe")
	}
	return nil
}

// printed is what became of a statement.
type printed struct {
	rows int64
	took time.Duration
}

// printQuery runs a statement and prints its rows as they arrive.
func printQuery(ctx context.Context, c *sdk.Client, out io.Writer, format, sql string, params []any) (p printed, err error) {
	began := time.Now()
	result, err := c.Query(ctx, sql, params...)
	if err != nil {
		return p, err
	}
	defer result.Release()
	to := printer(out, format, result.Schema())
	for batch, err := range result.Batches() {
		if err != nil {
			if p.rows > 0 { // what was printed is whole rows
				_ = to.Close()
			}
			return p, err
		}
		if err := to.Batch(batch); err != nil {
			return p, outputError(err)
		}
		p.rows += batch.NumRows()
	}
	if err := to.Close(); err != nil {
		return p, outputError(err)
	}
	p.took = time.Since(began)
	return p, nil
}

func outputError(err error) error { return lake.Errorf(lake.Unknown, "print: %w", err) }
