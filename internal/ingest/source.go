// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

// Options narrows [Open]. The zero value reads everything.
type Options struct {
	// Columns are the names of the columns to read, in the order wanted; nil
	// means all. They are names after the rules of the package.
	Columns []string
	// Target is the schema of a table that exists. Columns are then matched by
	// name, converted to the table's types where no value is lost, and
	// columns the file lacks are null where the table allows it.
	Target *arrow.Schema
	// BatchRows bounds the rows of a batch; 0 means 10,000.
	BatchRows int
	// NoHeader says that the first record of a CSV file is data.
	NoHeader bool
	// Delimiter separates the fields of a CSV file; 0 means to find it.
	Delimiter rune
}

// batchBytes is about how many bytes of rows a reader gathers for a batch.
const batchBytes = 32 << 20

// reader is one format.
type reader interface {
	// schema is that of the batches, as the file has it.
	schema() *arrow.Schema
	// next returns the next batch, owned by the caller, or io.EOF.
	next(ctx context.Context) (arrow.RecordBatch, error)
	// rows is the number of rows in the file, or -1 when it is not known.
	rows() int64
	close() error
}

// Source streams the rows of one file. It is used by one goroutine at a time,
// except for Progress.
type Source struct {
	name    string
	file    *countedFile
	reader  reader
	plan    plan
	limit   int64
	pending arrow.RecordBatch // rows of a batch above the limit
	seen    int64
}

// Open recognises the file and reads its schema. Errors are lake.NotFound for a
// missing file, else lake.Invalid; they name the file, and the column where
// one is at fault.
func Open(ctx context.Context, path string, opts Options) (*Source, error) {
	file, err := openCounted(path)
	if err != nil {
		return nil, openError(path, err)
	}
	s := &Source{name: filepath.Base(path), file: file, limit: int64(opts.BatchRows)}
	if s.limit <= 0 {
		s.limit = lake.MaxAppendRows
	}
	err = guard(func() error { return s.open(ctx, path, opts) })
	if err != nil {
		return nil, s.wrap(errors.Join(err, s.Close()))
	}
	return s, nil
}

func openError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return lake.Errorf(lake.NotFound, "file %s does not exist", path)
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return lake.Errorf(lake.Invalid, "file %s: %w", path, err)
}

func (s *Source) open(ctx context.Context, path string, opts Options) error {
	kind, err := detect(s.file, path)
	if err != nil {
		return err
	}
	if s.reader, err = kind.open(ctx, s.file, path, opts); err != nil {
		return err
	}
	s.plan, err = newPlan(s.reader.schema(), opts)
	return err
}

// Schema is the schema of every batch.
func (s *Source) Schema() *arrow.Schema { return s.plan.schema }

// Notes lists, for people, what was changed in names and types.
func (s *Source) Notes() []string { return s.plan.notes }

// Rows is the number of rows in the file, or -1 when that is only known at the
// end.
func (s *Source) Rows() int64 {
	if s.reader == nil {
		return -1
	}
	return s.reader.rows()
}

// Progress is how many bytes of the file were read in this pass and how many
// there are. It may be called while another goroutine is in Next.
func (s *Source) Progress() (read, total int64) {
	return min(s.file.read.Load(), s.file.size), s.file.size
}

// Next returns the next batch, owned by the caller and holding at least one
// row, or io.EOF.
func (s *Source) Next(ctx context.Context) (arrow.RecordBatch, error) {
	var out arrow.RecordBatch
	err := guard(func() (err error) {
		out, err = s.advance(ctx)
		return err
	})
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.wrap(err)
	}
	return out, err
}

func (s *Source) advance(ctx context.Context) (arrow.RecordBatch, error) {
	for s.pending == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		raw, err := s.reader.next(ctx)
		if err != nil {
			return nil, err
		}
		converted, err := s.plan.apply(raw, s.seen)
		s.seen += raw.NumRows()
		raw.Release()
		if err != nil {
			return nil, err
		}
		if s.pending = converted; converted.NumRows() == 0 {
			s.drop()
		}
	}
	return s.cut(), nil
}

// cut takes at most limit rows off the pending batch.
func (s *Source) cut() arrow.RecordBatch {
	whole := s.pending
	if whole.NumRows() <= s.limit {
		s.pending = nil
		return whole
	}
	head := whole.NewSlice(0, s.limit)
	s.pending = whole.NewSlice(s.limit, whole.NumRows())
	whole.Release()
	return head
}

func (s *Source) drop() {
	if s.pending != nil {
		s.pending.Release()
		s.pending = nil
	}
}

// Close releases the file.
func (s *Source) Close() error {
	s.drop()
	var failed error
	if s.reader != nil {
		failed = s.reader.close()
		s.reader = nil
	}
	return errors.Join(failed, s.file.Close())
}

// wrap names the file. What a reader found wrong is the file's fault unless
// it is classified.
func (s *Source) wrap(err error) error {
	var classified *lake.Error
	if errors.As(err, &classified) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return lake.Wrap("file "+s.name, err)
	}
	return &lake.Error{Kind: lake.Invalid, Op: "file " + s.name, Err: err}
}

// guard turns a panic of a format library, which a broken file can cause, into
// an error.
func guard(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = lake.Errorf(lake.Invalid, "the file is damaged or uses something that is not supported: %v", p)
		}
	}()
	return work()
}
