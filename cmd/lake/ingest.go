// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/internal/ingest"
	"github.com/lakeplane/lake/internal/progress"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// appendBytes is about how large one append may become. It is half of what the
// server takes, so that several fit its memory.
const appendBytes = 32 << 20

// ingestFlags are the flags of ingest.
type ingestFlags struct {
	create    bool
	columns   []string
	noHeader  bool
	delimiter string
}

func (a *app) ingestCommand() *cobra.Command {
	var f ingestFlags
	c := &cobra.Command{
		Use:   "ingest NAMESPACE.TABLE FILE…",
		Short: "Append the rows of Parquet, Arrow IPC or CSV files",
		Long: "Appends the rows of files to a table, which is created with the columns of the\n" +
			"first file when it does not exist. The rows go in as a sequence of appends of\n" +
			"at most 10,000 rows and 32 MiB; each is applied once, whatever the network\n" +
			"does. Columns are matched by name. Files are checked before anything is\n" +
			"written, as far as their headers tell.",
		Example: "  lake ingest robots.episodes run-17.parquet run-18.parquet",
		Args:    arguments(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := tableName(args[0])
			if err != nil {
				return err
			}
			return a.ingest(cmd.Context(), name, args[1:], f)
		},
	}
	flags := c.Flags()
	flags.BoolVar(&f.create, "create", true, "create the table when it does not exist")
	flags.StringSliceVar(&f.columns, "columns", nil, "read only these columns, by name and comma separated")
	flags.BoolVar(&f.noHeader, "no-header", false, "the first record of a CSV file is data")
	flags.StringVar(&f.delimiter, "delimiter", "", "the character between the fields of a CSV file; found by itself when absent")
	return c
}

func (f ingestFlags) options(target *arrow.Schema) (ingest.Options, error) {
	opts := ingest.Options{Columns: f.columns, Target: target, NoHeader: f.noHeader}
	if f.delimiter != "" {
		r, size := utf8.DecodeRuneInString(f.delimiter)
		if size != len(f.delimiter) || r == utf8.RuneError || r == '"' || r == '\n' || r == '\r' {
			return opts, usagef("--delimiter %q: want one character", f.delimiter)
		}
		opts.Delimiter = r
	}
	return opts, nil
}

// ingest appends files to a table.
func (a *app) ingest(ctx context.Context, name lake.TableName, files []string, f ingestFlags) error {
	if _, err := f.options(nil); err != nil {
		return err
	}
	client, err := a.client(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	target, err := a.target(ctx, client, name, files[0], f)
	if err != nil {
		return err
	}
	opts, err := f.options(target)
	if err != nil {
		return err
	}
	for _, path := range files[1:] { // the first was looked at for the target
		if err := inspect(ctx, path, opts); err != nil {
			return err
		}
	}
	for _, path := range files {
		if err := a.ingestFile(ctx, client, name, path, opts); err != nil {
			return err
		}
	}
	return nil
}

// target returns the schema of the table, which it creates if there is none.
func (a *app) target(ctx context.Context, client *sdk.Client, name lake.TableName, first string, f ingestFlags) (*arrow.Schema, error) {
	t, err := client.Table(ctx, name)
	if err == nil {
		opts, err := f.options(t.Schema)
		if err != nil {
			return nil, err
		}
		return t.Schema, inspect(ctx, first, opts)
	}
	if !lake.Is(err, lake.NotFound) {
		return nil, err
	}
	if !f.create {
		return nil, lake.Errorf(lake.NotFound, "%w (without --create=false it would be created)", err)
	}
	opts, err := f.options(nil)
	if err != nil {
		return nil, err
	}
	schema, err := a.probe(ctx, first, opts)
	if err != nil {
		return nil, err
	}
	if _, err := client.CreateTable(ctx, name, schema); err != nil {
		return nil, err
	}
	a.note("created table %s with the %s of %s", name, counted(int64(schema.NumFields()), "column"), filepath.Base(first))
	return schema, nil
}

// probe reads the first rows of a file as well as its schema, so that most
// damaged files are found out before a table is made for them.
func (a *app) probe(ctx context.Context, path string, opts ingest.Options) (*arrow.Schema, error) {
	source, err := ingest.Open(ctx, path, opts)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	for _, note := range source.Notes() {
		a.note("%s: %s", filepath.Base(path), note)
	}
	batch, err := source.Next(ctx)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if batch != nil {
		batch.Release()
	}
	return source.Schema(), nil
}

// inspect opens a file and closes it again.
func inspect(ctx context.Context, path string, opts ingest.Options) error {
	source, err := ingest.Open(ctx, path, opts)
	if err != nil {
		return err
	}
	return source.Close()
}

// ingestFile appends one file and says how it went.
func (a *app) ingestFile(ctx context.Context, client *sdk.Client, name lake.TableName, path string, opts ingest.Options) error {
	source, err := ingest.Open(ctx, path, opts)
	if err != nil {
		return err
	}
	defer source.Close()
	run := &ingestRun{client: client, table: name, source: source, bar: progress.New(a.stderr, filepath.Base(path)), began: time.Now()}
	err = run.all(ctx)
	run.bar.Clear()
	if err != nil {
		return run.explain(err)
	}
	a.note("%s: %s in %s appended to %s, version %d (%s, %s)", filepath.Base(path), counted(run.rows, "row"),
		counted(run.appends, "append"), name, run.version, time.Since(run.began).Round(time.Millisecond), run.rate())
	return nil
}

// ingestRun is one file on its way into a table.
type ingestRun struct {
	client *sdk.Client
	table  lake.TableName
	source *ingest.Source
	bar    *progress.Bar
	began  time.Time

	rows, bytes, appends int64
	version              lake.Version
}

func (r *ingestRun) all(ctx context.Context) error {
	for {
		batch, err := r.source.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = r.append(ctx, batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
}

// append appends a batch, in halves while it is too large for one append.
func (r *ingestRun) append(ctx context.Context, batch arrow.RecordBatch) error {
	pending, err := r.client.PrepareAppend(r.table, batch)
	tooLarge := err == nil && pending.Bytes() > appendBytes || lake.Is(err, lake.Exhausted)
	if tooLarge && batch.NumRows() > 1 {
		return r.halves(ctx, batch)
	}
	if err != nil {
		return err
	}
	result, err := pending.Resume(ctx)
	if err != nil {
		return err
	}
	r.rows, r.bytes, r.appends = r.rows+pending.Rows(), r.bytes+pending.Bytes(), r.appends+1
	r.version = max(r.version, result.Version)
	r.show()
	return nil
}

func (r *ingestRun) halves(ctx context.Context, batch arrow.RecordBatch) error {
	middle := batch.NumRows() / 2
	for _, bounds := range [][2]int64{{0, middle}, {middle, batch.NumRows()}} {
		half := batch.NewSlice(bounds[0], bounds[1])
		err := r.append(ctx, half)
		half.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *ingestRun) show() {
	s := progress.Status{Text: fmt.Sprintf("%s, %s, %s", counted(r.rows, "row"), progress.Bytes(r.bytes), r.rate())}
	s.Done, s.Total = r.source.Progress()
	if total := r.source.Rows(); total > 0 {
		s.Done, s.Total = r.rows, total
	}
	r.bar.Update(s)
}

func (r *ingestRun) rate() string {
	seconds := max(time.Since(r.began).Seconds(), 0.001)
	return progress.Count(int64(float64(r.rows)/seconds)) + " rows/s"
}

// explain says how far the file got, so that the rest can be ingested.
func (r *ingestRun) explain(err error) error {
	if r.rows == 0 {
		return err
	}
	return lake.Errorf(lake.KindOf(err), "%w (%s of the file are in table %s)", err, counted(r.rows, "row"), r.table)
}
