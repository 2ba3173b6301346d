// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Deletion files in Arrow form are Arrow IPC files of one column of row
// offsets. They are read here and not by the Arrow library, which allocates
// what the counts in a file ask for: one flipped bit can ask for more memory
// than there is, and that ends a Go process.
//
// What is read is the IPC file format of Arrow: a footer, which lists blocks,
// each a message with a body. Messages are flatbuffers: a table begins with the
// distance back to a vtable of field offsets.
//
// Positions out of range panic like any slice index, and the caller recovers;
// nothing is allocated by a count that was not checked.

// flatTable is a table of a flatbuffer.
type flatTable struct {
	b  []byte
	at int
}

func u32(b []byte, at int) int { return int(binary.LittleEndian.Uint32(b[at:])) }
func i64(b []byte, at int) int { return int(int64(binary.LittleEndian.Uint64(b[at:]))) }

// root returns the table a flatbuffer begins with.
func root(b []byte) flatTable { return flatTable{b, u32(b, 0)} }

// field returns the position of a field's value, or 0 when it is left out.
func (t flatTable) field(i int) int {
	vtable := t.at - int(int32(binary.LittleEndian.Uint32(t.b[t.at:])))
	slot := 4 + 2*i
	if slot+2 > int(binary.LittleEndian.Uint16(t.b[vtable:])) {
		return 0
	}
	off := int(binary.LittleEndian.Uint16(t.b[vtable+slot:]))
	if off == 0 {
		return 0
	}
	return t.at + off
}

// table returns the table a field refers to.
func (t flatTable) table(i int) (flatTable, bool) {
	at := t.field(i)
	if at == 0 {
		return flatTable{}, false
	}
	return flatTable{t.b, at + u32(t.b, at)}, true
}

// vector returns the elements of a vector of structs of a size.
func (t flatTable) vector(i, size int) [][]byte {
	at := t.field(i)
	if at == 0 {
		return nil
	}
	at += u32(t.b, at)
	n := u32(t.b, at)
	body := t.b[at+4:]
	if n > len(body)/size {
		panic("a vector is longer than its buffer")
	}
	out := make([][]byte, n)
	for j := range out {
		out[j] = body[j*size:][:size]
	}
	return out
}

func (t flatTable) byte(i int) byte {
	if at := t.field(i); at != 0 {
		return t.b[at]
	}
	return 0
}

const arrowMagic = "ARROW1"

// parseArrowOffsets returns the values of the one column of 32-bit integers of
// an Arrow IPC file.
func parseArrowOffsets(raw []byte) ([]uint32, error) {
	if !bytes.HasPrefix(raw, []byte(arrowMagic)) || !bytes.HasSuffix(raw, []byte(arrowMagic)) {
		return nil, corrupt("arrow file: no magic number")
	}
	end := len(raw) - len(arrowMagic) - 4
	footer := root(raw[end-u32(raw, end) : end])
	if err := checkOffsetColumn(footer); err != nil {
		return nil, err
	}
	var out []uint32
	for _, block := range footer.vector(3, 24) {
		offset, metadata := i64(block, 0), u32(block, 8)
		values, err := parseArrowBatch(raw[offset:][:metadata], raw[offset+metadata:][:i64(block, 16)])
		if err != nil {
			return nil, err
		}
		out = append(out, values...)
	}
	return out, nil
}

// checkOffsetColumn wants one column of int32 or uint32.
func checkOffsetColumn(footer flatTable) error {
	schema, ok := footer.table(1)
	if !ok {
		return corrupt("arrow file: no schema")
	}
	columns := schema.vector(1, 4)
	if len(columns) != 1 {
		return corrupt("arrow file: %d columns, want 1", len(columns))
	}
	at := schema.field(1)
	at += u32(schema.b, at) + 4 // the first element of the vector
	column := flatTable{schema.b, at + u32(schema.b, at)}
	const typeInt = 2
	integer, ok := column.table(3)
	if column.byte(2) != typeInt || !ok || u32(integer.b, integer.field(0)) != 32 {
		return corrupt("arrow file: the column is not of 32-bit integers")
	}
	return nil
}

func parseArrowBatch(message, body []byte) ([]uint32, error) {
	const continuation = 0xffffffff
	if u32(message, 0) == continuation {
		message = message[4:]
	}
	const headerBatch = 3
	m := root(message[4:])
	batch, ok := m.table(2)
	if m.byte(1) != headerBatch || !ok {
		return nil, corrupt("arrow file: a message is not a record batch")
	}
	nodes, buffers := batch.vector(1, 16), batch.vector(2, 16)
	if len(nodes) != 1 || len(buffers) != 2 || i64(nodes[0], 8) != 0 {
		return nil, corrupt("arrow file: %d columns of %d buffers, want one without nulls", len(nodes), len(buffers))
	}
	n := i64(nodes[0], 0)
	if n == 0 {
		return nil, nil
	}
	data := body[i64(buffers[1], 0):][:i64(buffers[1], 8)]
	if compression, ok := batch.table(3); ok {
		var err error
		if data, err = decompressBuffer(data, compression.byte(0), n); err != nil {
			return nil, err
		}
	}
	if n < 0 || n > len(data)/4 {
		return nil, corrupt("arrow file: %d values in %d bytes", n, len(data))
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return out, nil
}

// decompressBuffer returns a buffer of n values, which are preceded by their
// length unless they are not compressed after all.
func decompressBuffer(data []byte, codec byte, n int) ([]byte, error) {
	length := i64(data, 0)
	data = data[8:]
	if length == -1 {
		return data, nil
	}
	if n < 0 || n > maxDeleted || length < 4*n || length > 4*n+64 {
		return nil, corrupt("arrow file: %d values in a buffer of %d bytes", n, length)
	}
	const codecLZ4, codecZstd = 0, 1
	var r io.Reader
	switch codec {
	case codecLZ4:
		r = lz4.NewReader(bytes.NewReader(data))
	case codecZstd:
		d, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
		if err != nil {
			return nil, corrupt("arrow file: %w", err)
		}
		defer d.Close()
		r = d
	default:
		return nil, unsupported("arrow file: compression %d", codec)
	}
	// Grows with what the data hold, not with what the length claims.
	var out bytes.Buffer
	if got, err := io.Copy(&out, io.LimitReader(r, int64(length))); err != nil || got != int64(length) {
		return nil, corrupt("arrow file: %d of %d bytes decompress: %w", got, length, err)
	}
	return out.Bytes(), nil
}
