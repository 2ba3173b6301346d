// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
)

// Glance lets a scan leave rows out by a look at some of their columns, without
// reading the others. It is used where that costs nothing but processor time:
// for files that are mapped into memory.
type Glance struct {
	// Columns are distinct indexes of top-level fields.
	Columns []int
	// Wanted says whether a row of a batch of those columns may be wanted. If not,
	// the scan need not deliver any of its rows. It is called by several
	// goroutines, and must not keep the batch.
	Wanted func(arrow.RecordBatch) bool
}

// glancePatience is after how many batches with a wanted row a scan stops
// looking: rows that are wanted are spread over everything, then.
const glancePatience = 8

// glance is a cursor's second plan, over the columns that are looked at.
type glance struct {
	plan
	schema *arrow.Schema
	at     uint64 // next physical row of the plan
	until  uint64 // rows before it are wanted as far as known
}

// openGlance prepares for looking, if that is of use.
func (c *cursor) openGlance(ctx context.Context) error {
	g := c.s.opts.Glance
	if g == nil || c.s.physical || c.s.useless.Load() >= glancePatience || !c.plan.mapped() {
		return nil
	}
	look := &glance{schema: c.s.d.project(g.Columns), at: c.unit.start}
	var err error
	if look.plan, err = c.s.d.plan(ctx, c.unit.f, g.Columns); err != nil {
		return err
	}
	if !look.mapped() {
		look.close()
		return nil
	}
	if err := c.openParts(&look.plan); err != nil {
		look.close()
		return err
	}
	c.look = look
	return nil
}

// mapped reports whether all files of a plan are in memory.
func (p *plan) mapped() bool {
	for _, part := range p.parts {
		if part.h.mapped == nil {
			return false
		}
	}
	return true
}

// glance skips the rows ahead of which none is wanted. There may be none left
// then.
func (c *cursor) glance(ctx context.Context) error {
	for c.look != nil && c.at >= c.look.until && c.at < c.unit.end {
		if c.s.useless.Load() >= glancePatience {
			c.look.close()
			c.look = nil
			return nil
		}
		c.look.skip(c.at - c.look.at)
		batch, err := c.rows(ctx, &c.look.plan, c.look.schema)
		if err != nil {
			return err
		}
		n := uint64(batch.NumRows())
		wanted := c.s.opts.Glance.Wanted(batch)
		batch.Release()
		c.look.at = c.at + n
		if wanted {
			c.s.useless.Add(1)
			c.look.until = c.at + n
			return nil
		}
		c.s.useless.Store(0)
		c.plan.skip(n)
		c.at += n
	}
	return nil
}

// skip leaves rows out in every file.
func (p *plan) skip(n uint64) {
	for _, part := range p.parts {
		part.skip(n)
	}
}

func (p *part) skip(n uint64) {
	if p.batch != nil {
		left := uint64(p.batch.NumRows() - p.off)
		if n < left {
			p.off += int64(n)
			return
		}
		p.advance(int64(left))
		n -= left
	}
	p.cursor.Skip(n)
}
