// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/internal/ingest"
	"github.com/lakeplane/lake/internal/ingest/journal"
	"github.com/lakeplane/lake/internal/progress"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// appendBytes is about how large one append may become. It is half of what the
// server takes, so that several fit its memory.
const appendBytes = 32 << 20

// file appends file i, or the rest of it, and says how it went.
func (in *ingestion) file(ctx context.Context, i int) error {
	base := filepath.Base(in.files[i])
	before := in.book.File(i)
	if before.Done {
		in.note("%s: %s are in %s already", base, counted(before.Rows, "row"), in.name)
		return nil
	}
	source, err := ingest.Open(ctx, in.files[i], in.opts)
	if err != nil {
		return err
	}
	defer source.Close()
	r := &fileRun{ingestion: in, index: i, source: source, before: before, bar: progress.New(in.stderr, base), began: time.Now()}
	err = r.all(ctx)
	r.bar.Clear()
	if err != nil {
		return r.explain(err)
	}
	in.note("%s: %s in %s appended to %s, version %d (%s%s, %s)", base, counted(r.rows, "row"), counted(r.appends, "append"),
		in.name, in.book.File(i).Version, r.earlier(), time.Since(r.began).Round(time.Millisecond), r.rate())
	return nil
}

// fileRun is one file on its way into a table.
//
// The file is read in batches, and a batch is one append, or is halved until
// its parts are small enough for one each. Both are the same in every run over
// the same file, which is what makes a run resumable: it begins at the batch
// with the first row that is not in the table, passes over the parts that are,
// and finds the one that may be by its rows.
type fileRun struct {
	*ingestion
	index  int
	source *ingest.Source
	before journal.Progress // when this run began
	bar    *progress.Bar
	began  time.Time

	skipped              int64 // of the progress, what earlier runs did
	rows, bytes, appends int64 // of this run
}

// part is some rows of a batch.
type part struct {
	rows             arrow.RecordBatch
	first            int64 // rows of the file before the part
	batch, batchRows int64 // rows before the batch, and in it
}

func (p part) end() int64 { return p.first + p.rows.NumRows() }

func (r *fileRun) all(ctx context.Context) error {
	next := r.before.Batch
	if err := r.source.Skip(ctx, next); err != nil {
		return err
	}
	r.skipped, _ = r.source.Progress()
	for {
		batch, err := r.source.Next(ctx)
		if errors.Is(err, io.EOF) {
			return r.done()
		}
		if err != nil {
			return err
		}
		err = r.append(ctx, part{batch, next, next, batch.NumRows()})
		next += batch.NumRows()
		batch.Release()
		if err != nil {
			return err
		}
	}
}

// done makes sure that all rows were of one file.
func (r *fileRun) done() error {
	if at := r.book.File(r.index); at.InDoubt != nil {
		return r.otherRows()
	}
	if err := r.source.Check(r.book.Job().Files[r.index]); err != nil {
		return err
	}
	return r.book.Done(r.index)
}

// append appends a part, in halves where that is needed.
func (r *fileRun) append(ctx context.Context, p part) error {
	at := r.book.File(r.index)
	if p.end() <= at.Rows {
		return nil
	}
	doubt := at.InDoubt
	if p.first < at.Rows || doubt != nil && p.first == doubt.First && p.rows.NumRows() > doubt.Rows {
		return r.halves(ctx, p)
	}
	pending, err := r.client.PrepareAppend(r.name, p.rows)
	tooLarge := errors.Is(err, sdk.ErrTooLarge) || err == nil && pending.Bytes() > appendBytes
	if tooLarge && doubt == nil && p.rows.NumRows() > 1 {
		return r.halves(ctx, p)
	}
	if err != nil {
		return err
	}
	return r.send(ctx, p, pending, doubt)
}

func (r *fileRun) halves(ctx context.Context, p part) error {
	middle := p.rows.NumRows() / 2
	if middle == 0 {
		return r.otherRows()
	}
	for _, bounds := range [][2]int64{{0, middle}, {middle, p.rows.NumRows()}} {
		half := p.rows.NewSlice(bounds[0], bounds[1])
		err := r.append(ctx, part{half, p.first + bounds[0], p.batch, p.batchRows})
		half.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// send sends a part under an id that the journal knows before. The one that is
// in doubt is sent under its own, so that it is not applied again.
func (r *fileRun) send(ctx context.Context, p part, pending *sdk.PendingAppend, doubt *journal.Chunk) error {
	c := journal.Chunk{
		File: r.index, Batch: p.batch, BatchRows: p.batchRows, First: p.first, Rows: p.rows.NumRows(),
		Operation: pending.Operation(), Digest: pending.Digest(),
	}
	if doubt != nil {
		c.Operation = doubt.Operation
		if c != *doubt {
			return r.otherRows()
		}
	}
	if err := r.book.Sending(c); err != nil {
		return err
	}
	result, err := pending.WithOperation(c.Operation).WithIncarnation(r.book.Job().Incarnation).Resume(ctx)
	if err != nil {
		return r.failed(err, doubt)
	}
	r.rows, r.bytes, r.appends = r.rows+pending.Rows(), r.bytes+pending.Bytes(), r.appends+1
	if err := r.book.Acknowledged(result.Version); err != nil {
		return err
	}
	r.show()
	return nil
}

// failed keeps what is known of the outcome. The refusal of an append that was
// in doubt before tells nothing: it may have been applied then, such as more
// than seven days ago, which the server does not remember.
func (r *fileRun) failed(err error, doubt *journal.Chunk) error {
	var pending *sdk.PendingAppend
	switch {
	case errors.As(err, &pending):
		return err
	case doubt != nil:
		return lake.Errorf(lake.KindOf(err), "%w; rows %d to %d were sent before as operation %s and may be in the table", err, doubt.First+1, doubt.First+doubt.Rows, doubt.Operation)
	}
	if e := r.book.Refused(); e != nil {
		return errors.Join(err, e)
	}
	return err
}

// otherRows is that the append in doubt is not among those the file is cut into
// now.
func (r *fileRun) otherRows() error {
	c := r.book.File(r.index).InDoubt
	if c == nil {
		return r.refuse("its journal does not fit file " + r.files[r.index])
	}
	return r.refuse(fmt.Sprintf("rows %d to %d of %s were sent as operation %s, may be in the table, and are not encoded as they were then, as by another release of lake: look for them in the table",
		c.First+1, c.First+c.Rows, r.files[r.index], c.Operation))
}

func (r *fileRun) show() {
	s := progress.Status{Text: fmt.Sprintf("%s, %s, %s", counted(r.rows, "row"), progress.Bytes(r.bytes), r.rate()), Before: r.skipped}
	s.Done, s.Total = r.source.Progress()
	if total := r.source.Rows(); total > 0 {
		s.Done, s.Total, s.Before = r.before.Rows+r.rows, total, r.before.Rows
	}
	r.bar.Update(s)
}

func (r *fileRun) rate() string {
	seconds := max(time.Since(r.began).Seconds(), 0.001)
	return progress.Count(int64(float64(r.rows)/seconds)) + " rows/s"
}

// earlier is what other runs did.
func (r *fileRun) earlier() string {
	if r.before.Rows == 0 {
		return ""
	}
	return "after " + counted(r.before.Rows, "row") + " by earlier runs, "
}

// explain says how far the file got.
func (r *fileRun) explain(err error) error {
	rows := r.book.File(r.index).Rows
	if rows == 0 || errors.As(err, new(refusal)) {
		return err
	}
	return lake.Errorf(lake.KindOf(err), "%w (%s of the file are in table %s)", err, counted(rows, "row"), r.name)
}
