// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/lancepb/containerpb"
	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

// leafBatch collects what one leaf contributes to a batch.
type leafBatch struct {
	levels levelBuffer
	values *sink
}

// pageReader decodes rows of one page. It keeps scratch memory and serves one
// goroutine.
type pageReader interface {
	// span is the range of the data buffer that rows [from, to) need. The
	// buffer's number is fixed for the page.
	span(from, to uint64) (buffer int, off, n uint64, err error)
	// read appends rows [from, to) of the page, from < to.
	read(from, to uint64, out *leafBatch) error
}

// pageBuffers gives checked access to the buffers of a page.
type pageBuffers struct {
	c     *container
	offs  []uint64
	sizes []uint64

	// A part of one buffer that was read ahead.
	ahead     *memory.Buffer
	aheadBuf  int
	aheadFrom uint64
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
	if b.covers(i, off, n) {
		return b.ahead.Bytes()[off-b.aheadFrom:][:n:n], nil
	}
	return b.c.in.bytes(b.offs[i]+off, n)
}

func (b *pageBuffers) covers(i int, off, n uint64) bool {
	return b.ahead != nil && i == b.aheadBuf && off >= b.aheadFrom && off-b.aheadFrom+n <= uint64(b.ahead.Len())
}

// owned is part, with the buffer that the result is a part of, if there is one.
func (b *pageBuffers) owned(i int, off, n uint64) ([]byte, *memory.Buffer, error) {
	p, err := b.part(i, off, n)
	if err != nil || !b.covers(i, off, n) {
		return p, nil, err
	}
	return p, b.ahead, nil
}

// readAhead reads a part in one piece, to serve later calls of part from it.
// The memory is that of the batches, which may refer to it.
func (b *pageBuffers) readAhead(mem memory.Allocator, i int, off, n uint64) error {
	if b.c.in.mem != nil || n == 0 {
		return nil
	}
	if i >= len(b.sizes) || off > b.sizes[i] || n > b.sizes[i]-off {
		return corrupt("%d bytes at %d of a page buffer of %d bytes", n, off, b.size(i))
	}
	buf := memory.NewResizableBuffer(mem)
	if err := b.c.in.read(b.offs[i]+off, n, func() []byte { buf.Resize(int(n)); return buf.Bytes() }); err != nil {
		buf.Release()
		return err
	}
	b.ahead, b.aheadBuf, b.aheadFrom = buf, i, off
	return nil
}

// close gives up what was read ahead; batches that refer to it keep it.
func (b *pageBuffers) close() {
	releaseBuffer(b.ahead)
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
