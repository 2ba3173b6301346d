// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
	"github.com/lakeplane/lake/lance/schema"
)

// fixedCodec decodes chunks of fixed-width values.
type fixedCodec interface {
	// bits is the width of a decoded value.
	bits() int
	// buffers is the number of buffers of a chunk.
	buffers() int
	// values returns n values, packed without gaps. The result is a view of a
	// buffer or of memory that the next call overwrites.
	values(bufs [][]byte, n int) ([]byte, error)
}

// encodingName names an encoding for an error message.
func encodingName(e *enc21pb.CompressiveEncoding) string {
	if e.GetCompression() == nil {
		return "without a name"
	}
	name := fmt.Sprintf("%T", e.GetCompression())
	return name[strings.LastIndexByte(name, '_')+1:]
}

// newFixedCodec returns the codec of fixed-width values in mini-block chunks.
func newFixedCodec(e *enc21pb.CompressiveEncoding) (fixedCodec, error) {
	switch c := e.GetCompression().(type) {
	case *enc21pb.CompressiveEncoding_Flat:
		return newFlat(c.Flat)
	case *enc21pb.CompressiveEncoding_FixedSizeList:
		return newFlatList(c.FixedSizeList)
	case *enc21pb.CompressiveEncoding_InlineBitpacking:
		return newInlinePacked(c.InlineBitpacking)
	case *enc21pb.CompressiveEncoding_Rle:
		return newRuns(c.Rle)
	case *enc21pb.CompressiveEncoding_ByteStreamSplit:
		return newSplit(c.ByteStreamSplit)
	case *enc21pb.CompressiveEncoding_General:
		return newGeneralFixed(c.General)
	}
	return nil, unsupported("encoding %s of fixed-width values", encodingName(e))
}

// flat is values as they are, possibly of a fraction of a byte.
type flat struct{ width int }

func newFlat(f *enc21pb.Flat) (fixedCodec, error) {
	if f.GetData() != nil {
		return nil, unsupported("compressed buffer in encoding Flat")
	}
	return flatOf(f.GetBitsPerValue())
}

func flatOf(bits uint64) (flat, error) {
	if bits == 0 || bits > maxValueBytes*8 || bits > 1 && bits%8 != 0 {
		return flat{}, unsupported("encoding Flat with %d bits per value", bits)
	}
	return flat{width: int(bits)}, nil
}

func (f flat) bits() int    { return f.width }
func (f flat) buffers() int { return 1 }

func (f flat) values(bufs [][]byte, n int) ([]byte, error) {
	need := (n*f.width + 7) / 8
	if len(bufs[0]) < need {
		return nil, corrupt("%d values of %d bits in %d bytes", n, f.width, len(bufs[0]))
	}
	return bufs[0][:need], nil
}

// listShape is the shape of a fixed size list of flat values, or of nested ones.
type listShape struct {
	items    int // innermost ones
	itemBits int
	dims     []int // outer first
	// valid are the levels of which the validity of the items is stored too, by
	// their place in dims.
	valid []int
	// null says that all items of the last level in dims are null, and that
	// neither they nor anything below is stored.
	null bool
}

func parseListShape(l *enc21pb.FixedSizeList) (listShape, error) {
	s := listShape{items: 1}
	for {
		n := l.GetItemsPerValue()
		if n == 0 || n > maxValueBytes || uint64(s.items)*n > maxValueBytes || len(s.dims) == schema.MaxDepth {
			return listShape{}, corrupt("fixed size list of %d times %d items, %d deep", s.items, n, len(s.dims))
		}
		if l.GetHasValidity() {
			s.valid = append(s.valid, len(s.dims))
		}
		s.items *= int(n)
		s.dims = append(s.dims, int(n))
		nested := l.GetValues().GetFixedSizeList()
		if nested == nil {
			break
		}
		l = nested
	}
	if c := l.GetValues().GetConstant(); c != nil && c.Value == nil {
		s.null = true
		return s, nil
	}
	inner, ok := l.GetValues().GetCompression().(*enc21pb.CompressiveEncoding_Flat)
	if !ok {
		return listShape{}, unsupported("encoding FixedSizeList of %s", encodingName(l.GetValues()))
	}
	item, err := newFlat(inner.Flat)
	s.itemBits = item.bits()
	return s, err
}

// validOf returns the levels of fixed size lists of which the validity of the
// items is stored, which must have the shape of the type then.
func validOf(e *enc21pb.CompressiveEncoding, t valueType) ([]int, error) {
	if e.GetFixedSizeList() == nil {
		return nil, nil
	}
	s, err := parseListShape(e.GetFixedSizeList())
	if err != nil || len(s.valid) == 0 {
		return nil, err
	}
	return s.valid, s.fits(t)
}

// fits tells whether the shape is that of the type.
func (s listShape) fits(t valueType) error {
	dims := t.dims
	if s.null {
		dims = dims[:min(len(s.dims), len(dims))]
	}
	if !slices.Equal(s.dims, dims) || !s.null && s.itemBits != t.itemBits() {
		return corrupt("lists of %v items of %d bits in a column with %v of %d bits", s.dims, s.itemBits, t.dims, t.itemBits())
	}
	return nil
}

// newFlatList returns the codec of lists without item validity; lists with it
// are handled where the second buffer can be told apart.
func newFlatList(l *enc21pb.FixedSizeList) (fixedCodec, error) {
	s, err := parseListShape(l)
	switch {
	case err != nil:
		return nil, err
	case s.null:
		return nil, unsupported("a fixed size list of nulls in a mini-block page")
	case s.itemBits == 1:
		return flat{width: s.items}, nil
	}
	return flatOf(uint64(s.items) * uint64(s.itemBits))
}

// generalFixed inflates the first buffer of each chunk.
type generalFixed struct {
	fixedCodec
	scheme scheme
	bufs   [][]byte
}

func newGeneralFixed(g *enc21pb.General) (fixedCodec, error) {
	s, err := parseScheme(g.GetCompression())
	if err != nil {
		return nil, err
	}
	if g.GetValues().GetGeneral() != nil {
		return nil, unsupported("encoding General of General")
	}
	inner, err := newFixedCodec(g.GetValues())
	if err != nil {
		return nil, err
	}
	return &generalFixed{fixedCodec: inner, scheme: s}, nil
}

func (g *generalFixed) values(bufs [][]byte, n int) ([]byte, error) {
	first, err := g.scheme.inflate(bufs[0])
	if err != nil {
		return nil, err
	}
	g.bufs = append(append(g.bufs[:0], first), bufs[1:]...)
	return g.fixedCodec.values(g.bufs, n)
}

// inlinePacked is blocks of up to 1024 bitpacked values, each with its width.
type inlinePacked struct {
	width int
	out   []byte
}

func newInlinePacked(p *enc21pb.InlineBitpacking) (fixedCodec, error) {
	if p.GetValues() != nil {
		return nil, unsupported("compressed buffer in encoding InlineBitpacking")
	}
	w := p.GetUncompressedBitsPerValue()
	if !wordWidth(w) {
		return nil, unsupported("encoding InlineBitpacking of %d bits", w)
	}
	return &inlinePacked{width: int(w)}, nil
}

func wordWidth(bits uint64) bool { return bits == 8 || bits == 16 || bits == 32 || bits == 64 }

func (p *inlinePacked) bits() int    { return p.width }
func (p *inlinePacked) buffers() int { return 1 }

func (p *inlinePacked) values(bufs [][]byte, n int) ([]byte, error) {
	if n > packBlock {
		return nil, corrupt("bitpacked block of %d values", n)
	}
	p.out = sized(p.out, packBlock*p.width/8)
	return p.out[:n*p.width/8], unpackInlineBytes(p.width, bufs[0], n, p.out)
}

// unpackInlineBytes decodes a block of words of the given bits to bytes.
func unpackInlineBytes(bits int, b []byte, n int, out []byte) error {
	switch bits {
	case 8:
		return unpackInline(b, n, out)
	case 16:
		return unpackInline(b, n, words[uint16](out))
	case 32:
		return unpackInline(b, n, words[uint32](out))
	}
	return unpackInline(b, n, words[uint64](out))
}

// sized returns b with length n, reallocated when it is too small.
func sized(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// runs is run lengths of one byte beside their values.
type runs struct {
	width int // bytes
	out   []byte
}

func newRuns(r *enc21pb.Rle) (fixedCodec, error) {
	v, l := r.GetValues().GetFlat(), r.GetRunLengths().GetFlat()
	if v == nil || l == nil || v.GetData() != nil || l.GetData() != nil {
		return nil, unsupported("encoding Rle of %s and %s", encodingName(r.GetValues()), encodingName(r.GetRunLengths()))
	}
	if !wordWidth(v.GetBitsPerValue()) || l.GetBitsPerValue() != 8 {
		return nil, unsupported("encoding Rle of %d bits with lengths of %d bits", v.GetBitsPerValue(), l.GetBitsPerValue())
	}
	return &runs{width: int(v.GetBitsPerValue() / 8)}, nil
}

func (r *runs) bits() int    { return r.width * 8 }
func (r *runs) buffers() int { return 2 }

func (r *runs) values(bufs [][]byte, n int) ([]byte, error) {
	r.out = sized(r.out, n*r.width)
	return r.out, expandRuns(r.out, r.width, bufs[0], bufs[1])
}

// expandRuns fills out; runs behind its end are ignored, too few are corrupt.
func expandRuns(out []byte, width int, values, lengths []byte) error {
	at := 0
	for i := 0; i < len(lengths) && at < len(out); i++ {
		if len(values) < (i+1)*width {
			return corrupt("%d run lengths for %d bytes of values", len(lengths), len(values))
		}
		size := min(int(lengths[i])*width, len(out)-at)
		fillRun(out[at:at+size], values[i*width:(i+1)*width])
		at += size
	}
	if at < len(out) {
		return corrupt("runs hold %d of %d bytes", at, len(out))
	}
	return nil
}

// fillRun repeats v over dst by doubling.
func fillRun(dst, v []byte) {
	if len(v) == 0 {
		return
	}
	for n := copy(dst, v); n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

// split is values stored byte position by byte position.
type split struct {
	width int // bytes
	out   []byte
}

func newSplit(s *enc21pb.ByteStreamSplit) (fixedCodec, error) {
	v := s.GetValues().GetFlat()
	if v == nil || v.GetData() != nil || !wordWidth(v.GetBitsPerValue()) {
		return nil, unsupported("encoding ByteStreamSplit of %s with %d bits", encodingName(s.GetValues()), v.GetBitsPerValue())
	}
	return &split{width: int(v.GetBitsPerValue() / 8)}, nil
}

func (s *split) bits() int    { return s.width * 8 }
func (s *split) buffers() int { return 1 }

func (s *split) values(bufs [][]byte, n int) ([]byte, error) {
	if len(bufs[0]) < n*s.width {
		return nil, corrupt("%d values of %d bytes in %d bytes", n, s.width, len(bufs[0]))
	}
	s.out = sized(s.out, n*s.width)
	for j := range s.width {
		stream := bufs[0][j*n : (j+1)*n]
		for i, b := range stream {
			s.out[i*s.width+j] = b
		}
	}
	return s.out, nil
}
