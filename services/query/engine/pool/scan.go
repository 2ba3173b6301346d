// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pool

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/engine/slotwire"
)

// scan is one pass over a table for a slot. Its pumps read batches ahead of
// the slot's threads, so that reading and computing overlap.
type scan struct {
	statement *statement
	id        uint32
	ctx       context.Context
	stop      context.CancelFunc
	window    chan struct{} // holds one for each batch not taken yet
	left      atomic.Int64  // pumps that still run
	err       error         // the first, under the statement's lock
}

// openScan starts the pass that a slot asks for.
func (st *statement) openScan(body []byte) error {
	o, err := slotwire.ReadScanOpen(body)
	if err != nil {
		return err
	}
	if err := st.checkScan(o); err != nil {
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.finished {
		return nil
	}
	if st.scans[o.Scan] != nil || len(st.scans) >= slotwire.MaxScans {
		return lake.Errorf(lake.Corrupt, "scan %d is open already, or too many are", o.Scan)
	}
	s := &scan{statement: st, id: o.Scan, window: make(chan struct{}, slotwire.ScanWindow(o.Readers))}
	s.ctx, s.stop = context.WithCancel(st.ctx)
	st.scans[o.Scan] = s
	opts := storage.ScanOptions{Columns: o.Columns, Ordered: o.Ordered, Parallel: o.Ahead}
	if o.All {
		opts.Columns = nil
	}
	opts.BatchRows = batchRows(st.tables[o.Table], opts.Columns)
	st.process.pump(func() { s.run(st.tables[o.Table], opts, o.Readers) })
	return nil
}

// batchRows makes the batches of a large table's narrow columns longer than
// usual, since each costs the two processes some wakings, whatever its size, and
// those of many columns shorter: what a scan has under way should stay in the
// part of the segment that is kept, whose pages need not be made again. It is a
// power of two, where pages of data files end.
func batchRows(t engine.Table, columns []int) int {
	const usual, least, most, bytes, large = 65_536, 16_384, 262_144, 3 << 20, 1 << 20
	if t.Rows() < large {
		return usual
	}
	width, fields := 1, t.Schema().Fields()
	for i, f := range fields {
		if columns != nil && !slices.Contains(columns, i) {
			continue
		}
		if fixed, ok := f.Type.(arrow.FixedWidthDataType); ok {
			width += (fixed.BitWidth() + 7) / 8
		} else {
			width += 16
		}
	}
	rows := max(least, min(most, bytes/width))
	return 1 << (bits.Len(uint(rows)) - 1)
}

// maxAhead bounds the goroutines a slot may ask a scan to use.
const maxAhead = 256

// checkScan holds a request against the tables the statement was given.
func (st *statement) checkScan(o slotwire.ScanOpen) error {
	if o.Table >= len(st.tables) {
		return lake.Errorf(lake.Corrupt, "a scan of table %d, of %d", o.Table, len(st.tables))
	}
	if o.Readers < 1 || o.Readers > st.process.engine.opts.Threads || o.Ahead > maxAhead {
		return lake.Errorf(lake.Corrupt, "a scan by %d threads, of %d, %d ahead", o.Readers, st.process.engine.opts.Threads, o.Ahead)
	}
	fields := st.tables[o.Table].Schema().NumFields()
	seen := map[int]bool{}
	for _, c := range o.Columns {
		if c >= fields || seen[c] {
			return lake.Errorf(lake.Corrupt, "a scan of column %d, of %d, or twice", c, fields)
		}
		seen[c] = true
	}
	return nil
}

// run makes the pass with as many pumps as the slot has threads for it.
func (s *scan) run(t engine.Table, opts storage.ScanOptions, pumps int) {
	rows, err := openTable(s.ctx, t, opts)
	if err != nil {
		s.fail(err)
		s.end()
		return
	}
	s.left.Store(int64(pumps))
	for range pumps - 1 {
		s.statement.process.pump(func() { s.pump(rows) })
	}
	s.pump(rows)
}

// openTable turns a panic of a table into an error: it runs on a goroutine that
// nobody else guards.
func openTable(ctx context.Context, t engine.Table, opts storage.ScanOptions) (rows storage.Scan, err error) {
	defer guard(&err)
	return t.Scan(ctx, opts)
}

func nextBatch(ctx context.Context, rows storage.Scan) (b arrow.RecordBatch, err error) {
	defer guard(&err)
	return rows.Next(ctx)
}

func guard(err *error) {
	if p := recover(); p != nil {
		*err = lake.Errorf(lake.Unknown, "panic while reading a table: %v", p)
	}
}

// pump sends batches until there are no more. The last pump to stop ends the
// scan.
func (s *scan) pump(rows storage.Scan) {
	if err := s.send(rows); err != nil {
		s.fail(err)
	}
	if s.left.Add(-1) > 0 {
		return
	}
	_ = rows.Close() // the pass is over: that changes no row already sent
	s.end()
}

// fail keeps the first error, which the caller of the statement will get, and
// stops the other pumps. The end of a pass that was closed is none.
func (s *scan) fail(err error) {
	st := s.statement
	st.mu.Lock()
	defer st.mu.Unlock()
	if s.ctx.Err() == nil || st.ctx.Err() != nil {
		s.err = cmp.Or(s.err, err)
		st.scanErr = cmp.Or(st.scanErr, err)
	}
	s.stop()
}

func (s *scan) send(rows storage.Scan) error {
	st := s.statement
	for {
		select {
		case s.window <- struct{}{}:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		b, err := s.next(rows)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		g, err := slotwire.Pack(b, func(n int) (int, []byte, error) { return st.process.arena.Alloc(s.ctx, n) })
		b.Release()
		if err != nil {
			return err
		}
		batch := slotwire.ScanBatch{Scan: s.id, Region: g}
		if err := st.process.conn.Send(slotwire.KindBatch, st.id, batch.Append()); err != nil {
			return err
		}
	}
}

// next returns a batch that has rows.
func (s *scan) next(rows storage.Scan) (arrow.RecordBatch, error) {
	for {
		b, err := nextBatch(s.ctx, rows)
		if err != nil || b.NumRows() > 0 {
			return b, err
		}
		b.Release()
	}
}

// end tells the slot that no more rows come.
func (s *scan) end() {
	st := s.statement
	st.mu.Lock()
	e := slotwire.ScanEnd{Scan: s.id, Fault: slotwire.NewFault(s.err)}
	st.mu.Unlock()
	if e.Fault != nil {
		e.Fault.Scan = true
	}
	// When that fails the slot is gone, and others notice.
	_ = st.process.conn.Send(slotwire.KindScanEnd, st.id, e.Append())
}

// closeScan ends a pass that the slot needs no longer.
func (st *statement) closeScan(body []byte) error {
	id, err := slotwire.ReadNumber(body)
	if err != nil {
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if s := st.scans[id]; s != nil {
		s.stop()
		delete(st.scans, id)
	}
	return nil
}

// taken lets a scan go on and takes regions back.
func (st *statement) taken(body []byte) error {
	t, err := slotwire.ReadTaken(body)
	if err != nil {
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.finished {
		return nil // all regions have been taken back
	}
	s := st.scans[t.Scan]
	for range t.Batches {
		if s == nil {
			break // closed meanwhile
		}
		select {
		case <-s.window:
		default:
			return lake.Errorf(lake.Corrupt, "a batch was taken that was not sent")
		}
	}
	for _, pos := range t.Freed {
		if err := st.process.arena.Free(pos); err != nil {
			return err
		}
	}
	return nil
}
