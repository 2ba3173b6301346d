// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"io"
	"math/bits"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/lancepb/containerpb"
	"github.com/lakeplane/lake/lance/lancepb/enc20pb"
)

const (
	writeMajor, writeMinor = 2, 1
	defaultPageBytes       = 8 << 20
	minPageBytes           = 4 << 10
	maxPageBytes           = 512 << 20
	// maxPageRows bounds pages of booleans, which reach no size limit, and the
	// 32-bit item count of a page.
	maxPageRows = 1 << 22
)

// WriterOptions says how to write a file. The zero value is the default.
type WriterOptions struct {
	// PageBytes is the size at which the pages of a column are cut, in bytes of
	// plain values, from 4 KiB to 512 MiB. Default: 8 MiB. It bounds the memory
	// of the writer to about that much per leaf column.
	PageBytes int64
	// Compact makes smaller files: values of a page are bitpacked, stored as runs
	// or by a dictionary, or compressed with LZ4 or zstd, whatever pays. Writing
	// takes more processor time, and so does reading; levels are as without it.
	Compact bool
	// Metadata is the schema metadata stored in the file. Default: that of the
	// Arrow schema.
	Metadata map[string][]byte
}

// Written describes a finished file, for its entry in a manifest.
type Written struct {
	// Rows is the number of rows, Size the number of bytes.
	Rows, Size uint64
	// Fields are the ids of the leaf fields, ColumnIndices their columns.
	Fields, ColumnIndices []int32
	// Major and Minor are the format version.
	Major, Minor uint32
}

// Writer writes one data file. It is not safe for concurrent use.
type Writer struct {
	w       io.Writer
	size    uint64
	layout  *Layout
	meta    map[string][]byte // or nil, for that of the layout
	columns []*columnWriter
	rows    uint64
	err     error // the first failure; the file is useless after it
	closed  bool
}

// NewWriter starts a file on w. The fields are the Lance fields of the schema,
// with the ids of the dataset; see the schema package. It fails with an error
// of kind [lake.Invalid] where they do not match or the schema cannot be
// stored.
func NewWriter(w io.Writer, s *arrow.Schema, fields []*lancepb.Field, o WriterOptions) (*Writer, error) {
	l, err := NewLayout(s, fields)
	if err != nil {
		return nil, err
	}
	return l.NewWriter(w, o)
}

// NewWriter starts a file on w. It fails with an error of kind [lake.Invalid]
// where the options are out of range.
func (l *Layout) NewWriter(w io.Writer, o WriterOptions) (*Writer, error) {
	if o.PageBytes == 0 {
		o.PageBytes = defaultPageBytes
	}
	if o.PageBytes < minPageBytes || o.PageBytes > maxPageBytes {
		return nil, invalid("page size %d, allowed are %d to %d", o.PageBytes, minPageBytes, maxPageBytes)
	}
	out := &Writer{w: w, layout: l, meta: o.Metadata, columns: make([]*columnWriter, len(l.columns))}
	for i, c := range l.columns {
		out.columns[i] = newColumnWriter(c, o)
	}
	return out, nil
}

// Write appends the rows of a batch, whose schema must be that of the writer
// up to metadata. Nulls in a field that is not nullable are an error of kind
// [lake.Invalid]. The batch is not kept.
func (w *Writer) Write(rec arrow.RecordBatch) error {
	if w.err != nil || w.closed {
		return w.failed()
	}
	if err := w.check(rec); err != nil {
		return err
	}
	for _, c := range w.columns {
		if err := c.append(w, rec.Column(c.root)); err != nil {
			w.err = inColumn(c.leaf.path, err)
			return w.err
		}
	}
	w.rows += uint64(rec.NumRows())
	return nil
}

func (w *Writer) failed() error {
	if w.err != nil {
		return w.err
	}
	return invalid("the file is closed")
}

// check refuses a batch before any of it is taken.
func (w *Writer) check(rec arrow.RecordBatch) error {
	if int(rec.NumCols()) != len(w.layout.roots) {
		return invalid("batch with %d columns, the file has %d", rec.NumCols(), len(w.layout.roots))
	}
	for i, f := range w.layout.roots {
		c := rec.Column(i)
		if rec.ColumnName(i) != f.Name || !arrow.TypeEqual(c.DataType(), f.Type) {
			return invalid("column %d of the batch is %s %s, the file has %s %s", i, rec.ColumnName(i), c.DataType(), f.Name, f.Type)
		}
		if err := checkNulls(c, f, f.Name); err != nil {
			return err
		}
	}
	return nil
}

// Close writes the remaining pages and the metadata. It does not close the
// underlying writer. After an error the file must be thrown away.
func (w *Writer) Close() (Written, error) {
	if w.err != nil || w.closed {
		return Written{}, w.failed()
	}
	w.closed = true
	for _, c := range w.columns {
		if err := c.flush(w); err != nil {
			w.err = inColumn(c.leaf.path, err)
			return Written{}, w.err
		}
	}
	if w.err = w.finish(); w.err != nil {
		return Written{}, w.err
	}
	out := Written{Rows: w.rows, Size: w.size, Major: writeMajor, Minor: writeMinor}
	for i, c := range w.columns {
		out.Fields = append(out.Fields, c.leaf.node.Field.GetId())
		out.ColumnIndices = append(out.ColumnIndices, int32(i))
	}
	return out, nil
}

// finish writes what follows the pages: descriptor, column metadata, the two
// tables, footer.
func (w *Writer) finish() error {
	desc, err := w.descriptor()
	if err != nil {
		return err
	}
	descAt, err := w.buffer(desc)
	if err != nil {
		return err
	}
	foot := footer{globalBuffers: 1, columns: uint32(len(w.columns)), major: writeMajor, minor: writeMinor}
	var table []byte
	for i, c := range w.columns {
		if c.meta.Encoding, err = plainColumn(); err != nil {
			return err
		}
		at, n, err := w.message(c.meta)
		if err != nil {
			return err
		}
		if i == 0 {
			foot.columnMeta = at
		}
		table = binary.LittleEndian.AppendUint64(table, at)
		table = binary.LittleEndian.AppendUint64(table, n)
	}
	if len(w.columns) == 0 {
		foot.columnMeta = w.size
	}
	foot.columnTable = w.size
	foot.globalTable = w.size + uint64(len(table))
	table = binary.LittleEndian.AppendUint64(table, descAt)
	table = binary.LittleEndian.AppendUint64(table, uint64(len(desc)))
	return w.raw(foot.append(table))
}

// descriptor is the message that tells the schema and the number of rows.
func (w *Writer) descriptor() ([]byte, error) {
	schema := w.layout.schema
	if w.meta != nil {
		var err error
		if schema, err = encodeSchema(w.layout.fields, w.meta); err != nil {
			return nil, err
		}
	}
	length, err := proto.Marshal(&lancepb.FileDescriptor{Length: w.rows})
	return slices.Concat(schema, length), err // a message may come in pieces
}

// plainColumn is the encoding of a column that is nothing but its pages.
var plainColumn = sync.OnceValues(func() (*containerpb.Encoding, error) {
	return encodeAny(columnURL, &enc20pb.ColumnEncoding{
		ColumnEncoding: &enc20pb.ColumnEncoding_Values{Values: &emptypb.Empty{}},
	})
})

func (w *Writer) message(m proto.Message) (at, n uint64, err error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return 0, 0, err
	}
	at, err = w.buffer(b)
	return at, uint64(len(b)), err
}

var padding [bufferAlign]byte

// buffer writes b at the next aligned position and returns the position.
func (w *Writer) buffer(b []byte) (uint64, error) {
	if r := w.size % bufferAlign; r != 0 {
		if err := w.raw(padding[:bufferAlign-r]); err != nil {
			return 0, err
		}
	}
	at := w.size
	return at, w.raw(b)
}

func (w *Writer) raw(b []byte) error {
	n, err := w.w.Write(b)
	w.size += uint64(n)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}

// columnWriter collects and writes the pages of one leaf.
type columnWriter struct {
	layoutColumn
	pageBytes int
	pageRows  int // rows of a page of plain fixed values

	shred shredder
	acc   accum
	enc   pageEncoder
	meta  *containerpb.ColumnMetadata
	rows  uint64 // in written pages
}

func newColumnWriter(in layoutColumn, o WriterOptions) *columnWriter {
	pageBytes, l := int(o.PageBytes), in.leaf
	c := &columnWriter{layoutColumn: in, pageBytes: pageBytes, pageRows: maxPageRows}
	c.shred.scheme = l.levels
	c.acc.leaf, c.acc.page, c.enc.leaf = l, pageBytes, l
	c.enc.compact = o.Compact
	if l.value.kind == fixedValues {
		// A power of two, so that batches of a scan end where pages do.
		c.pageRows = min(maxPageRows, 1<<(bits.Len(uint(max(1, pageBytes/l.value.width)))-1))
	}
	c.meta = &containerpb.ColumnMetadata{}
	return c
}

// append takes a whole array, cutting pages on the way.
func (c *columnWriter) append(w *Writer, arr arrow.Array) error {
	perRow := max(1, arrayBytes(arr, 0, arr.Len())/max(1, arr.Len()))
	for at := 0; at < arr.Len(); {
		room := max(1, (c.pageBytes-c.acc.bytes())/perRow)
		n := min(arr.Len()-at, room, c.pageRows-c.acc.rows)
		values := descend(&c.shred, arr, c.path, at, at+n)
		c.acc.add(&c.shred, n, values)
		at += n
		if c.acc.rows >= c.pageRows || c.acc.bytes() >= c.pageBytes {
			if err := c.flush(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// arrayBytes estimates the bytes of elements [from, to) of an array.
func arrayBytes(arr arrow.Array, from, to int) int {
	if from == to {
		return 0
	}
	switch x := arr.(type) {
	case *array.Boolean:
		return (to - from) / 8
	case *array.Struct:
		n := 0
		for i := range x.NumField() {
			n += arrayBytes(x.Field(i), from, to)
		}
		return n
	case *array.FixedSizeList:
		t, _ := valueTypeOf(x.DataType()) // a writer with another type was not made
		return (to - from) * t.width
	case array.ListLike:
		first, _ := x.ValueOffsets(from)
		_, last := x.ValueOffsets(to - 1)
		return 8*(to-from) + arrayBytes(x.ListValues(), int(first), int(last))
	case array.BinaryLike:
		return 4*(to-from) + int(x.ValueOffset64(to-1)-x.ValueOffset64(from)) + x.ValueLen(to-1)
	}
	if f, ok := arr.DataType().(arrow.FixedWidthDataType); ok {
		return (to - from) * f.BitWidth() / 8
	}
	return 0
}

// flush writes the page collected so far, if any.
func (c *columnWriter) flush(w *Writer) error {
	if c.acc.rows == 0 {
		return nil
	}
	for _, part := range c.acc.split() {
		if err := c.page(w, part); err != nil {
			return err
		}
	}
	c.acc.reset()
	return nil
}

// page writes one page.
func (c *columnWriter) page(w *Writer, a *accum) error {
	p, err := c.enc.encode(a)
	if err != nil {
		return err
	}
	page := &containerpb.ColumnMetadata_Page{Length: uint64(a.rows), Priority: c.rows}
	if page.Encoding, err = encodeAny(pageLayoutURL, p.layout); err != nil {
		return err
	}
	for _, b := range p.buffers {
		at, err := w.buffer(b)
		if err != nil {
			return err
		}
		page.BufferOffsets = append(page.BufferOffsets, at)
		page.BufferSizes = append(page.BufferSizes, uint64(len(b)))
	}
	c.meta.Pages = append(c.meta.Pages, page)
	c.rows += uint64(a.rows)
	return nil
}
