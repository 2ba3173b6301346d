// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"fmt"
	"sort"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"github.com/lakeplane/lake/lance/lancepb/containerpb"
	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
	"github.com/lakeplane/lake/lance/schema"
)

// leafBatch collects what one leaf contributes to a batch.
type leafBatch struct {
	levels levelBuffer
	values *sink
	packed *schema.Node // the struct that packed values are the fields of
}

// pageReader decodes rows of one page. It keeps scratch memory and serves one
// goroutine.
type pageReader interface {
	// span is the range of the data buffer that rows [from, to) need. The
	// buffer's number is fixed for the page.
	span(from, to uint64) (buffer int, off, n uint64, err error)
	// prepare names a buffer worth reading in whole before asking for the spans
	// of several ranges, or is negative.
	prepare() int
	// read appends rows [from, to) of the page, from < to.
	read(from, to uint64, out *leafBatch) error
}

// pageBuffers gives checked access to the buffers of a page.
type pageBuffers struct {
	c     *container
	offs  []uint64
	sizes []uint64

	ahead []aheadPart // what was read ahead, by position
}

// aheadPart is a part of one buffer of a page that was read ahead.
type aheadPart struct {
	buffer int
	from   uint64
	mem    *memory.Buffer
}

func newPageBuffers(c *container, p *containerpb.ColumnMetadata_Page) (*pageBuffers, error) {
	if len(p.GetBufferOffsets()) != len(p.GetBufferSizes()) {
		return nil, corrupt("a page has %d buffer offsets and %d sizes", len(p.GetBufferOffsets()), len(p.GetBufferSizes()))
	}
	for i, off := range p.GetBufferOffsets() {
		if size := p.GetBufferSizes()[i]; off > c.in.size || size > c.in.size-off {
			return nil, corrupt("page buffer of %d bytes at %d in a file of %d", size, off, c.in.size)
		}
	}
	return &pageBuffers{c: c, offs: p.GetBufferOffsets(), sizes: p.GetBufferSizes()}, nil
}

func (b *pageBuffers) size(i int) uint64 {
	if i >= len(b.sizes) {
		return 0
	}
	return b.sizes[i]
}

// whole returns buffer i.
func (b *pageBuffers) whole(i int) ([]byte, error) { return b.part(i, 0, b.size(i)) }

// part returns n bytes of buffer i at off.
func (b *pageBuffers) part(i int, off, n uint64) ([]byte, error) {
	if i >= len(b.sizes) {
		return nil, corrupt("a page has %d buffers, buffer %d is needed", len(b.sizes), i)
	}
	if off > b.sizes[i] || n > b.sizes[i]-off {
		return nil, corrupt("%d bytes at %d of a page buffer of %d bytes", n, off, b.sizes[i])
	}
	if a := b.covers(i, off, n); a != nil {
		return a.mem.Bytes()[off-a.from:][:n:n], nil
	}
	return b.c.in.bytes(b.offs[i]+off, n)
}

// covers returns the part read ahead that holds a range, or nil.
func (b *pageBuffers) covers(i int, off, n uint64) *aheadPart {
	k := sort.Search(len(b.ahead), func(k int) bool {
		a := b.ahead[k]
		return a.buffer > i || a.buffer == i && a.from > off
	})
	if k == 0 {
		return nil
	}
	a := &b.ahead[k-1]
	if a.buffer != i || n > uint64(a.mem.Len()) || off-a.from > uint64(a.mem.Len())-n {
		return nil
	}
	return a
}

// owned is part, with the buffer that the result is a part of, if there is one.
func (b *pageBuffers) owned(i int, off, n uint64) ([]byte, *memory.Buffer, error) {
	p, err := b.part(i, off, n)
	if a := b.covers(i, off, n); err == nil && a != nil {
		return p, a.mem, nil
	}
	return p, nil, err
}

const (
	// aheadGap is how far apart ranges may lie to be read in one piece, unless
	// the source is a [Joining].
	aheadGap = 64 << 10
	// aheadReads is the number of reads of one page at once.
	aheadReads = 8
)

// readAhead reads ranges of one buffer, joined where they are close, to serve
// later calls of part from them. The memory is that of the batches, which may
// refer to it. The ranges must ascend.
func (b *pageBuffers) readAhead(mem memory.Allocator, i int, ranges []rows) error {
	var parts []rows
	for _, r := range ranges {
		if r.to <= r.from {
			continue
		}
		if k := len(parts); k > 0 && r.from <= parts[k-1].to+b.c.in.gap {
			parts[k-1].to = max(parts[k-1].to, r.to)
			continue
		}
		parts = append(parts, r)
	}
	for _, r := range parts {
		if i >= len(b.sizes) || r.to > b.sizes[i] {
			return corrupt("bytes %d to %d of a page buffer of %d bytes", r.from, r.to, b.size(i))
		}
	}
	got := make([]*memory.Buffer, len(parts))
	var g errgroup.Group
	g.SetLimit(aheadReads)
	for k, r := range parts {
		got[k] = memory.NewResizableBuffer(mem)
		got[k].Resize(int(r.to - r.from))
		g.Go(func() error {
			return b.c.in.read(b.offs[i]+r.from, r.to-r.from, func() []byte { return got[k].Bytes() })
		})
	}
	err := g.Wait()
	for k, buf := range got {
		if err != nil {
			releaseBuffer(buf)
			continue
		}
		b.ahead = append(b.ahead, aheadPart{i, parts[k].from, buf})
	}
	sort.Slice(b.ahead, func(x, y int) bool {
		if b.ahead[x].buffer != b.ahead[y].buffer {
			return b.ahead[x].buffer < b.ahead[y].buffer
		}
		return b.ahead[x].from < b.ahead[y].from
	})
	return err
}

// close gives up what was read ahead; batches that refer to it keep it.
func (b *pageBuffers) close() {
	for _, a := range b.ahead {
		a.mem.Release()
	}
	b.ahead = nil
}

// openPage returns the reader of a page of version 2.1 or 2.2.
func openPage(c *container, p *containerpb.ColumnMetadata_Page, l *leaf) (pageReader, *pageBuffers, error) {
	var layout enc21pb.PageLayout
	if err := c.decodeEncoding(p.GetEncoding(), pageLayoutURL, &layout); err != nil {
		return nil, nil, err
	}
	bufs, err := newPageBuffers(c, p)
	if err != nil {
		return nil, nil, err
	}
	var r pageReader
	switch x := layout.GetLayout().(type) {
	case *enc21pb.PageLayout_MiniBlockLayout:
		r, err = openMini(x.MiniBlockLayout, bufs, p.GetLength(), l)
	case *enc21pb.PageLayout_FullZipLayout:
		r, err = openZip(x.FullZipLayout, bufs, p.GetLength(), l)
	case *enc21pb.PageLayout_ConstantLayout:
		r, err = openConstant(x.ConstantLayout, bufs, p.GetLength(), l)
	default:
		name := fmt.Sprintf("%T", layout.GetLayout())
		err = unsupported("page layout %s", name[strings.LastIndexByte(name, '_')+1:])
	}
	return r, bufs, err
}
