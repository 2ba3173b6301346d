// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slot

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine/slotwire"
)

// table is a table whose rows the replica reads.
type table struct {
	statement *statement
	index     int
	schema    *arrow.Schema
	rows      uint64
}

// Schema implements engine.Table.
func (t *table) Schema() *arrow.Schema { return t.schema }

// Rows implements engine.Table.
func (t *table) Rows() uint64 { return t.rows }

// Scan implements engine.Table. It asks for the rows and does not wait: what is
// wrong comes with the first batch.
func (t *table) Scan(_ context.Context, opts storage.ScanOptions) (storage.Scan, error) {
	st := t.statement
	s := &scan{table: t, schema: project(t.schema, opts.Columns), readers: readers(st.session.threads, t.rows)}
	s.items = make(chan slotwire.ScanBatch, slotwire.ScanWindow(s.readers))
	st.mu.Lock()
	st.last++
	s.id = st.last
	st.scans[s.id] = s
	st.mu.Unlock()
	open := slotwire.ScanOpen{
		Scan: s.id, Table: t.index, All: opts.Columns == nil, Columns: opts.Columns,
		Ordered: opts.Ordered, Readers: s.readers, Ahead: opts.Parallel,
	}
	return s, st.send(slotwire.KindScan, open.Append())
}

// readers is how many threads read a scan at once, at most.
func readers(threads int, rows uint64) int {
	return int(min(uint64(threads), rows/rowsPerReader+1))
}

// rowsPerReader is about how many rows make another reader worth it.
const rowsPerReader = 65_536

func project(schema *arrow.Schema, columns []int) *arrow.Schema {
	if columns == nil {
		return schema
	}
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = schema.Field(c)
	}
	return arrow.NewSchema(fields, nil)
}

// scan is one pass, of which the replica sends the batches ahead.
type scan struct {
	table   *table
	id      uint32
	schema  *arrow.Schema
	readers int
	items   chan slotwire.ScanBatch // closed at the end
	untold  atomic.Int64            // batches taken that the replica was not told of
	fault   *slotwire.Fault         // before the end
	closed  bool                    // under the statement's lock
}

// Next implements storage.Scan.
func (s *scan) Next(ctx context.Context) (arrow.RecordBatch, error) {
	select {
	case b, ok := <-s.items:
		if ok {
			return s.take(b)
		}
		if s.fault != nil {
			return nil, s.fault
		}
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// take makes a batch of shared memory, which is given back when the last user
// of it releases it.
func (s *scan) take(b slotwire.ScanBatch) (arrow.RecordBatch, error) {
	st := s.table.statement
	if n := s.untold.Add(1); n >= int64(cap(s.items)/2) || len(s.items) == 0 {
		if err := st.taken(s.id, int(s.untold.Swap(0))); err != nil {
			return nil, err
		}
	}
	l := &lease{statement: st, pos: b.Pos}
	l.users.Store(1)
	defer l.Free(nil)
	return slotwire.Unpack(s.schema, b.Region, st.session.rows[b.Pos:b.Pos+b.Size], l.buffer, false)
}

// Close implements storage.Scan.
func (s *scan) Close() error {
	st := s.table.statement
	st.mu.Lock()
	delete(st.scans, s.id)
	if !s.closed {
		s.closed = true
		close(s.items)
	}
	for b := range s.items {
		st.freed = append(st.freed, b.Pos)
	}
	st.mu.Unlock()
	if err := st.send(slotwire.KindScanEnd, slotwire.AppendNumber(s.id)); err != nil {
		return err
	}
	return st.taken(s.id, 0)
}

// taken tells the replica that batches were taken, and which regions are free.
func (st *statement) taken(scan uint32, batches int) error {
	st.mu.Lock()
	freed := st.freed
	st.freed = nil
	st.mu.Unlock()
	return st.send(slotwire.KindTaken, slotwire.Taken{Scan: scan, Batches: batches, Freed: freed}.Append())
}

// batch passes a batch on to the scan it is for.
func (st *statement) batch(body []byte) error {
	b, err := slotwire.ReadScanBatch(body, len(st.session.rows))
	if err != nil {
		return err
	}
	st.mu.Lock()
	s := st.scans[b.Scan]
	if s == nil { // closed meanwhile
		st.freed = append(st.freed, b.Pos)
		st.mu.Unlock()
		return st.taken(b.Scan, 0)
	}
	defer st.mu.Unlock()
	select {
	case s.items <- b:
		return nil
	default:
		return lake.Errorf(lake.Corrupt, "more than %d batches of a scan", cap(s.items))
	}
}

// scanEnd ends the batches of a scan.
func (st *statement) scanEnd(body []byte) error {
	e, err := slotwire.ReadScanEnd(body)
	if err != nil {
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if s := st.scans[e.Scan]; s != nil && !s.closed {
		s.fault, s.closed = e.Fault, true
		close(s.items)
	}
	return nil
}

// lease counts the buffers that lie in one region. It is their allocator, so
// that it hears when Arrow lets go of them.
type lease struct {
	statement *statement
	pos       int
	users     atomic.Int64
	once      sync.Once
}

func (l *lease) buffer(b []byte) *memory.Buffer {
	l.users.Add(1)
	return memory.NewBufferWithAllocator(b, l)
}

// Free implements memory.Allocator.
func (l *lease) Free([]byte) {
	if l.users.Add(-1) > 0 {
		return
	}
	l.once.Do(func() {
		l.statement.mu.Lock()
		l.statement.freed = append(l.statement.freed, l.pos)
		l.statement.mu.Unlock()
	})
}

// Allocate implements memory.Allocator. Nobody grows a buffer of a scan.
func (l *lease) Allocate(n int) []byte { return make([]byte, n) }

// Reallocate implements memory.Allocator. Nobody grows a buffer of a scan.
func (l *lease) Reallocate(n int, b []byte) []byte { return append(make([]byte, 0, n), b...)[:n] }
