// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package filetest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// packed marks the fields of packed structs.
var packed = arrow.MetadataFrom(map[string]string{"lance-encoding:packed": "true"})

// unwritten gives a field a type that Lake does not write: a fixed size list of
// bools or of lists that may be null, a packed struct or, in version 2.2, a map.
func (g *Generator) unwritten(f arrow.Field, depth int, relax bool) arrow.Field {
	switch choice := g.R.IntN(4); {
	case choice == 0 && depth == g.MaxDepth:
		// Further inside, an outer null would make a null of the struct, which
		// stock LanceDB does not write.
		return g.packedStruct(f.Name)
	case choice <= 1 && g.Unwritten == "2.2" && depth > 0:
		value := g.field("value", depth-1, relax)
		if value.Metadata.Len() > 0 {
			break
		}
		key := arrow.Field{Name: "key", Type: []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String}[g.R.IntN(2)]}
		f.Type = arrow.MapOfFields(key, value)
		return f
	}
	f.Type = g.fixedList(true)
	return f
}

// packedStruct makes a struct of up to four fields of numbers and, in version
// 2.2, of texts and fixed size lists too.
func (g *Generator) packedStruct(name string) arrow.Field {
	choices := []arrow.DataType{
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
		arrow.FixedWidthTypes.Date32, &arrow.Decimal128Type{Precision: 30, Scale: 4}, &arrow.FixedSizeBinaryType{ByteWidth: 3},
	}
	if g.Unwritten == "2.0" {
		choices = append(choices, arrow.FixedSizeListOfNonNullable(3, arrow.PrimitiveTypes.Float32))
	}
	if g.Unwritten == "2.2" && g.R.IntN(2) == 0 {
		choices = append(choices, arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32), arrow.FixedSizeListOfNonNullable(8, arrow.FixedWidthTypes.Boolean))
	}
	fields := make([]arrow.Field, 1+g.R.IntN(4))
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprintf("p%d", i), Type: choices[g.R.IntN(len(choices))]}
	}
	return arrow.Field{Name: name, Type: arrow.StructOf(fields...), Metadata: packed}
}

// fixedStructs makes a fixed size list of structs, whose fields are flat or such
// lists again.
func (g *Generator) fixedStructs(name string, depth int) arrow.Field {
	fields := make([]arrow.Field, 1+g.R.IntN(3))
	for i := range fields {
		at := fmt.Sprintf("f%d", i)
		if fields[i] = (arrow.Field{Name: at, Nullable: true, Type: g.fixedList(true)}); g.R.IntN(4) > 0 {
			fields[i].Type = Leaves[g.R.IntN(len(Leaves))]
		}
		if depth > 0 && g.R.IntN(5) == 0 {
			fields[i] = g.fixedStructs(at, depth-1)
		}
	}
	item := arrow.Field{Name: "item", Type: arrow.StructOf(fields...), Nullable: true}
	return arrow.Field{Name: name, Nullable: true, Type: arrow.FixedSizeListOfField(1+g.R.Int32N(4), item)}
}

// fixedList makes a fixed size list; with nested, one of bools or of lists.
func (g *Generator) fixedList(nested bool) arrow.DataType {
	items := []arrow.DataType{
		arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Date32,
		&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, &arrow.FixedSizeBinaryType{ByteWidth: 5},
	}
	item := items[g.R.IntN(len(items))]
	if nested && g.R.IntN(2) == 0 {
		item = arrow.FixedWidthTypes.Boolean
	}
	if nested && g.R.IntN(2) == 0 {
		item = arrow.FixedSizeListOf(1+g.R.Int32N(5), item)
	}
	return arrow.FixedSizeListOf(1+g.R.Int32N(9), item)
}

func (g *Generator) fixedListFiller(dt *arrow.FixedSizeListType) func(array.Builder) {
	if !g.FixedLists && g.Unwritten == "" {
		return func(b array.Builder) {
			l := b.(*array.FixedSizeListBuilder)
			l.Append(true)
			for range dt.Len() {
				g.number(l.ValueBuilder(), 1<<40)
			}
		}
	}
	item := g.filler(dt.ElemField())
	return func(b array.Builder) {
		l := b.(*array.FixedSizeListBuilder)
		l.Append(true)
		for range dt.Len() {
			item(l.ValueBuilder())
		}
	}
}

func (g *Generator) mapFiller(dt *arrow.MapType) func(array.Builder) {
	key, value := g.valueFiller(dt.KeyType()), g.filler(dt.ItemField())
	longest := []int{0, 1, 3, 20}[g.R.IntN(4)]
	return func(b array.Builder) {
		m := b.(*array.MapBuilder)
		m.Append(true)
		n := min(g.R.IntN(longest+1), max(g.left, 0))
		g.left -= n
		for range n {
			key(m.KeyBuilder())
			value(m.ItemBuilder())
		}
	}
}
