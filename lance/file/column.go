// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"math"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/lancepb/containerpb"
	"github.com/lakeplane/lake/lance/schema"
)

// rows is a range of rows, the end excluded.
type rows struct{ from, to uint64 }

// columnReader decodes one root field. It keeps state between calls and serves
// one goroutine.
type columnReader interface {
	// read returns the rows of the ranges, which ascend and do not overlap, as
	// one array that the caller releases. Bytes up to row ahead of the last
	// page touched may be read along.
	// More than limit bytes of variable values fail with errBatchTooLarge.
	read(ranges []rows, ahead uint64, limit int) (arrow.Array, error)
	// close gives up the memory of the reader; arrays stay valid.
	close()
}

// leafColumn is the cursor on the column of one leaf.
type leafColumn struct {
	c     *container
	leaf  *leaf
	pages []*containerpb.ColumnMetadata_Page
	start []uint64 // first entry of each page, and the number of entries

	open int // number of the open page, or -1
	page pageReader
	bufs *pageBuffers

	batch   leafBatch
	entries []rows // the ranges of a call, in entries of the column
}

func newLeafColumn(c *container, l *leaf, column int) (*leafColumn, error) {
	meta := c.columns[column]
	lc := &leafColumn{c: c, leaf: l, pages: meta.GetPages(), open: -1}
	lc.batch.levels.scheme = l.levels
	total, ok := mulRows(c.descriptor.GetLength(), int(l.perRow))
	if !ok {
		return nil, inColumn(l.path, corrupt("%d rows of %d entries", c.descriptor.GetLength(), l.perRow))
	}
	lc.start = make([]uint64, len(lc.pages)+1)
	for i, p := range lc.pages {
		if p.GetLength() > total-lc.start[i] {
			return nil, inColumn(l.path, corrupt("the pages have more than the %d entries of the file", total))
		}
		lc.start[i+1] = lc.start[i] + p.GetLength()
	}
	if lc.start[len(lc.pages)] != total {
		return nil, inColumn(l.path, corrupt("the pages have %d of %d entries", lc.start[len(lc.pages)], total))
	}
	return lc, nil
}

// fill decodes ranges of rows to lc.batch.
func (lc *leafColumn) fill(mem memory.Allocator, ranges []rows, ahead uint64, limit int) error {
	lc.batch.levels.reset()
	lc.batch.values = newSink(lc.leaf.value, mem, limit)
	lc.batch.packed = lc.leaf.packed
	if n := lc.leaf.perRow; n > 1 {
		lc.entries = lc.entries[:0]
		for _, r := range ranges {
			lc.entries = append(lc.entries, rows{r.from * n, r.to * n})
		}
		ranges, ahead = lc.entries, min(ahead, math.MaxUint64/n)*n
	}
	for k := range ranges {
		if err := lc.pageRange(mem, ranges[k:], ahead); err != nil {
			lc.batch.values.release()
			return inColumn(lc.leaf.path, err)
		}
	}
	return nil
}

// pageRange decodes the first of the ranges to come.
func (lc *leafColumn) pageRange(mem memory.Allocator, ranges []rows, ahead uint64) error {
	for r := ranges[0]; r.from < r.to; {
		i := sort.Search(len(lc.pages), func(i int) bool { return lc.start[i+1] > r.from })
		if i == len(lc.pages) {
			return corrupt("row %d of %d", r.from, lc.start[i])
		}
		if err := lc.openPage(mem, i, r.from, ranges, ahead); err != nil {
			return err
		}
		end := min(r.to, lc.start[i+1])
		if err := lc.page.read(r.from-lc.start[i], end-lc.start[i], &lc.batch); err != nil {
			return err
		}
		r.from = end
	}
	return nil
}

// openPage makes page i the open one. Unless the source is mapped it reads
// ahead what the ranges need of the page, from the given row on, the last range
// stretched to row ahead.
func (lc *leafColumn) openPage(mem memory.Allocator, i int, from uint64, ranges []rows, ahead uint64) error {
	if lc.open == i {
		return nil
	}
	lc.close()
	var err error
	if lc.page, lc.bufs, err = openPage(lc.c, lc.pages[i], lc.leaf); err != nil {
		return err
	}
	lc.open = i
	if lc.c.in.mem != nil {
		return nil
	}
	if b := lc.page.prepare(); b >= 0 {
		if err := lc.bufs.readAhead(mem, b, []rows{{0, lc.bufs.size(b)}}); err != nil {
			return err
		}
	}
	start, end := lc.start[i], lc.start[i+1]
	var spans []rows
	buffer := 0
	for k, r := range ranges {
		to := min(r.to, end)
		if k == len(ranges)-1 {
			to = max(to, min(ahead, end))
		}
		if r.from = max(r.from, from); r.from >= end || to <= r.from {
			break
		}
		b, off, n, err := lc.page.span(r.from-start, to-start)
		if err != nil {
			return err
		}
		buffer = b
		spans = append(spans, rows{off, off + n})
	}
	return lc.bufs.readAhead(mem, buffer, spans)
}

func (lc *leafColumn) close() {
	if lc.bufs != nil {
		lc.bufs.close()
	}
	lc.open, lc.page, lc.bufs = -1, nil, nil
}

// rootColumn decodes a root field of version 2.1 or 2.2 from its leaves.
type rootColumn struct {
	node   *schema.Node
	leaves []*leafColumn
	mem    memory.Allocator
}

func newRootColumn(r *Reader, n *schema.Node) (columnReader, error) {
	leaves, err := leavesOf(n, r.packed)
	if err != nil {
		return nil, err
	}
	rc := &rootColumn{node: n, mem: r.mem, leaves: make([]*leafColumn, len(leaves))}
	for i, l := range leaves {
		if rc.leaves[i], err = newLeafColumn(r.c, l, r.columns[l.node.Field.GetId()]); err != nil {
			return nil, err
		}
	}
	return rc, nil
}

func (rc *rootColumn) read(ranges []rows, ahead uint64, limit int) (arrow.Array, error) {
	a := assembler{mem: rc.mem, leaves: make(map[*schema.Node]*leafBatch, len(rc.leaves))}
	defer func() {
		for _, b := range a.leaves {
			b.values.release()
		}
	}()
	n := 0
	for _, r := range ranges {
		n += int(r.to - r.from)
	}
	for _, lc := range rc.leaves {
		if err := lc.fill(rc.mem, ranges, ahead, limit); err != nil {
			return nil, err
		}
		a.leaves[lc.leaf.node] = &lc.batch
	}
	out, err := a.column(rc.node, n)
	if err != nil {
		return nil, inColumn(rc.node.Field.GetName(), err)
	}
	return out, nil
}

func (rc *rootColumn) close() {
	for _, lc := range rc.leaves {
		lc.close()
	}
}
