// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

// ErrScanClosed is the error of a Next after Close.
var ErrScanClosed error = &lake.Error{Kind: lake.Invalid, Message: "the scan is closed"}

const (
	defaultBatchRows  = 65_536
	defaultBatchBytes = 16 << 20
	// unitRows is how many rows one thread reads in a row: few enough to give
	// all threads work, many enough that pages cut by two units do not matter.
	unitRows = 256 << 10
)

// ScanOptions narrows a scan. The zero value reads everything.
type ScanOptions struct {
	// Columns are distinct indexes of top-level fields, in the order of the
	// batches. nil means all; empty and not nil means only row counts.
	Columns []int
	// BatchRows bounds the rows of a batch; 0 means 65,536.
	BatchRows int
	// BatchBytes is about how large a batch may become; 0 means 16 MiB.
	BatchBytes int
	// Parallel is how many goroutines read ahead; 0 means that all work happens
	// in the callers of Next.
	Parallel int
	// Ordered asks for batches in row order, at most one of them being read at
	// a time.
	Ordered bool
	// Glance, if set, leaves out rows that nobody wants, or some of them.
	Glance *Glance
}

func (o ScanOptions) withDefaults(fields int) (ScanOptions, error) {
	if o.BatchRows < 0 || o.BatchBytes < 0 || o.Parallel < 0 {
		return o, invalid("scan options may not be negative")
	}
	if o.BatchRows == 0 {
		o.BatchRows = defaultBatchRows
	}
	if o.BatchBytes == 0 {
		o.BatchBytes = defaultBatchBytes
	}
	if o.Columns == nil {
		o.Columns = make([]int, fields)
		for i := range o.Columns {
			o.Columns[i] = i
		}
	}
	if err := checkColumns(o.Columns, fields); err != nil || o.Glance == nil {
		return o, err
	}
	return o, checkColumns(o.Glance.Columns, fields)
}

func checkColumns(columns []int, fields int) error {
	seen := make(map[int]bool, len(columns))
	for _, c := range columns {
		if c < 0 || c >= fields || seen[c] {
			return invalid("column %d is repeated or not in 0..%d", c, fields-1)
		}
		seen[c] = true
	}
	return nil
}

// Scan is one pass over the rows. Its methods are safe for concurrent use.
//
// The rows are cut into units: a range of one fragment. A call of Next takes a
// cursor on a unit, reads one batch and puts the cursor back, so there are
// never more cursors than calls at one time, and every cursor is read by one
// goroutine at a time.
type Scan struct {
	d      *Dataset
	opts   ScanOptions
	schema *arrow.Schema
	ctx    context.Context
	cancel context.CancelFunc
	ahead  *readAhead // nil without goroutines
	// physical asks for deleted rows too, as a new data file needs them.
	physical bool
	useless  atomic.Int64 // looks of Glance in a row that found a wanted row

	mu      sync.Mutex
	changed *sync.Cond // a cursor came back, or the scan ended
	units   []unit     // not begun
	idle    []*cursor
	busy    int // cursors with a caller
	err     error
	closed  bool
}

// unit is a range of physical rows of a fragment.
type unit struct {
	f          *fragment
	start, end uint64
}

// Scan starts a pass over the rows. It ends early with ctx.
func (d *Dataset) Scan(ctx context.Context, o ScanOptions) (*Scan, error) {
	return d.scan(ctx, o, d.fragments, false)
}

// scan starts a pass over some fragments.
func (d *Dataset) scan(ctx context.Context, o ScanOptions, fragments []*fragment, physical bool) (*Scan, error) {
	o, err := o.withDefaults(len(d.rootIDs))
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Scan{d: d, opts: o, schema: d.project(o.Columns), physical: physical}
	s.changed = sync.NewCond(&s.mu)
	s.ctx, s.cancel = context.WithCancel(ctx)
	for _, f := range fragments {
		if f.live > 0 || physical {
			s.units = appendUnits(s.units, f, uint64(max(o.BatchRows, unitRows)))
		}
	}
	if o.Parallel > 0 {
		s.ahead = newReadAhead(s)
	}
	return s, nil
}

func appendUnits(units []unit, f *fragment, step uint64) []unit {
	for at := uint64(0); at < f.rows; at += step {
		units = append(units, unit{f, at, min(at+step, f.rows)})
	}
	return units
}

// project returns the schema of batches with the given columns.
func (d *Dataset) project(columns []int) *arrow.Schema {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = d.registered.Field(c)
	}
	md := d.registered.Metadata()
	return arrow.NewSchema(fields, &md)
}

// Next returns the next batch, which the caller releases, or io.EOF. Once a
// read has failed, all further calls fail.
func (s *Scan) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.ahead != nil {
		return s.ahead.next(ctx)
	}
	return s.pull(ctx)
}

// pull reads one batch in the caller's goroutine.
func (s *Scan) pull(ctx context.Context) (arrow.RecordBatch, error) {
	for {
		c, err := s.take(ctx)
		if err != nil {
			return nil, err
		}
		batch, err := c.next(s.ctx)
		s.putBack(c, batch != nil, err)
		if batch != nil || err != nil {
			return batch, err
		}
	}
}

// take hands out a cursor. It waits while none is free but one may come back.
func (s *Scan) take(ctx context.Context) (*cursor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if err := s.state(ctx); err != nil {
			return nil, err
		}
		if n := len(s.idle); n > 0 {
			c := s.idle[n-1]
			s.idle = s.idle[:n-1]
			s.busy++
			return c, nil
		}
		if len(s.units) > 0 && (s.busy == 0 || !s.opts.Ordered) {
			c := newCursor(s, s.units[0])
			s.units = s.units[1:]
			s.busy++
			return c, nil
		}
		if s.busy == 0 {
			return nil, io.EOF
		}
		s.wait(ctx)
	}
}

func (s *Scan) state(ctx context.Context) error {
	switch {
	case s.closed:
		return ErrScanClosed
	case s.err != nil:
		return s.err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return s.ctx.Err()
}

// wait sleeps until something changed or a context ended.
func (s *Scan) wait(ctx context.Context) {
	wake := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	}
	defer context.AfterFunc(ctx, wake)()
	defer context.AfterFunc(s.ctx, wake)()
	s.changed.Wait()
}

// putBack returns a cursor after a read; there may be more to read from it.
func (s *Scan) putBack(c *cursor, more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	if err != nil && s.err == nil {
		s.err = err
	}
	if more && !s.closed {
		s.idle = append(s.idle, c)
	} else {
		c.close()
	}
	s.changed.Broadcast()
}

// Close stops the scan. Batches it delivered stay good.
func (s *Scan) Close() error {
	s.mu.Lock()
	s.closed = true
	idle := s.idle
	s.idle, s.units = nil, nil
	s.changed.Broadcast()
	s.mu.Unlock()
	s.cancel()
	for _, c := range idle {
		c.close()
	}
	if s.ahead != nil {
		s.ahead.close()
	}
	return nil
}
