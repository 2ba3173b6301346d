// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"context"
	"errors"
	"io"

	"github.com/lakeplane/lake/lake"
)

// skipper is a reader that passes over rows for less than it reads them.
type skipper interface {
	// skip passes over n rows, or fewer, and returns how many. After it, next
	// returns what it would have returned had those rows been read.
	skip(ctx context.Context, n int64) (int64, error)
}

// Skip passes over the next n rows without converting them: Parquet passes over
// whole row groups unread and CSV over records unparsed. When the n rows are
// those of earlier calls of Next in another pass over the same file, with the
// same options, the batches that follow are the same, to the byte of their
// encoding. It fails with lake.Invalid when the file has fewer rows.
func (s *Source) Skip(ctx context.Context, n int64) error {
	err := guard(func() error { return s.pass(ctx, n) })
	if errors.Is(err, io.EOF) {
		err = lake.Errorf(lake.Invalid, "it ends after %d rows, which are fewer than were read from it before", s.seen)
	}
	if err != nil {
		return s.wrap(err)
	}
	return nil
}

func (s *Source) pass(ctx context.Context, n int64) error {
	if fast, ok := s.reader.(skipper); ok && s.pending == nil && n > 0 {
		passed, err := fast.skip(ctx, n)
		s.seen += passed
		if n -= passed; err != nil {
			return err
		}
	}
	for n > 0 {
		if s.pending == nil {
			if err := s.fetch(ctx, n); err != nil {
				return err
			}
		}
		if s.pending.NumRows() > n {
			s.trim(n)
			return nil
		}
		n -= s.pending.NumRows()
		s.drop()
	}
	return nil
}

// fetch makes the reader's next batch pending. One that will be skipped whole
// is not converted.
func (s *Source) fetch(ctx context.Context, skipping int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	raw, err := s.reader.next(ctx)
	if err != nil {
		return err
	}
	first := s.seen
	s.seen += raw.NumRows()
	if raw.NumRows() <= skipping {
		s.pending = raw
		return nil
	}
	defer raw.Release()
	s.pending, err = s.plan.apply(raw, first)
	return err
}

// trim takes n rows off the front of the pending batch.
func (s *Source) trim(n int64) {
	whole := s.pending
	s.pending = whole.NewSlice(n, whole.NumRows())
	whole.Release()
}

// skip implements skipper: it begins at the row group that holds the row after
// the skipped ones, and reads what is before that row.
func (r *parquetReader) skip(ctx context.Context, n int64) (int64, error) {
	first := r.done
	if n > r.total-first {
		return 0, io.EOF
	}
	if first == 0 {
		if err := r.begin(ctx, n); err != nil {
			return 0, err
		}
	}
	for r.done-first < n {
		if err := ctx.Err(); err != nil {
			return r.done - first, err
		}
		b, err := r.take(min(r.batchRows, first+n-r.done))
		if err != nil {
			return r.done - first, err
		}
		b.Release()
	}
	return n, nil
}

// begin opens the columns at the row group that holds row n.
func (r *parquetReader) begin(ctx context.Context, n int64) error {
	group, start := 0, int64(0)
	for group < r.file.NumRowGroups() && start+r.file.MetaData().RowGroup(group).NumRows() <= n {
		start += r.file.MetaData().RowGroup(group).NumRows()
		group++
	}
	if group == 0 {
		return nil
	}
	for i, c := range r.columns {
		if c == nil {
			continue
		}
		c.Release()
		r.columns[i] = nil
		var err error
		if r.columns[i], err = r.openColumn(ctx, r.arrowReader, i, group); err != nil {
			return columnError(r.arrow.Field(i).Name, err)
		}
	}
	r.done = start
	return nil
}

var (
	_ skipper = (*parquetReader)(nil)
	_ skipper = (*csvReader)(nil)
)

// skip implements skipper: it reads records and leaves their fields alone.
func (r *csvReader) skip(ctx context.Context, n int64) (int64, error) {
	for i := range n {
		if i%10_000 == 0 && ctx.Err() != nil {
			return i, ctx.Err()
		}
		if _, err := r.records.read(); err != nil {
			return i, err
		}
	}
	return n, nil
}
