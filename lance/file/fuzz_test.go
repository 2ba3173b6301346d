// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lance/file/filetest"
	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/lancepb/containerpb"
	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
	"github.com/lakeplane/lake/lance/schema"
)

// FuzzFile reads whole files.
func FuzzFile(f *testing.F) {
	for _, b := range sampleFiles(f) {
		if len(b) < 8<<10 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		if err := readEverything(b, true, mem); !typed(err) {
			t.Fatalf("untyped error %T: %v", err, err)
		}
	})
}

// FuzzFooter parses footers and, where one is accepted, writes it again.
func FuzzFooter(f *testing.F) {
	f.Add(footer{columnMeta: 1, columnTable: 2, globalTable: 3, globalBuffers: 1, columns: 1, major: 2, minor: 1}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		foot, err := parseFooter(b)
		if err != nil {
			if !typed(err) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if got := foot.append(nil); string(got) != string(b) {
			t.Fatalf("footer %x became %x", b, got)
		}
	})
}

// fuzzTypes are the logical types FuzzPage reads pages as.
var fuzzTypes = []string{"int64", "bool", "string", "large_binary", "fixed_size_list:float:3", "decimal:128:20:2", "null", "int16"}

// fuzzRoot returns a field of one leaf, inside nothing, a list, a struct around
// a list, or two lists.
func fuzzRoot(kind, nesting uint8) (*schema.Node, error) {
	chains := [][]string{{}, {"list"}, {"struct", "list"}, {"list", "list"}}
	var fields []*lancepb.Field
	for _, typ := range append(chains[int(nesting)%len(chains)], fuzzTypes[int(kind)%len(fuzzTypes)]) {
		id := int32(len(fields))
		fields = append(fields, &lancepb.Field{Name: "f", Id: id, ParentId: id - 1, LogicalType: typ, Nullable: true})
	}
	roots, err := schema.Tree(fields)
	if err != nil {
		return nil, err
	}
	return roots[0], nil
}

func fuzzLeaf(kind, nesting uint8) (*leaf, error) {
	root, err := fuzzRoot(kind, nesting)
	if err != nil {
		return nil, err
	}
	leaves, err := leavesOf(root, nil)
	if err != nil {
		return nil, err
	}
	return leaves[0], nil
}

// FuzzPage decodes one page: a layout message and up to four buffers cut out of
// one run of bytes.
func FuzzPage(f *testing.F) {
	seedPages(f)
	f.Fuzz(func(t *testing.T, kind, nesting uint8, rows uint16, layout, data []byte, a, b, c uint16) {
		l, err := fuzzLeaf(kind, nesting)
		if err != nil {
			t.Fatal(err)
		}
		var msg enc21pb.PageLayout
		if proto.Unmarshal(layout, &msg) != nil {
			return
		}
		enc, err := encodeAny(pageLayoutURL, &msg)
		if err != nil {
			return
		}
		page := &containerpb.ColumnMetadata_Page{Length: uint64(rows), Encoding: enc}
		at := uint64(0)
		for _, n := range []uint16{a, b, c} {
			size := min(uint64(n), uint64(len(data))-at)
			page.BufferOffsets, page.BufferSizes = append(page.BufferOffsets, at), append(page.BufferSizes, size)
			at += size
		}
		page.BufferOffsets, page.BufferSizes = append(page.BufferOffsets, at), append(page.BufferSizes, uint64(len(data))-at)
		if err := decodePage(t, page, l, data); !typed(err) {
			t.Fatalf("untyped error %T: %v", err, err)
		}
	})
}

// decodePage reads all rows of a page and assembles them.
func decodePage(t *testing.T, page *containerpb.ColumnMetadata_Page, l *leaf, data []byte) error {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	in, err := newInput(Bytes(data))
	if err != nil {
		return err
	}
	cont := &container{
		major: 2, minor: 1, in: in, descriptor: &lancepb.FileDescriptor{Length: page.GetLength()},
		columns: []*containerpb.ColumnMetadata{{Pages: []*containerpb.ColumnMetadata_Page{page}}},
	}
	lc, err := newLeafColumn(cont, l, 0)
	if err != nil {
		return err
	}
	defer lc.close()
	if page.GetLength() == 0 {
		return nil
	}
	defer func() { lc.batch.values.release() }()
	err = lc.fill(mem, []rows{{0, page.GetLength()}}, 0, 1<<20)
	if errors.Is(err, errBatchTooLarge) {
		return nil
	}
	return err
}

// seedPages adds small pages of every type and nesting, as Lake writes them.
func seedPages(f *testing.F) {
	for kind := range fuzzTypes {
		for nesting := range 4 {
			r := rand.New(rand.NewPCG(uint64(kind), uint64(nesting)))
			l, err := fuzzLeaf(uint8(kind), uint8(nesting))
			if err != nil {
				f.Fatal(err)
			}
			g := &filetest.Generator{R: r, Mem: memory.DefaultAllocator}
			root, err := fuzzRoot(uint8(kind), uint8(nesting))
			if err != nil {
				f.Fatal(err)
			}
			s := arrow.NewSchema([]arrow.Field{root.Arrow()}, nil)
			acc, enc := accum{leaf: l, page: minPageBytes}, pageEncoder{leaf: l}
			sh := shredder{scheme: l.levels}
			rec := g.Batch(s, 20)
			acc.add(&sh, 20, descend(&sh, rec.Column(0), structPaths(root, nil, nil)[0], 0, 20))
			p, err := enc.encode(&acc)
			if err != nil {
				f.Fatal(err)
			}
			seedPage(f, uint8(kind), uint8(nesting), p)
		}
	}
}

func seedPage(f *testing.F, kind, nesting uint8, p encodedPage) {
	msg, err := proto.Marshal(p.layout)
	if err != nil {
		f.Fatal(err)
	}
	var data []byte
	var sizes [3]uint16
	for i, b := range p.buffers {
		if i < 3 {
			sizes[i] = uint16(len(b))
		}
		data = append(data, b...)
	}
	f.Add(kind, nesting, uint16(20), msg, data, sizes[0], sizes[1], sizes[2])
}
