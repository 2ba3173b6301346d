// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/internal/ingest"
	"github.com/lakeplane/lake/internal/ingest/journal"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// ingestFlags are the flags of ingest.
type ingestFlags struct {
	create    bool
	columns   []string
	noHeader  bool
	delimiter string
	resume    bool
	startOver bool
	state     string
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
			"written, as far as their headers tell.\n\n" +
			"How far it got is kept in a journal until it is done. After an interrupt, a\n" +
			"failure or the end of the machine, --resume goes on where it stopped: no row is\n" +
			"left out and none appended twice. Files that changed, other options or a table\n" +
			"that was made again are refused.",
		Example: "  lake ingest robots.episodes run-17.parquet run-18.parquet",
		Args:    arguments(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := tableName(args[0])
			if err != nil {
				return err
			}
			return a.ingest(cmd.Context(), &ingestion{app: a, name: name, files: args[1:], flags: f, again: resumeCommand(cmd, args)})
		},
	}
	flags := c.Flags()
	flags.BoolVar(&f.create, "create", true, "create the table when it does not exist")
	flags.StringSliceVar(&f.columns, "columns", nil, "read only these columns, by name and comma separated")
	flags.BoolVar(&f.noHeader, "no-header", false, "the first record of a CSV file is data")
	flags.StringVar(&f.delimiter, "delimiter", "", "the character between the fields of a CSV file; found by itself when absent")
	flags.BoolVar(&f.resume, resumeFlag, false, "go on with an ingest of the same files that was not finished")
	flags.BoolVar(&f.startOver, startOverFlag, false, "forget an ingest of the same files that was not finished, and append everything again")
	flags.StringVar(&f.state, "state", "", "where journals are kept (default $XDG_STATE_HOME/lake/ingest or ~/.local/state/lake/ingest)")
	return c
}

func (f ingestFlags) options(target *arrow.Schema) (ingest.Options, error) {
	opts := ingest.Options{Columns: f.columns, Target: target, NoHeader: f.noHeader, BatchRows: lake.MaxAppendRows}
	if f.resume && f.startOver {
		return opts, usagef("--resume excludes --start-over")
	}
	if f.delimiter != "" {
		r, size := utf8.DecodeRuneInString(f.delimiter)
		if size != len(f.delimiter) || r == utf8.RuneError || r == '"' || r == '\n' || r == '\r' {
			return opts, usagef("--delimiter %q: want one character", f.delimiter)
		}
		opts.Delimiter = r
	}
	return opts, nil
}

// ingestion is one run of the command.
type ingestion struct {
	*app
	client *sdk.Client
	name   lake.TableName
	files  []string
	flags  ingestFlags
	again  string // the command that resumes it

	book *journal.Journal
	opts ingest.Options
}

// ingest appends files to a table.
func (a *app) ingest(ctx context.Context, in *ingestion) (err error) {
	if _, err := in.flags.options(nil); err != nil {
		return err
	}
	if in.client, err = a.client(ctx); err != nil {
		return err
	}
	defer in.client.Close()
	if err := in.openJournal(); err != nil {
		return err
	}
	defer func() { err = in.closeJournal(err) }()
	if err := in.prepare(ctx); err != nil {
		return err
	}
	for i := range in.files {
		if err := in.file(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// prepare finds or makes the table, looks at the files, and makes sure that the
// journal is of both.
func (in *ingestion) prepare(ctx context.Context) error {
	table, err := in.table(ctx)
	if err != nil {
		return err
	}
	if in.opts, err = in.flags.options(table.Schema); err != nil {
		return err
	}
	job, err := in.job(table)
	if err != nil {
		return err
	}
	if in.flags.resume {
		if what := in.book.Differs(job); what != "" {
			return in.refuse(what)
		}
		return nil // the files were looked at, and are what they were
	}
	for _, path := range in.files[1:] { // the first was looked at for the table
		if err := inspect(ctx, path, in.opts); err != nil {
			return err
		}
	}
	return in.book.Begin(job)
}

// table returns the table, which it creates if there is none.
func (in *ingestion) table(ctx context.Context) (sdk.Table, error) {
	t, err := in.client.Table(ctx, in.name)
	if in.flags.resume {
		if lake.Is(err, lake.NotFound) {
			return t, in.refuse("the table does not exist any more")
		}
		return t, err
	}
	if err == nil {
		opts, err := in.flags.options(t.Schema)
		if err != nil {
			return t, err
		}
		return t, inspect(ctx, in.files[0], opts)
	}
	if !lake.Is(err, lake.NotFound) {
		return t, err
	}
	if !in.flags.create {
		return t, lake.Errorf(lake.NotFound, "%w (without --create=false it would be created)", err)
	}
	return in.create(ctx)
}

// create makes the table with the columns of the first file.
func (in *ingestion) create(ctx context.Context) (sdk.Table, error) {
	opts, err := in.flags.options(nil)
	if err != nil {
		return sdk.Table{}, err
	}
	schema, err := in.probe(ctx, in.files[0], opts)
	if err != nil {
		return sdk.Table{}, err
	}
	t, err := in.client.CreateTable(ctx, in.name, schema)
	if err != nil {
		return t, err
	}
	t.Schema = schema
	in.note("created table %s with the %s of %s", in.name, counted(int64(schema.NumFields()), "column"), filepath.Base(in.files[0]))
	return t, nil
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
