// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/file"
)

// cursor reads the rows of one unit. It joins the columns of the fragment's
// files, fills columns that no file has with nulls, and leaves deleted rows
// out. One goroutine at a time uses it.
type cursor struct {
	s       *Scan
	unit    unit
	at      uint64 // next physical row
	opened  bool
	deleted *roaring.Bitmap
	plan
	look *glance // nil when rows are not looked at first
}

func newCursor(s *Scan, u unit) *cursor { return &cursor{s: s, unit: u, at: u.start} }

// next returns the next batch with at least one row, or nil at the end.
func (c *cursor) next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := c.open(ctx); err != nil {
		return nil, c.explain(err)
	}
	for c.at < c.unit.end {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := c.glance(ctx); err != nil {
			return nil, c.explain(err)
		}
		if c.at >= c.unit.end {
			break
		}
		start := c.at
		batch, err := c.rows(ctx, &c.plan, c.s.schema)
		if err != nil {
			return nil, c.explain(err)
		}
		c.at += uint64(batch.NumRows())
		if batch, err = dropDeleted(batch, start, c.deleted, c.s.d.files.mem); batch != nil || err != nil {
			return batch, c.explain(err)
		}
	}
	return nil, nil
}

// explain adds the fragment to an error, which stays what it is to errors.Is.
// Only an end of file in the middle of one does not: to the caller of Next it
// would say that all rows were delivered.
func (c *cursor) explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = corrupt("%v", err)
	}
	return lake.Wrap(fmt.Sprintf("read fragment %d of version %d", c.unit.f.pb.GetId(), c.s.d.manifest.Version()), err)
}

// open plans the columns and opens the files, with the first read.
func (c *cursor) open(ctx context.Context) error {
	if c.opened {
		return nil
	}
	var err error
	if !c.s.physical {
		if c.deleted, err = c.unit.f.deletions(ctx, c.s.d.view.st); err != nil {
			return err
		}
	}
	if c.plan, err = c.s.d.plan(ctx, c.unit.f, c.s.opts.Columns); err != nil {
		return err
	}
	c.opened = true
	if err := c.openParts(&c.plan); err != nil {
		return err
	}
	return c.openGlance(ctx)
}

// openParts starts reading the files of a plan.
func (c *cursor) openParts(pl *plan) (err error) {
	for _, p := range pl.parts {
		if p.cursor, err = p.h.reader.NewCursor(file.ScanOptions{
			Fields: p.ids, Start: c.unit.start, End: c.unit.end, BatchRows: c.s.opts.BatchRows,
			BatchBytes: int64(max(1, c.s.opts.BatchBytes/len(pl.parts))), Parallel: p.h.columnsAtOnce(),
		}); err != nil {
			return err
		}
	}
	return nil
}

// rows returns the next rows of the unit by a plan, deleted ones included.
func (c *cursor) rows(ctx context.Context, pl *plan, schema *arrow.Schema) (arrow.RecordBatch, error) {
	n := int64(min(c.unit.end-c.at, uint64(c.s.opts.BatchRows)))
	for _, p := range pl.parts {
		if err := p.fill(ctx); err != nil {
			return nil, err
		}
		n = min(n, p.batch.NumRows()-p.off)
	}
	batch, err := pl.batch(schema, n, c.s.d.files.mem)
	if err != nil {
		return nil, err
	}
	for _, p := range pl.parts {
		p.advance(n)
	}
	return batch, nil
}

// close releases the files; the cursor must not be in use.
func (c *cursor) close() {
	if c.look != nil {
		c.look.close()
		c.look = nil
	}
	c.plan.close()
	c.plan = plan{}
	c.at, c.opened = c.unit.end, true
}
