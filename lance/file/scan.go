// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"

	"github.com/lakeplane/lake/lance/schema"
)

const (
	// DefaultBatchRows is a power of two, so that batches end where Lake's
	// pages do and values need no copy.
	DefaultBatchRows = 1 << 16
	// DefaultBatchBytes keeps a batch of large values in the memory of one
	// reader among many.
	DefaultBatchBytes = 64 << 20
)

// ScanOptions says what to scan.
type ScanOptions struct {
	// Fields are the ids of root, inner or leaf fields to read. Default: all
	// the file has. An id that is not in the schema fails; one that the file
	// has no data of is left out.
	Fields []int32
	// Start and End are the row range; End 0 stands for all rows.
	Start, End uint64
	// BatchRows is the largest number of rows of a batch. Default:
	// [DefaultBatchRows].
	BatchRows int
	// BatchBytes is the size a batch aims at, judged by the size of the columns
	// in the file; it may shrink a batch below BatchRows. Default:
	// [DefaultBatchBytes].
	BatchBytes int64
	// Parallel is the number of columns decoded at once. Default: 1.
	Parallel int
}

func (o *ScanOptions) complete(rows uint64) error {
	if o.End == 0 {
		o.End = rows
	}
	if o.Start > o.End || o.End > rows {
		return invalid("rows %d to %d of a file with %d", o.Start, o.End, rows)
	}
	if o.BatchRows < 0 || o.BatchBytes < 0 || o.Parallel < 0 {
		return invalid("batch rows, batch bytes and parallelism must not be negative")
	}
	if o.BatchRows == 0 {
		o.BatchRows = DefaultBatchRows
	}
	if o.BatchBytes == 0 {
		o.BatchBytes = DefaultBatchBytes
	}
	o.Parallel = max(o.Parallel, 1)
	return nil
}

// Scan returns the rows of a range in batches, in order. A batch belongs to
// the consumer, who releases it. The sequence ends after the first error.
func (r *Reader) Scan(ctx context.Context, o ScanOptions) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		c, err := r.NewCursor(o)
		if err != nil {
			yield(nil, err)
			return
		}
		defer c.Close()
		for {
			batch, err := c.Next(ctx)
			if err == io.EOF || !yield(batch, err) || err != nil { //nolint:errorlint // a wrapped EOF is a failed read, not the end
				return
			}
		}
	}
}

// Cursor is a scan that is pulled. It serves one goroutine at a time, not
// always the same.
type Cursor struct {
	o    ScanOptions
	b    *batcher
	at   uint64
	size uint64
}

// NewCursor starts a scan; the caller closes it.
func (r *Reader) NewCursor(o ScanOptions) (*Cursor, error) {
	if err := o.complete(r.Rows()); err != nil {
		return nil, err
	}
	b, err := r.newBatcher(o.Fields, o.Parallel)
	if err != nil {
		return nil, err
	}
	return &Cursor{o: o, b: b, at: o.Start, size: b.rowsPer(o)}, nil
}

// Next returns the next batch, which the caller releases, or [io.EOF] behind
// the last one. After another error the cursor stays where it was.
func (c *Cursor) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if c.at >= c.o.End {
		return nil, io.EOF
	}
	for {
		to := min(c.o.End, c.at+c.size-c.at%c.size)
		batch, err := c.b.batch(ctx, []rows{{c.at, to}}, c.o.End, c.o.limit(to-c.at))
		if errors.Is(err, errBatchTooLarge) && to-c.at > 1 {
			c.size = max(1, (to-c.at)/4)
			continue
		}
		if err == nil {
			c.at = to
		}
		return batch, err
	}
}

// Skip leaves out the next n rows, or all that are left when those are fewer.
func (c *Cursor) Skip(n uint64) { c.at += min(n, c.o.End-c.at) }

// Close gives up what the cursor holds. Batches stay valid.
func (c *Cursor) Close() { c.b.close() }

// limit is the size at which a batch of variable values is cut smaller. The
// estimate of BatchBytes misses values that are stored compressed or once for
// many rows. A single row may have what it needs.
func (o *ScanOptions) limit(rows uint64) int {
	if rows == 1 || o.BatchBytes > maxBatchBytes/4 {
		return maxBatchBytes
	}
	return int(max(1<<20, 4*o.BatchBytes))
}

// batcher decodes batches of a projection.
type batcher struct {
	schema   *arrow.Schema
	roots    []*schema.Node
	columns  []columnReader
	parallel int
	rowBytes uint64 // estimate
}

func (r *Reader) newBatcher(fields []int32, parallel int) (*batcher, error) {
	roots, err := r.project(fields)
	if err != nil {
		return nil, err
	}
	b := &batcher{schema: schema.SchemaOf(roots, nil), roots: roots, parallel: parallel}
	for _, n := range roots {
		c, err := r.openRoot(n)
		if err != nil {
			return nil, err
		}
		b.columns = append(b.columns, c)
		b.rowBytes += r.bytesPerRow(n)
	}
	return b, nil
}

func (b *batcher) close() {
	for _, c := range b.columns {
		c.close()
	}
}

func (r *Reader) openRoot(n *schema.Node) (columnReader, error) {
	if r.c.minor == 0 {
		return newRootColumn20(r, n)
	}
	return newRootColumn(r, n)
}

// bytesPerRow estimates the size of a row of a root field: what it takes in the
// file, and at least the width of its values, which a page of nulls hides.
func (r *Reader) bytesPerRow(n *schema.Node) uint64 {
	var stored uint64
	n.Walk(func(n *schema.Node) {
		col, ok := r.columns[n.Field.GetId()]
		if !ok {
			return
		}
		for _, p := range r.c.columns[col].GetPages() {
			for _, s := range p.GetBufferSizes() {
				stored += min(s, r.c.in.size)
			}
		}
	})
	return max(r.widthPerRow(n), stored/max(1, r.Rows()))
}

// widthPerRow is the width of the values of a row below n, lists aside.
func (r *Reader) widthPerRow(n *schema.Node) uint64 {
	id := n.Field.GetId()
	if _, ok := r.columns[id]; ok && (len(n.Children) == 0 || r.packed[id] != nil) {
		t, err := columnType(n, r.packed[id])
		if err != nil {
			return 0
		}
		return uint64(t.bits()+7) / 8
	}
	var width uint64
	for _, c := range n.Children {
		width += r.widthPerRow(c)
	}
	if t, ok := n.Type.(*arrow.FixedSizeListType); ok {
		width *= uint64(t.Len())
	}
	return width
}

// rowsPer is the number of rows of a batch.
func (b *batcher) rowsPer(o ScanOptions) uint64 {
	n := uint64(o.BatchRows)
	if fit := uint64(o.BatchBytes) / max(1, b.rowBytes); fit < n {
		n = max(1, fit)
	}
	return n
}

// batch decodes ranges of rows to one batch.
func (b *batcher) batch(ctx context.Context, ranges []rows, ahead uint64, limit int) (arrow.RecordBatch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cols := make([]arrow.Array, len(b.columns))
	defer func() {
		for _, c := range cols {
			if c != nil {
				c.Release()
			}
		}
	}()
	if err := b.decode(ctx, cols, ranges, ahead, limit); err != nil {
		return nil, err
	}
	n := 0
	for _, r := range ranges {
		n += int(r.to - r.from)
	}
	return array.NewRecordBatch(b.schema, cols, int64(n)), nil
}

func (b *batcher) decode(ctx context.Context, cols []arrow.Array, ranges []rows, ahead uint64, limit int) error {
	if b.parallel == 1 || len(cols) == 1 {
		for i, c := range b.columns {
			var err error
			if cols[i], err = c.read(ranges, ahead, limit); err != nil {
				return err
			}
		}
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.parallel)
	for i, c := range b.columns {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			cols[i], err = c.read(ranges, ahead, limit)
			return err
		})
	}
	return g.Wait()
}
