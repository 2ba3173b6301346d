// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/lakeplane/lake/lance/lancepb/enc20pb"
)

// page20 is a decoded page of version 2.0: one Arrow array, in parts.
type page20 struct {
	n     int
	nulls bool   // every value is null; nothing else is set
	valid []byte // bits, nil for all valid

	fixed  []byte // fixed values of bits width each, or
	bits   int
	packed bool   // they are rows of several fields
	run    varRun // variable values
	isRun  bool

	itemValid [][]byte // bits of the items of fixed size lists, outer first, nil for all valid
	// itemNull says that the items below those are all null; there are no values.
	itemNull bool
}

// itemsValid is the validity of the items of a level.
func (p *page20) itemsValid(level int) []byte {
	if level < len(p.itemValid) {
		return p.itemValid[level]
	}
	return nil
}

// pageDecoder20 decodes the tree of encodings of one page.
type pageDecoder20 struct {
	bufs *pageBuffers
}

// depth bounds the recursion over encodings.
const maxEncodingDepth = 16

func (d *pageDecoder20) decode(e *enc20pb.ArrayEncoding, n, depth int) (page20, error) {
	if depth > maxEncodingDepth {
		return page20{}, corrupt("encodings nested deeper than %d", maxEncodingDepth)
	}
	depth++
	switch x := e.GetArrayEncoding().(type) {
	case *enc20pb.ArrayEncoding_Nullable:
		return d.nullable(x.Nullable, n, depth)
	case *enc20pb.ArrayEncoding_Flat:
		return d.flat(x.Flat, n)
	case *enc20pb.ArrayEncoding_FixedSizeList:
		return d.list(x.FixedSizeList, n, depth)
	case *enc20pb.ArrayEncoding_Binary:
		return d.binary(x.Binary, n, depth)
	case *enc20pb.ArrayEncoding_Dictionary:
		return d.dictionary(x.Dictionary, n, depth)
	case *enc20pb.ArrayEncoding_Fsst:
		return d.fsst(x.Fsst, n, depth)
	case *enc20pb.ArrayEncoding_FixedSizeBinary:
		return d.fixedBinary(x.FixedSizeBinary, n, depth)
	case *enc20pb.ArrayEncoding_PackedStruct:
		return d.packed(x.PackedStruct, n, depth)
	case *enc20pb.ArrayEncoding_Bitpacked:
		return d.bitpacked(x.Bitpacked, n)
	case *enc20pb.ArrayEncoding_BitpackedForNonNeg:
		return d.bitpackedNonNeg(x.BitpackedForNonNeg, n)
	}
	name := fmt.Sprintf("%T", e.GetArrayEncoding())
	return page20{}, unsupported("encoding %s in version 2.0", name[strings.LastIndexByte(name, '_')+1:])
}

func (d *pageDecoder20) buffer(b *enc20pb.Buffer) ([]byte, error) {
	if b.GetBufferType() != enc20pb.Buffer_page {
		return nil, unsupported("a %v buffer in version 2.0", b.GetBufferType())
	}
	return d.bufs.whole(int(b.GetBufferIndex()))
}

func (d *pageDecoder20) nullable(x *enc20pb.Nullable, n, depth int) (page20, error) {
	switch x := x.GetNullability().(type) {
	case *enc20pb.Nullable_NoNulls:
		return d.decode(x.NoNulls.GetValues(), n, depth)
	case *enc20pb.Nullable_AllNulls:
		return page20{n: n, nulls: true}, nil
	case *enc20pb.Nullable_SomeNulls:
		valid, err := d.decode(x.SomeNulls.GetValidity(), n, depth)
		if err != nil {
			return page20{}, err
		}
		if valid.bits != 1 {
			return page20{}, corrupt("validity of %d bits", valid.bits)
		}
		p, err := d.decode(x.SomeNulls.GetValues(), n, depth)
		p.valid = valid.fixed
		return p, err
	}
	return page20{}, corrupt("a nullable encoding that does not say what is null")
}

func (d *pageDecoder20) flat(x *enc20pb.Flat, n int) (page20, error) {
	f, err := flatOf(x.GetBitsPerValue())
	if err != nil {
		return page20{}, err
	}
	b, err := d.buffer(x.GetBuffer())
	if err != nil {
		return page20{}, err
	}
	if c := x.GetCompression(); c != nil {
		if b, err = inflate20(c.GetScheme(), b); err != nil {
			return page20{}, err
		}
	}
	if uint64(n)*uint64(f.width) > uint64(len(b))*8 {
		return page20{}, corrupt("%d values of %d bits in %d bytes", n, f.width, len(b))
	}
	return page20{n: n, fixed: b, bits: f.width}, nil
}

// packed decodes the rows of a packed struct to values of all their bits.
func (d *pageDecoder20) packed(x *enc20pb.PackedStruct, n, depth int) (page20, error) {
	bits, err := packedBits(x, depth)
	if err != nil {
		return page20{}, err
	}
	b, err := d.buffer(x.GetBuffer())
	if err != nil {
		return page20{}, err
	}
	if uint64(n)*uint64(bits) > uint64(len(b))*8 {
		return page20{}, corrupt("%d rows of a packed struct of %d bits in %d bytes", n, bits, len(b))
	}
	return page20{n: n, fixed: b, bits: bits, packed: true}, nil
}

func inflate20(name string, b []byte) ([]byte, error) {
	switch name {
	case "", "none":
		return b, nil
	case "zstd":
		return schemeZstd.inflate(b)
	case "lz4":
		return schemeLZ4.inflate(b)
	}
	return nil, unsupported("compression %q", name)
}

func (d *pageDecoder20) list(x *enc20pb.FixedSizeList, n, depth int) (page20, error) {
	dim := int(x.GetDimension())
	if dim < 1 || n > maxBlockBytes/dim {
		return page20{}, corrupt("%d lists of %d items", n, dim)
	}
	p, err := d.decode(x.GetItems(), n*dim, depth)
	if err != nil {
		return page20{}, err
	}
	if p.nulls {
		return page20{n: n, itemNull: true}, nil
	}
	if p.isRun || p.bits > maxValueBytes*8/dim {
		return page20{}, unsupported("fixed size lists of other than numbers in version 2.0")
	}
	p.n, p.bits = n, p.bits*dim
	p.itemValid, p.valid = append([][]byte{p.valid}, p.itemValid...), nil
	return p, nil
}

// binary decodes the ends of values, with null_adjustment added where a value
// is null.
func (d *pageDecoder20) binary(x *enc20pb.Binary, n, depth int) (page20, error) {
	ends, valid, err := d.ends(x.GetIndices(), x.GetNullAdjustment(), n, depth)
	if err != nil {
		return page20{}, err
	}
	last := uint64(0)
	if n > 0 {
		last = binary.LittleEndian.Uint64(ends[n*8:])
	}
	if last > maxBlockBytes {
		return page20{}, corrupt("values of %d bytes", last)
	}
	bytes, err := d.decode(x.GetBytes(), int(last), depth)
	if err != nil {
		return page20{}, err
	}
	if bytes.bits != 8 || bytes.isRun {
		return page20{}, corrupt("bytes of %d bits", bytes.bits)
	}
	return page20{n: n, valid: valid, isRun: true, run: varRun{pos: ends, wide: true, data: bytes.fixed[:last]}}, nil
}

// ends decodes n ends and returns n+1 positions of 8 bytes, and the validity.
func (d *pageDecoder20) ends(e *enc20pb.ArrayEncoding, adjust uint64, n, depth int) (pos, valid []byte, err error) {
	p, err := d.decode(e, n, depth)
	if err != nil {
		return nil, nil, err
	}
	if p.isRun || p.nulls || !wordWidth(uint64(p.bits)) {
		return nil, nil, corrupt("offsets that are not integers")
	}
	pos = make([]byte, (n+1)*8)
	for i := range n {
		v := index(p.fixed, p.bits/8, i)
		if adjust > 0 && v >= adjust {
			if valid == nil {
				valid = make([]byte, (n+7)/8)
				bitutil.SetBitsTo(valid, 0, int64(n), true)
			}
			bitutil.ClearBit(valid, i)
			v %= adjust
		}
		binary.LittleEndian.PutUint64(pos[(i+1)*8:], v)
	}
	run := varRun{pos: pos, wide: true}
	for i := range n {
		if run.at(i+1) < run.at(i) {
			return nil, nil, corrupt("offsets decrease")
		}
	}
	return pos, valid, nil
}

// dictionary replaces indices, where 0 is null, by the items.
func (d *pageDecoder20) dictionary(x *enc20pb.Dictionary, n, depth int) (page20, error) {
	indices, err := d.decode(x.GetIndices(), n, depth)
	if err != nil {
		return page20{}, err
	}
	items, err := d.decode(x.GetItems(), int(min(x.GetNumDictionaryItems(), maxBlockBytes)), depth)
	if err != nil {
		return page20{}, err
	}
	if indices.isRun || indices.nulls || !wordWidth(uint64(indices.bits)) || !items.isRun && !items.nulls {
		return page20{}, unsupported("a dictionary of other than text or bytes in version 2.0")
	}
	out := page20{n: n, isRun: true, run: varRun{pos: make([]byte, (n+1)*8), wide: true}, valid: make([]byte, (n+7)/8)}
	for i := range n {
		k := index(indices.fixed, indices.bits/8, i)
		if k > uint64(items.n) {
			return page20{}, corrupt("dictionary index %d of %d", k, items.n)
		}
		if k > 0 && !items.nulls && (items.valid == nil || bitutil.BitIsSet(items.valid, int(k-1))) {
			bitutil.SetBit(out.valid, i)
			out.run.data = append(out.run.data, items.run.data[items.run.at(int(k-1)):items.run.at(int(k))]...)
		}
		if len(out.run.data) > maxBlockBytes {
			return page20{}, unsupported("a page of more than %d bytes", maxBlockBytes)
		}
		binary.LittleEndian.PutUint64(out.run.pos[(i+1)*8:], uint64(len(out.run.data)))
	}
	return out, nil
}

func (d *pageDecoder20) fsst(x *enc20pb.Fsst, n, depth int) (page20, error) {
	t, err := parseFSST(x.GetSymbolTable())
	if err != nil {
		return page20{}, err
	}
	p, err := d.decode(x.GetBinary(), n, depth)
	if err != nil || !t.on || p.nulls {
		return p, err
	}
	if !p.isRun {
		return page20{}, corrupt("FSST of fixed-width values")
	}
	out := varRun{pos: make([]byte, (n+1)*8), wide: true, data: make([]byte, len(p.run.data)*fsstMaxSymbol)}
	at := 0
	for i := range n {
		size, err := t.expand(out.data[at:], p.run.data[p.run.at(i):p.run.at(i+1)])
		if err != nil {
			return page20{}, err
		}
		at += size
		binary.LittleEndian.PutUint64(out.pos[(i+1)*8:], uint64(at))
	}
	out.data = out.data[:at:at]
	p.run = out
	return p, nil
}

// fixedBinary decodes values of one length, which may stand for variable ones.
func (d *pageDecoder20) fixedBinary(x *enc20pb.FixedSizeBinary, n, depth int) (page20, error) {
	w := int(x.GetByteWidth())
	if w < 1 || n > maxBlockBytes/w {
		return page20{}, corrupt("%d values of %d bytes", n, w)
	}
	p, err := d.decode(x.GetBytes(), n*w, depth)
	if err != nil || p.bits != 8 {
		return page20{}, corrupt("bytes of %d bits: %v", p.bits, err)
	}
	p.n, p.bits = n, w*8
	return p, nil
}

// asRun views values of one length as variable ones.
func (p *page20) asRun() {
	w := p.bits / 8
	pos := make([]byte, (p.n+1)*8)
	for i := range p.n {
		binary.LittleEndian.PutUint64(pos[(i+1)*8:], uint64((i+1)*w))
	}
	p.run, p.isRun, p.bits = varRun{pos: pos, wide: true, data: p.fixed[:p.n*w]}, true, 0
}

// bitpacked decodes values packed one behind the other, lowest bits first.
func (d *pageDecoder20) bitpacked(x *enc20pb.Bitpacked, n int) (page20, error) {
	from, to := x.GetCompressedBitsPerValue(), x.GetUncompressedBitsPerValue()
	if !wordWidth(to) || from == 0 || from > to {
		return page20{}, unsupported("encoding Bitpacked of %d to %d bits", to, from)
	}
	b, err := d.buffer(x.GetBuffer())
	if err != nil {
		return page20{}, err
	}
	if uint64(n)*from > uint64(len(b))*8 {
		return page20{}, corrupt("%d values of %d bits in %d bytes", n, from, len(b))
	}
	out := make([]byte, 0, n*int(to)/8)
	for i := range n {
		v := bitsAt(b, uint64(i)*from, from)
		if shift := 64 - from; x.GetSigned() {
			v = uint64(int64(v<<shift) >> shift)
		}
		var w [8]byte
		binary.LittleEndian.PutUint64(w[:], v)
		out = append(out, w[:to/8]...)
	}
	return page20{n: n, fixed: out, bits: int(to)}, nil
}

// bitsAt reads n ≤ 64 bits at bit position at; they must lie inside b.
func bitsAt(b []byte, at, n uint64) uint64 {
	var w [16]byte
	copy(w[:], b[at/8:])
	v := binary.LittleEndian.Uint64(w[:]) >> (at % 8)
	if at%8 > 0 {
		v |= uint64(w[8]) << (64 - at%8)
	}
	if n == 64 {
		return v
	}
	return v & (1<<n - 1)
}

func (d *pageDecoder20) bitpackedNonNeg(x *enc20pb.BitpackedForNonNeg, n int) (page20, error) {
	from, to := x.GetCompressedBitsPerValue(), x.GetUncompressedBitsPerValue()
	if !wordWidth(to) || from == 0 || from > to {
		return page20{}, unsupported("encoding BitpackedForNonNeg of %d to %d bits", to, from)
	}
	b, err := d.buffer(x.GetBuffer())
	if err != nil {
		return page20{}, err
	}
	if uint64(n)*from > uint64(len(b))*8 {
		return page20{}, corrupt("%d values of %d bits in %d bytes", n, from, len(b))
	}
	out := make([]byte, n*int(to)/8)
	switch to {
	case 8:
		err = unpackBlocks(int(from), b, n, out, false)
	case 16:
		err = unpackBlocks(int(from), b, n, words[uint16](out), false)
	case 32:
		err = unpackBlocks(int(from), b, n, words[uint32](out), false)
	default:
		err = unpackBlocks(int(from), b, n, words[uint64](out), false)
	}
	return page20{n: n, fixed: out, bits: int(to)}, err
}
