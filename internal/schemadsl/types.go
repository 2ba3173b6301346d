// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package schemadsl

import (
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// plain are the types without parameters, in the order they are listed to
// people.
var plain = []struct {
	name string
	dt   arrow.DataType
}{
	{"bool", arrow.FixedWidthTypes.Boolean},
	{"i8", arrow.PrimitiveTypes.Int8},
	{"i16", arrow.PrimitiveTypes.Int16},
	{"i32", arrow.PrimitiveTypes.Int32},
	{"i64", arrow.PrimitiveTypes.Int64},
	{"u8", arrow.PrimitiveTypes.Uint8},
	{"u16", arrow.PrimitiveTypes.Uint16},
	{"u32", arrow.PrimitiveTypes.Uint32},
	{"u64", arrow.PrimitiveTypes.Uint64},
	{"f16", arrow.FixedWidthTypes.Float16},
	{"f32", arrow.PrimitiveTypes.Float32},
	{"f64", arrow.PrimitiveTypes.Float64},
	{"utf8", arrow.BinaryTypes.String},
	{"binary", arrow.BinaryTypes.Binary},
	{"date", arrow.FixedWidthTypes.Date32},
}

// allowed lists every base type for error messages.
const allowed = "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 utf8 binary date ts[unit,zone] decimal(p,s) list<T> fsl<T,n> struct<name:T,…>"

// base reads a type without its '?'.
func (p *parser) base(depth int) (arrow.DataType, error) {
	p.skipSpace()
	start := p.pos
	word := p.word()
	for _, t := range plain {
		if t.name == word {
			return t.dt, nil
		}
	}
	switch word {
	case "ts":
		return p.timestamp()
	case "decimal":
		return p.decimal()
	case "list":
		return p.list(depth)
	case "fsl":
		return p.fixedList(depth)
	case "struct":
		return p.structure(depth)
	case "":
		return nil, p.fail(start, "want a type, found %s: one of %s", p.here(), allowed)
	}
	return nil, p.fail(start, "unknown type %q: want one of %s", clip(word), allowed)
}

func (p *parser) timestamp() (arrow.DataType, error) {
	if err := p.expect('[', "after ts, as in ts[us] or ts[us,UTC]"); err != nil {
		return nil, err
	}
	at := p.pos
	unit, ok := unitNamed(p.word())
	if !ok {
		return nil, p.fail(at, "unknown time unit: want s, ms, us or ns")
	}
	zone := ""
	if p.take(',') {
		var err error
		if zone, err = p.zone(); err != nil {
			return nil, err
		}
	}
	if err := p.expect(']', "at the end of ts[…]"); err != nil {
		return nil, err
	}
	return &arrow.TimestampType{Unit: unit, TimeZone: zone}, nil
}

func unitNamed(name string) (arrow.TimeUnit, bool) {
	for _, u := range arrow.TimeUnitValues {
		if u.String() == name {
			return u, true
		}
	}
	return 0, false
}

// zone reads an IANA name or an offset. Whether it exists is not checked: the
// zone only labels the column, and lists of zones differ between machines.
func (p *parser) zone() (string, error) {
	p.skipSpace()
	start := p.pos
	for p.pos < len(p.text) && (isWord(p.text[p.pos]) || strings.IndexByte("/+-:", p.text[p.pos]) >= 0) {
		p.pos++
	}
	if start == p.pos {
		return "", p.fail(start, "want a time zone such as UTC or Europe/Paris, found %s", p.here())
	}
	return p.text[start:p.pos], nil
}

// number reads a decimal integer in [least, most].
func (p *parser) number(what string, least, most int) (int, error) {
	p.skipSpace()
	start := p.pos
	if p.pos < len(p.text) && p.text[p.pos] == '-' {
		p.pos++
	}
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		p.pos++
	}
	n, err := strconv.Atoi(p.text[start:p.pos])
	if err != nil || n < least || n > most {
		return 0, p.fail(start, "%s must be a number from %d to %d", what, least, most)
	}
	return n, nil
}

func (p *parser) decimal() (arrow.DataType, error) {
	if err := p.expect('(', "after decimal, as in decimal(18,2)"); err != nil {
		return nil, err
	}
	precision, err := p.number("the precision of a decimal", 1, maxPrecision)
	if err != nil {
		return nil, err
	}
	if err := p.expect(',', "between precision and scale"); err != nil {
		return nil, err
	}
	scale, err := p.number("the scale of this decimal", 0, precision)
	if err != nil {
		return nil, err
	}
	if err := p.expect(')', "at the end of decimal(…)"); err != nil {
		return nil, err
	}
	return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)}, nil
}

func (p *parser) list(depth int) (arrow.DataType, error) {
	if err := p.expect('<', "after list, as in list<utf8>"); err != nil {
		return nil, err
	}
	item, nullable, err := p.nullableType(depth + 1)
	if err != nil {
		return nil, err
	}
	if err := p.expect('>', "at the end of list<…>"); err != nil {
		return nil, err
	}
	return arrow.ListOfField(arrow.Field{Name: "item", Type: item, Nullable: nullable}), nil
}

// maxFixedSize bounds the items of a fixed size list; the largest embeddings
// in use are two orders smaller.
const maxFixedSize = 1 << 20

func (p *parser) fixedList(depth int) (arrow.DataType, error) {
	if err := p.expect('<', "after fsl, as in fsl<f32,7>"); err != nil {
		return nil, err
	}
	item, nullable, err := p.nullableType(depth + 1)
	if err != nil {
		return nil, err
	}
	if err := p.expect(',', "between the item type and the size"); err != nil {
		return nil, err
	}
	size, err := p.number("the size of a fixed size list", 1, maxFixedSize)
	if err != nil {
		return nil, err
	}
	if err := p.expect('>', "at the end of fsl<…>"); err != nil {
		return nil, err
	}
	return arrow.FixedSizeListOfField(int32(size), arrow.Field{Name: "item", Type: item, Nullable: nullable}), nil
}

func (p *parser) structure(depth int) (arrow.DataType, error) {
	if err := p.expect('<', "after struct, as in struct<x:f64,y:f64>"); err != nil {
		return nil, err
	}
	var fields []arrow.Field
	seen := map[string]bool{}
	for {
		p.skipSpace()
		at := p.pos
		f, err := p.column(depth + 1)
		if err != nil {
			return nil, err
		}
		if seen[f.Name] {
			return nil, p.fail(at, "field %q occurs twice in the struct", f.Name)
		}
		seen[f.Name], fields = true, append(fields, f)
		if p.take(',') {
			continue
		}
		return arrow.StructOf(fields...), p.expect('>', "or ',' in struct<…>")
	}
}
