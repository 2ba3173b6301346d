// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/lancepb/containerpb"
)

const (
	footerSize = 40
	magic      = "LANC"
	// tailRead is what is read first from a source that is not mapped; it
	// holds the metadata of most files, so that opening is one read.
	tailRead = 64 << 10
	// maxTail is the most metadata that is read ahead.
	maxTail = 64 << 20
	// bufferAlign is the alignment of page buffers in the file.
	bufferAlign = 64

	pageLayoutURL    = "/lance.encodings21.PageLayout"
	arrayEncodingURL = "/lance.encodings.ArrayEncoding"
	columnURL        = "/lance.encodings.ColumnEncoding"
)

// footer is the last 40 bytes of a file: where the tables are.
type footer struct {
	columnMeta    uint64 // start of the first column's metadata
	columnTable   uint64 // offset table of column metadata
	globalTable   uint64 // offset table of global buffers
	globalBuffers uint32
	columns       uint32
	major, minor  uint16
}

func parseFooter(b []byte) (footer, error) {
	if len(b) != footerSize {
		return footer{}, corrupt("the file has %d bytes, a footer has %d", len(b), footerSize)
	}
	if string(b[36:]) != magic {
		return footer{}, corrupt("the file does not end with %q", magic)
	}
	le := binary.LittleEndian
	return footer{
		columnMeta:    le.Uint64(b),
		columnTable:   le.Uint64(b[8:]),
		globalTable:   le.Uint64(b[16:]),
		globalBuffers: le.Uint32(b[24:]),
		columns:       le.Uint32(b[28:]),
		major:         le.Uint16(b[32:]),
		minor:         le.Uint16(b[34:]),
	}, nil
}

func (f footer) append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, f.columnMeta)
	b = le.AppendUint64(b, f.columnTable)
	b = le.AppendUint64(b, f.globalTable)
	b = le.AppendUint32(b, f.globalBuffers)
	b = le.AppendUint32(b, f.columns)
	b = le.AppendUint16(b, f.major)
	b = le.AppendUint16(b, f.minor)
	return append(b, magic...)
}

// version returns the format version the footer stands for: 2.0 files carry
// 0.3 in their footer.
func (f footer) version() (major, minor uint32, err error) {
	major, minor = uint32(f.major), uint32(f.minor)
	if major == 0 && minor == 3 {
		return 2, 0, nil
	}
	if major != 2 || minor > 2 {
		return 0, 0, unsupported("file version %d.%d", major, minor)
	}
	return major, minor, nil
}

// container is the parsed metadata of a file.
type container struct {
	major, minor uint32
	descriptor   *lancepb.FileDescriptor
	columns      []*containerpb.ColumnMetadata
	in           *input
	tail         []byte // the last bytes of the file
}

// at returns a range of the file, from the tail when it is there.
func (c *container) at(off, length uint64) ([]byte, error) {
	start := c.in.size - uint64(len(c.tail))
	if off >= start && off <= c.in.size && length <= c.in.size-off {
		return c.tail[off-start:][:length:length], nil
	}
	return c.in.bytes(off, length)
}

func readContainer(in *input) (*container, error) {
	tail, err := in.bytes(in.size-min(in.size, tailRead), min(in.size, tailRead))
	if err != nil {
		return nil, err
	}
	c := &container{in: in, tail: tail}
	foot, err := parseFooter(tail[len(tail)-min(len(tail), footerSize):])
	if err != nil {
		return nil, err
	}
	if c.major, c.minor, err = foot.version(); err != nil {
		return nil, err
	}
	if err := c.extendTail(foot); err != nil {
		return nil, err
	}
	if err := c.readDescriptor(foot); err != nil {
		return nil, err
	}
	return c, c.readColumns(foot)
}

// extendTail reads all metadata in one piece when it is more than the tail, so
// that opening a file of many columns takes two reads and not one per column.
func (c *container) extendTail(foot footer) error {
	from := foot.columnMeta - min(foot.columnMeta, tailRead)
	size := c.in.size - min(c.in.size, from)
	if c.in.mem != nil || size <= uint64(len(c.tail)) || size > maxTail {
		return nil
	}
	var err error
	c.tail, err = c.in.bytes(from, size)
	return err
}

// table reads an offset table: n pairs of position and length.
func (c *container) table(off uint64, n uint32) ([]byte, error) {
	return c.at(off, uint64(n)*16)
}

func (c *container) readDescriptor(foot footer) error {
	if foot.globalBuffers == 0 {
		return corrupt("the file has no descriptor")
	}
	entry, err := c.table(foot.globalTable, 1)
	if err != nil {
		return err
	}
	b, err := c.at(binary.LittleEndian.Uint64(entry), binary.LittleEndian.Uint64(entry[8:]))
	if err != nil {
		return err
	}
	c.descriptor = new(lancepb.FileDescriptor)
	if err := proto.Unmarshal(b, c.descriptor); err != nil {
		return corrupt("descriptor: %v", err)
	}
	return nil
}

func (c *container) readColumns(foot footer) error {
	entries, err := c.table(foot.columnTable, foot.columns)
	if err != nil {
		return err
	}
	c.columns = make([]*containerpb.ColumnMetadata, foot.columns)
	var total uint64
	for i := range c.columns {
		entry := entries[i*16:]
		// Columns that share metadata could make much of little.
		if total += min(binary.LittleEndian.Uint64(entry[8:]), c.in.size); total > c.in.size {
			return corrupt("the metadata of the columns exceeds the file")
		}
		b, err := c.at(binary.LittleEndian.Uint64(entry), binary.LittleEndian.Uint64(entry[8:]))
		if err != nil {
			return err
		}
		c.columns[i] = new(containerpb.ColumnMetadata)
		if err := proto.Unmarshal(b, c.columns[i]); err != nil {
			return corrupt("metadata of column %d: %v", i, err)
		}
	}
	return nil
}

// decodeEncoding reads the encoding message of a page into m.
func (c *container) decodeEncoding(e *containerpb.Encoding, url string, m proto.Message) error {
	b := e.GetDirect().GetEncoding()
	if ref := e.GetIndirect(); ref != nil {
		var err error
		if b, err = c.at(ref.GetBufferLocation(), ref.GetBufferLength()); err != nil {
			return err
		}
	}
	var boxed anypb.Any
	if err := proto.Unmarshal(b, &boxed); err != nil {
		return corrupt("page encoding: %v", err)
	}
	if boxed.GetTypeUrl() != url {
		return unsupported("page encoding %q, only %q is read in version %d.%d", boxed.GetTypeUrl(), url, c.major, c.minor)
	}
	if err := proto.Unmarshal(boxed.GetValue(), m); err != nil {
		return corrupt("page encoding: %v", err)
	}
	return nil
}

// encodeAny wraps a message the way page and column encodings are stored.
func encodeAny(url string, m proto.Message) (*containerpb.Encoding, error) {
	size := proto.Size(m)
	// A google.protobuf.Any, whose fields are 1, the url, and 2, the message.
	b := make([]byte, 0, 2+protowire.SizeBytes(len(url))+protowire.SizeBytes(size))
	b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), url)
	b = protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.BytesType), uint64(size))
	b, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(b, m)
	if err != nil {
		return nil, err
	}
	direct := &containerpb.DirectEncoding{Encoding: b}
	return &containerpb.Encoding{Location: &containerpb.Encoding_Direct{Direct: direct}}, nil
}
