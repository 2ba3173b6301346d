// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"slices"

	"github.com/lakeplane/lake/lance/lancepb/enc20pb"
	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

// A packed struct is one column whose values are the values of its fields, side
// by side. Fields of one width lie there as they are; since 2.2 others are
// preceded by their length, and the encoding of each field is given. Nulls are
// those of the struct, in the levels: fields of a packed struct have none.

// packedRows appends n rows of fields of one width each, without gaps.
func (s *sink) packedRows(b []byte, n int) {
	s.packedFields(b, s.t.width, 0, n*max(1, s.t.items))
	s.n += n
}

// packedFields appends the fields of rows that are stride bytes apart and begin
// at position at; it returns where they end.
func (s *sink) packedFields(b []byte, stride, at, rows int) int {
	for _, f := range s.fields {
		if f.t.kind == packedValues {
			at = f.packedFields(b, stride, at, rows)
			f.n += rows
			continue
		}
		w := f.t.width
		f.appendItemsValid(nil, nil, 0, rows)
		out := f.fixed(rows)
		for i := range rows {
			copy(out[i*w:(i+1)*w], b[i*stride+at:])
		}
		at += w
	}
	return at
}

// newPackedRows returns the codec of the rows of a packed struct in mini-block
// chunks.
func newPackedRows(e *enc21pb.CompressiveEncoding, t valueType) (fixedCodec, error) {
	p := e.GetPackedStruct()
	if p == nil {
		return nil, unsupported("encoding %s of a packed struct", encodingName(e))
	}
	if err := fitsPacked(p.GetBitsPerValue(), t); err != nil {
		return nil, err
	}
	c, err := newFixedCodec(p.GetValues())
	if err == nil && c.bits() != t.bits() {
		err = corrupt("rows of %d bits in a packed struct of %d", c.bits(), t.bits())
	}
	return c, err
}

// fitsPacked tells whether fields of the given widths are those of the type.
func fitsPacked(bits []uint64, t valueType) error {
	if len(bits) != len(t.fields) {
		return corrupt("a packed struct of %d fields, the type has %d", len(bits), len(t.fields))
	}
	for i, f := range t.fields {
		switch {
		case f.kind == boolValues:
			return unsupported("a packed struct with booleans: what writers of the format store of them cannot be read back")
		case f.kind == variableValues || bits[i] != uint64(f.bits()):
			return corrupt("field %d of a packed struct has %d bits, which does not fit its type", i, bits[i])
		}
	}
	return nil
}

// packedBits is the width of a row of a packed struct of version 2.0, whose
// fields must have one width each. It must be that of the type in the end.
func packedBits(p *enc20pb.PackedStruct, depth int) (int, error) {
	if depth > maxEncodingDepth {
		return 0, corrupt("encodings nested deeper than %d", maxEncodingDepth)
	}
	total := 0
	for _, e := range p.GetInner() {
		n, err := packedFieldBits(e, depth+1)
		if err != nil {
			return 0, err
		}
		if total += n; total > maxValueBytes*8 {
			return 0, unsupported("a packed struct of more than %d bytes", maxValueBytes)
		}
	}
	return total, nil
}

func packedFieldBits(e *enc20pb.ArrayEncoding, depth int) (int, error) {
	if depth > maxEncodingDepth {
		return 0, corrupt("encodings nested deeper than %d", maxEncodingDepth)
	}
	if n := e.GetNullable().GetNoNulls(); n != nil {
		return packedFieldBits(n.GetValues(), depth+1)
	}
	switch x := e.GetArrayEncoding().(type) {
	case *enc20pb.ArrayEncoding_Flat:
		f, err := flatOf(x.Flat.GetBitsPerValue())
		if f.width == 1 {
			err = unsupported("a packed struct with booleans")
		}
		return f.width, err
	case *enc20pb.ArrayEncoding_FixedSizeList:
		n, err := packedFieldBits(x.FixedSizeList.GetItems(), depth+1)
		if dim := int(x.FixedSizeList.GetDimension()); dim < 1 || n > maxValueBytes*8/dim {
			return 0, corrupt("a packed struct with lists of %d items of %d bits", dim, n)
		}
		return n * int(x.FixedSizeList.GetDimension()), err
	case *enc20pb.ArrayEncoding_PackedStruct:
		return packedBits(x.PackedStruct, depth)
	}
	return 0, unsupported("a packed struct with fields of other than one width in version 2.0")
}

// fixedLayout is how a fixed-width value is stored by itself: the validity of
// the items of fixed size lists, each level in whole bytes, and the value.
type fixedLayout struct {
	width int   // bytes of all
	valid []int // levels of which the validity is stored
	null  int   // the level of which all items are null and nothing is stored, or -1
	items int   // bytes of validity

	bits [][]byte // validity of the items of one value, by level
}

func newFixedLayout(e *enc21pb.CompressiveEncoding, bits uint64, t valueType) (fixedLayout, error) {
	l := fixedLayout{null: -1}
	if t.kind != fixedValues && (t.kind != boolValues || t.items == 0) {
		return l, corrupt("values of %d bits, which does not fit the type of the column", bits)
	}
	if err := l.setShape(e, t); err != nil {
		return l, err
	}
	for _, level := range l.valid {
		l.items += (t.itemsAt(level) + 7) / 8
	}
	l.width = l.items
	if l.null < 0 {
		l.width += (t.bits() + 7) / 8
	}
	if bits != uint64(l.width)*8 {
		return l, corrupt("values of %d bits, which does not fit the type of the column", bits)
	}
	return l, nil
}

// setShape takes the levels from the encoding.
func (l *fixedLayout) setShape(e *enc21pb.CompressiveEncoding, t valueType) error {
	if c := e.GetConstant(); c != nil && c.Value == nil && len(t.dims) > 0 {
		l.null = 0
		return nil
	}
	list := e.GetFixedSizeList()
	if list == nil {
		return l.setFlat(e, t)
	}
	s, err := parseListShape(list)
	if err != nil {
		return err
	}
	if len(s.valid) == 0 && !s.null {
		return l.setFlat(e, t)
	}
	l.valid = s.valid
	if s.null {
		// The constant stands for the items of the list below the last one named.
		l.null = len(s.dims)
	}
	if err := s.fits(t); err != nil {
		return err
	}
	if l.null >= len(t.dims) {
		return corrupt("null items of lists nested deeper than the %d of the column", len(t.dims))
	}
	return nil
}

func (l *fixedLayout) setFlat(e *enc21pb.CompressiveEncoding, t valueType) error {
	c, err := newFixedCodec(e)
	if err != nil {
		return err
	}
	if _, plain := c.(flat); !plain {
		return unsupported("encoding %s of single values", encodingName(e))
	}
	if c.bits() != t.bits() {
		return corrupt("values of %d and of %d bits", c.bits(), t.bits())
	}
	return nil
}

// plain says that a value is nothing but its bytes.
func (l *fixedLayout) plain() bool { return l.items == 0 && l.null < 0 }

// append appends the value that b begins with; b must have l.width bytes.
func (l *fixedLayout) append(b []byte, out *sink) {
	valid, at := l.bits[:0], 0
	for level := range out.t.dims {
		if !slices.Contains(l.valid, level) {
			valid = append(valid, nil)
			continue
		}
		n := (out.t.itemsAt(level) + 7) / 8
		valid, at = append(valid, b[at:at+n]), at+n
	}
	l.bits = valid
	if l.null >= 0 {
		out.skipItems(1, valid[:l.null], 0)
		return
	}
	for level, bits := range valid {
		out.appendItemValid(level, bits, 0, 1)
	}
	if out.t.kind == boolValues {
		out.bits(b[at:l.width], 0, 1)
		return
	}
	copy(out.fixed(1), b[at:l.width])
}

// packedCodec decodes values of a packed struct that are stored by themselves,
// with the lengths of fields that vary.
type packedCodec struct {
	fields []packedField
}

// packedField is a field by one of its ways to be stored.
type packedField struct {
	lenBytes int // bytes of the length of a variable field, else 0
	variable *varCodec
	packed   *packedCodec
	fixed    fixedLayout
}

func newPackedCodec(e *enc21pb.CompressiveEncoding, t valueType, depth int) (*packedCodec, error) {
	p := e.GetVariablePackedStruct()
	switch {
	case t.kind != packedValues:
		return nil, corrupt("a packed struct, which does not fit the type of the column")
	case p == nil:
		return nil, unsupported("encoding %s of a packed struct", encodingName(e))
	case depth > maxEncodingDepth:
		return nil, corrupt("encodings nested deeper than %d", maxEncodingDepth)
	case len(p.GetFields()) != len(t.fields):
		return nil, corrupt("a packed struct of %d fields, the type has %d", len(p.GetFields()), len(t.fields))
	}
	c := &packedCodec{fields: make([]packedField, len(t.fields))}
	for i, f := range p.GetFields() {
		var err error
		if c.fields[i], err = newPackedField(f, t.fields[i], depth+1); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func newPackedField(f *enc21pb.VariablePackedStruct_FieldEncoding, t valueType, depth int) (packedField, error) {
	var out packedField
	var err error
	switch x := f.GetLayout().(type) {
	case *enc21pb.VariablePackedStruct_FieldEncoding_BitsPerValue:
		out.fixed, err = newFixedLayout(f.GetValue(), x.BitsPerValue, t)
		return out, err
	case *enc21pb.VariablePackedStruct_FieldEncoding_BitsPerLength:
		if x.BitsPerLength != 32 && x.BitsPerLength != 64 {
			return out, corrupt("lengths of %d bits in a packed struct", x.BitsPerLength)
		}
		out.lenBytes = int(x.BitsPerLength / 8)
	default:
		return out, corrupt("a field of a packed struct without its width")
	}
	switch t.kind {
	case packedValues:
		out.packed, err = newPackedCodec(f.GetValue(), t, depth)
	case variableValues:
		out.variable, err = newVarCodec(f.GetValue())
	default:
		err = corrupt("a field of a packed struct with lengths, which does not fit its type")
	}
	return out, err
}

// value appends one value.
func (c *packedCodec) value(b []byte, out *sink) error {
	for i := range c.fields {
		var err error
		if b, err = c.fields[i].value(b, out.fields[i]); err != nil {
			return err
		}
	}
	if len(b) > 0 {
		return corrupt("%d bytes behind the fields of a packed struct", len(b))
	}
	out.n++
	return nil
}

// value appends the value that b begins with and returns what follows it.
func (f *packedField) value(b []byte, out *sink) ([]byte, error) {
	if f.lenBytes == 0 {
		if len(b) < f.fixed.width {
			return nil, corrupt("field of %d bytes in %d bytes of a packed struct", f.fixed.width, len(b))
		}
		f.fixed.append(b, out)
		return b[f.fixed.width:], nil
	}
	v, rest, err := lengthPrefixed(b, f.lenBytes)
	switch {
	case err != nil:
	case f.packed != nil:
		err = f.packed.value(v, out)
	default:
		err = f.variable.value(v, out)
	}
	return rest, err
}

// lengthPrefixed splits b behind a value that its length, of n bytes, precedes.
func lengthPrefixed(b []byte, n int) (value, rest []byte, err error) {
	if len(b) < n {
		return nil, nil, corrupt("length of %d bytes in %d bytes", n, len(b))
	}
	var size uint64
	if n == 8 {
		size = binary.LittleEndian.Uint64(b)
	} else {
		size = uint64(binary.LittleEndian.Uint32(b))
	}
	if b = b[n:]; size > uint64(len(b)) {
		return nil, nil, corrupt("value of %d bytes in %d bytes", size, len(b))
	}
	return b[:size], b[size:], nil
}
