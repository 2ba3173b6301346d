// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/lancepb/containerpb"
	"github.com/lakeplane/lake/lance/lancepb/enc20pb"
	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
	"github.com/lakeplane/lake/lance/schema"
)

// stockColumn is a column of a type that only stock LanceDB writes, with one of
// its pages.
type stockColumn struct {
	reader *Reader
	node   *schema.Node
	leaf   *leaf // of versions from 2.1
	page   *containerpb.ColumnMetadata_Page
	data   []byte
	sizes  [3]uint16
}

// stockColumns are the columns of the samples of such types, in order.
func stockColumns(t testing.TB) []stockColumn {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "stock", "unwritten-*.lance"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	var out []stockColumn
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Open(context.Background(), Bytes(b), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range r.roots {
			out = append(out, columnsBelow(t, r, n, b)...)
		}
	}
	return out
}

func columnsBelow(t testing.TB, r *Reader, root *schema.Node, b []byte) []stockColumn {
	var out []stockColumn
	add := func(n *schema.Node, l *leaf) {
		c := stockColumn{reader: r, node: n, leaf: l, page: r.c.columns[r.columns[n.Field.GetId()]].GetPages()[0]}
		for i, at := range c.page.GetBufferOffsets() {
			size := c.page.GetBufferSizes()[i]
			if i < len(c.sizes) {
				c.sizes[i] = uint16(size)
			}
			c.data = append(c.data, b[at:at+size]...)
		}
		out = append(out, c)
	}
	if r.c.minor > 0 {
		leaves, err := leavesOf(root, r.packed)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range leaves {
			add(l.node, l)
		}
		return out
	}
	root.Walk(func(n *schema.Node) {
		if _, ok := r.columns[n.Field.GetId()]; ok && !isList(n) {
			add(n, nil)
		}
	})
	return out
}

// TestStockColumns reads the pages that FuzzStockPage begins with.
func TestStockColumns(t *testing.T) {
	for i, c := range stockColumns(t) {
		page := proto.CloneOf(c.page)
		at := uint64(0)
		for k, size := range page.GetBufferSizes() {
			page.BufferOffsets[k] = at
			at += size
		}
		if err := c.decode(t, page, c.data); err != nil {
			t.Errorf("column %d, %s: %v", i, c.node.Field.GetName(), err)
		}
	}
}

// FuzzStockPage decodes pages of the types of the samples, and builds an array
// of those that are one column.
func FuzzStockPage(f *testing.F) {
	columns := stockColumns(f)
	for i, c := range columns {
		layout := encodingOf(f, c)
		f.Add(uint8(i), uint16(c.page.GetLength()), layout, c.data, c.sizes[0], c.sizes[1], c.sizes[2])
	}
	f.Fuzz(func(t *testing.T, kind uint8, rows uint16, layout, data []byte, a, b, c uint16) {
		col := columns[int(kind)%len(columns)]
		page := &containerpb.ColumnMetadata_Page{Length: uint64(rows)}
		var err error
		if page.Encoding, err = col.encode(layout); err != nil {
			return
		}
		at := uint64(0)
		for _, n := range []uint16{a, b, c} {
			size := min(uint64(n), uint64(len(data))-at)
			page.BufferOffsets, page.BufferSizes = append(page.BufferOffsets, at), append(page.BufferSizes, size)
			at += size
		}
		page.BufferOffsets, page.BufferSizes = append(page.BufferOffsets, at), append(page.BufferSizes, uint64(len(data))-at)
		if err := col.decode(t, page, data); !typed(err) {
			t.Fatalf("untyped error %T: %v", err, err)
		}
	})
}

// message is an empty description of a page.
func (c stockColumn) message() (m proto.Message, url string) {
	if c.reader.c.minor == 0 {
		return new(enc20pb.ArrayEncoding), arrayEncodingURL
	}
	return new(enc21pb.PageLayout), pageLayoutURL
}

func encodingOf(f *testing.F, c stockColumn) []byte {
	m, url := c.message()
	if err := c.reader.c.decodeEncoding(c.page.GetEncoding(), url, m); err != nil {
		f.Fatal(err)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		f.Fatal(err)
	}
	return b
}

func (c stockColumn) encode(layout []byte) (*containerpb.Encoding, error) {
	m, url := c.message()
	if err := proto.Unmarshal(layout, m); err != nil {
		return nil, err
	}
	return encodeAny(url, m)
}

// decode reads all rows of the page, as the only one of its column.
func (c stockColumn) decode(t *testing.T, page *containerpb.ColumnMetadata_Page, data []byte) error {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	in, err := newInput(Bytes(data))
	if err != nil {
		return err
	}
	perRow := uint64(1)
	if c.leaf != nil {
		perRow = c.leaf.perRow
	}
	rows := page.GetLength() / perRow
	page.Length = rows * perRow
	r := &Reader{mem: mem, packed: c.reader.packed, columns: map[int32]int{c.node.Field.GetId(): 0}, c: &container{
		major: 2, minor: c.reader.c.minor, in: in, descriptor: &lancepb.FileDescriptor{Length: rows},
		columns: []*containerpb.ColumnMetadata{{Pages: []*containerpb.ColumnMetadata_Page{page}}},
	}}
	err = c.read(r, rows)
	if errors.Is(err, errBatchTooLarge) {
		return nil
	}
	return err
}

func (c stockColumn) read(r *Reader, n uint64) error {
	if c.leaf == nil {
		col, err := newRootColumn20(r, c.node)
		if err != nil || n == 0 {
			return err
		}
		defer col.close()
		a, err := col.read([]rows{{0, n}}, 0, 1<<20)
		if err == nil {
			a.Release()
		}
		return err
	}
	lc, err := newLeafColumn(r.c, c.leaf, 0)
	if err != nil || n == 0 {
		return err
	}
	defer lc.close()
	defer func() { lc.batch.values.release() }()
	if err := lc.fill(r.mem, []rows{{0, n}}, 0, 1<<20); err != nil {
		return err
	}
	a := assembler{mem: r.mem, leaves: map[*schema.Node]*leafBatch{c.node: &lc.batch}}
	p, err := a.node(c.node)
	if err == nil {
		p.data.Release()
	}
	return err
}
