// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lakeplane/lake/internal/ingest"
	"github.com/lakeplane/lake/internal/ingest/journal"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

const (
	resumeFlag    = "resume"
	startOverFlag = "start-over"
)

// defaultIngestState is where a user's journals are.
func defaultIngestState() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "lake", "ingest"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", lake.Errorf(lake.Invalid, "%w, and XDG_STATE_HOME is not set: say where to keep journals with --state", err)
	}
	return filepath.Join(home, ".local", "state", "lake", "ingest"), nil
}

// openJournal opens the journal of this ingestion, and refuses to begin one
// that was begun or to resume one that was not.
func (in *ingestion) openJournal() error {
	if err := in.findJournal(); err != nil {
		return err
	}
	if in.flags.startOver || in.book.Job() != nil && !in.book.Started() {
		if err := in.book.Reset(); err != nil {
			return errors.Join(err, in.book.Close())
		}
	}
	switch begun := in.book.Job() != nil; {
	case in.flags.resume && !begun:
		return errors.Join(lake.Errorf(lake.NotFound, "nothing to resume: no unfinished ingest of these files into table %s is known in %s", in.name, filepath.Dir(in.book.Path())), in.book.Remove())
	case begun && !in.flags.resume:
		return errors.Join(lake.Errorf(lake.Precondition, "an earlier ingest of these files into table %s was not finished, %s of them are in the table: go on with --resume, or append everything again with --start-over", in.name, counted(in.inTable(), "row")), in.book.Close())
	}
	return nil
}

// findJournal opens the file. Where no journal can be kept and nobody asked for
// one, the ingestion goes on without.
func (in *ingestion) findJournal() error {
	dir, err := in.flags.state, error(nil)
	if dir == "" {
		dir, err = defaultIngestState()
	}
	paths := make([]string, len(in.files))
	for i, path := range in.files {
		absolute, e := filepath.Abs(path)
		paths[i], err = absolute, errors.Join(err, e)
	}
	if err == nil {
		in.book, err = journal.Open(dir, in.name, paths)
	}
	homeless := lake.Is(err, lake.Denied) || lake.Is(err, lake.Unavailable) || in.book == nil && dir == ""
	if err != nil && homeless && in.flags.state == "" && !in.flags.resume {
		in.note("no journal can be kept, so this ingest cannot be resumed: %s", oneLine(err.Error()))
		in.book, err = journal.Forgetful(), nil
	}
	return err
}

// inTable is how many rows are known to be in the table.
func (in *ingestion) inTable() (rows int64) {
	for i := range in.book.Job().Files {
		rows += in.book.File(i).Rows
	}
	return rows
}

// closeJournal removes the journal of what is over. It leaves that of what can
// go on, and says how.
func (in *ingestion) closeJournal(err error) error {
	if err == nil || !in.book.Started() {
		return errors.Join(err, in.book.Remove())
	}
	if in.book.Path() != "" && !errors.As(err, new(refusal)) {
		in.note("to go on where it stopped: %s", in.again)
	}
	return errors.Join(err, in.book.Close())
}

// refusal is that a journal cannot be resumed.
type refusal struct{ error }

// Unwrap returns the reason.
func (r refusal) Unwrap() error { return r.error }

func (in *ingestion) refuse(what string) error {
	return refusal{lake.Errorf(lake.Precondition, "the ingest into table %s cannot be resumed: %s (--start-over appends everything again; %s of the files are in the table it was begun with)", in.name, what, counted(in.inTable(), "row"))}
}

// job is what this run ingests.
func (in *ingestion) job(table sdk.Table) (journal.Job, error) {
	job := journal.Job{
		Table: in.name, Incarnation: table.Snapshot.Incarnation,
		Cut: journal.Cut{Columns: in.flags.columns, NoHeader: in.flags.noHeader, Delimiter: in.flags.delimiter, BatchRows: in.opts.BatchRows},
	}
	for _, path := range in.files {
		id, err := ingest.Identify(path)
		if err != nil {
			return job, err
		}
		job.Files = append(job.Files, id)
	}
	return job, nil
}

// resumeCommand is the command line that resumes this one: with the same flags
// and arguments.
func resumeCommand(cmd *cobra.Command, args []string) string {
	words := strings.Fields(cmd.CommandPath())
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name == resumeFlag || f.Name == startOverFlag {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = csvFields(list.GetSlice())
		}
		for _, v := range values {
			words = append(words, "--"+f.Name+"="+v)
		}
	})
	words = append(words, "--"+resumeFlag)
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") }) {
		words = append(words, "--")
	}
	words = append(words, args...)
	for i, w := range words {
		words[i] = shellWord(w)
	}
	return strings.Join(words, " ")
}

// csvFields quotes values as a flag for a list of values reads them.
func csvFields(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		var text strings.Builder
		w := csv.NewWriter(&text)
		_ = w.Write([]string{v}) // a strings.Builder takes everything
		w.Flush()
		out[i] = strings.TrimSuffix(text.String(), "\n")
	}
	return out
}

// shellWord quotes a word for a POSIX shell where that is needed.
func shellWord(w string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@%+", r)
	}
	if w != "" && strings.IndexFunc(w, func(r rune) bool { return !safe(r) }) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
