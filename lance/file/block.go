// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"

	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

// Blocks are buffers that are decoded as a whole: levels and dictionaries.

// blockFixed decodes a block of n fixed-width values and returns their width in
// bits. The result may be a view of b.
func blockFixed(e *enc21pb.CompressiveEncoding, b []byte, n int) (values []byte, bits int, err error) {
	switch c := e.GetCompression().(type) {
	case *enc21pb.CompressiveEncoding_Flat:
		f, err := newFlat(c.Flat)
		if err != nil {
			return nil, 0, err
		}
		values, err = f.values([][]byte{b}, n)
		return values, f.bits(), err
	case *enc21pb.CompressiveEncoding_FixedSizeList:
		f, err := newFlatList(c.FixedSizeList)
		if s, _ := parseListShape(c.FixedSizeList); err != nil || len(s.valid) > 0 {
			return nil, 0, unsupported("block of fixed size lists with null items")
		}
		values, err = f.values([][]byte{b}, n)
		return values, f.bits(), err
	case *enc21pb.CompressiveEncoding_InlineBitpacking:
		return blockInline(c.InlineBitpacking, b, n)
	case *enc21pb.CompressiveEncoding_OutOfLineBitpacking:
		return blockPacked(c.OutOfLineBitpacking, b, n)
	case *enc21pb.CompressiveEncoding_Rle:
		return blockRuns(c.Rle, b, n)
	case *enc21pb.CompressiveEncoding_Constant:
		v := c.Constant.GetValue()
		if len(v) == 0 || len(v) > 64 || n > maxBlockBytes/len(v) {
			return nil, 0, unsupported("block of %d constants of %d bytes", n, len(v))
		}
		values = make([]byte, n*len(v))
		fillRun(values, v)
		return values, len(v) * 8, nil
	case *enc21pb.CompressiveEncoding_General:
		b, inner, err := inflateBlock(c.General, b)
		if err != nil {
			return nil, 0, err
		}
		return blockFixed(inner, b, n)
	}
	return nil, 0, unsupported("encoding %s of a block", encodingName(e))
}

// maxBlockBytes bounds the decoded size of one block.
const maxBlockBytes = 1 << 30

func inflateBlock(g *enc21pb.General, b []byte) ([]byte, *enc21pb.CompressiveEncoding, error) {
	s, err := parseScheme(g.GetCompression())
	if err != nil {
		return nil, nil, err
	}
	if g.GetValues().GetGeneral() != nil {
		return nil, nil, unsupported("encoding General of General")
	}
	b, err = s.inflate(b)
	return b, g.GetValues(), err
}

func blockInline(p *enc21pb.InlineBitpacking, b []byte, n int) ([]byte, int, error) {
	c, err := newInlinePacked(p)
	if err != nil {
		return nil, 0, err
	}
	values, err := c.values([][]byte{b}, n)
	return values, c.bits(), err
}

func blockPacked(p *enc21pb.OutOfLineBitpacking, b []byte, n int) ([]byte, int, error) {
	inner := p.GetValues().GetFlat()
	bits := int(p.GetUncompressedBitsPerValue())
	if inner == nil || inner.GetData() != nil || !wordWidth(p.GetUncompressedBitsPerValue()) || inner.GetBitsPerValue() > 64 {
		return nil, 0, unsupported("encoding OutOfLineBitpacking of %s to %d bits", encodingName(p.GetValues()), bits)
	}
	if n > maxBlockBytes/8 {
		return nil, 0, corrupt("block of %d values", n)
	}
	width := int(inner.GetBitsPerValue())
	out := make([]byte, n*bits/8)
	var err error
	switch bits {
	case 8:
		err = unpackFixed(width, b, n, out)
	case 16:
		err = unpackFixed(width, b, n, words[uint16](out))
	case 32:
		err = unpackFixed(width, b, n, words[uint32](out))
	default:
		err = unpackFixed(width, b, n, words[uint64](out))
	}
	return out, bits, err
}

// blockRuns decodes runs in one buffer: the size of the values in 8 bytes, the
// values, the lengths.
func blockRuns(r *enc21pb.Rle, b []byte, n int) ([]byte, int, error) {
	c, err := newRuns(r)
	if err != nil {
		return nil, 0, err
	}
	if len(b) < 8 {
		return nil, 0, corrupt("runs in %d bytes", len(b))
	}
	size := binary.LittleEndian.Uint64(b)
	if size > uint64(len(b)-8) {
		return nil, 0, corrupt("%d bytes of run values in %d bytes", size, len(b))
	}
	values, lengths := b[8:8+size], b[8+size:]
	// A run is at most 255 long, which bounds the output by the input.
	if n > len(lengths)*255 {
		return nil, 0, corrupt("%d runs for %d values", len(lengths), n)
	}
	out, err := c.values([][]byte{values, lengths}, n)
	return out, c.bits(), err
}

// blockLevels decodes n levels to dst, which has room for them.
func blockLevels(e *enc21pb.CompressiveEncoding, b []byte, n int, dst []uint16) error {
	if p := e.GetOutOfLineBitpacking(); p != nil && p.GetUncompressedBitsPerValue() == 16 && p.GetValues().GetFlat() != nil && p.GetValues().GetFlat().GetBitsPerValue() <= 16 {
		return unpackFixed(int(p.GetValues().GetFlat().GetBitsPerValue()), b, n, dst)
	}
	values, bits, err := blockFixed(e, b, n)
	if err != nil {
		return err
	}
	if bits != 16 {
		return corrupt("levels of %d bits", bits)
	}
	copy(bytesOf(dst[:n]), values)
	return nil
}

// blockVariable decodes a block of n variable-width values. The result may be
// a view of b.
func blockVariable(e *enc21pb.CompressiveEncoding, b []byte, n int) (varRun, error) {
	if g := e.GetGeneral(); g != nil {
		inflated, inner, err := inflateBlock(g, b)
		if err != nil {
			return varRun{}, err
		}
		return blockVariable(inner, inflated, n)
	}
	if e.GetVariable() == nil {
		return varRun{}, unsupported("encoding %s of a block of variable-width values", encodingName(e))
	}
	return parseVariableBlock(b, n)
}

// parseVariableBlock reads a header with the width of offsets and the start of
// the data, the offsets and the data. Early writers used a header of one byte
// and the number of values; it is told apart by the bytes that are zero in the
// current form.
func parseVariableBlock(b []byte, n int) (varRun, error) {
	if len(b) < 9 {
		return varRun{}, corrupt("block of values in %d bytes", len(b))
	}
	le := binary.LittleEndian
	old := b[1] != 0 || b[2] != 0 || b[3] != 0
	var head int
	var start uint64
	wide := b[0] == 64
	switch {
	case b[0] == 32 && old:
		head, start = 9, uint64(le.Uint32(b[5:]))
	case b[0] == 32:
		head, start = 8, uint64(le.Uint32(b[4:]))
	case wide && old && len(b) >= 17:
		head, start = 17, le.Uint64(b[9:])
	case wide && !old && len(b) >= 16:
		head, start = 16, le.Uint64(b[8:])
	default:
		return varRun{}, corrupt("block with offsets of %d bits in %d bytes", b[0], len(b))
	}
	if start < uint64(head) || start > uint64(len(b)) {
		return varRun{}, corrupt("block with values at %d of %d bytes", start, len(b))
	}
	r := varRun{pos: b[head:start], wide: wide, data: b[start:]}
	return r, r.check(n)
}
