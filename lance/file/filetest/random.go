// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package filetest makes random schemas and tables for tests of the Lance
// format, and compares tables the way the format preserves them.
package filetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Generator makes random data from a seed. It is not safe for concurrent use.
type Generator struct {
	R *rand.Rand
	// Mem makes the memory of batches.
	Mem memory.Allocator
	// MaxDepth is the deepest nesting of types. Default: 0, flat.
	MaxDepth int
	// Leaves are the types of leaves to choose from. Default: [Leaves].
	Leaves []arrow.DataType
	// Relaxed makes every field below a nullable field nullable. Other
	// implementations refuse to write anything else.
	Relaxed bool
	// ValidStructs makes no struct nullable: version 2.0 of the format loses
	// null structs.
	ValidStructs bool
	// LongValues makes some text and binary values kilobytes long.
	LongValues bool
	// FixedLists adds fixed size lists of times, binary values and numbers, with
	// null items.
	FixedLists bool
	// Unwritten adds types that Lake reads and does not write, as stock LanceDB
	// writes them in a version of the format: "2.0", "2.1" or "2.2".
	Unwritten string

	left int // list items that the current column may still get
}

// maxItems bounds the list items of a column, which nesting multiplies.
const maxItems = 30000

// Leaves are the leaf types Lake writes, one of each kind.
var Leaves = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean,
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
	arrow.BinaryTypes.String, arrow.BinaryTypes.Binary,
	arrow.FixedWidthTypes.Date32,
	&arrow.TimestampType{Unit: arrow.Second},
	&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
	&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "Asia/Tokyo"},
	&arrow.Decimal128Type{Precision: 30, Scale: 4},
	arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32),
	arrow.FixedSizeListOf(100, arrow.PrimitiveTypes.Float64),
}

// Schema makes a schema of up to maxFields columns.
func (g *Generator) Schema(maxFields int) *arrow.Schema {
	fields := make([]arrow.Field, 1+g.R.IntN(maxFields))
	for i := range fields {
		name := fmt.Sprintf("c%d", i)
		if g.Unwritten == "2.2" && g.R.IntN(6) == 0 {
			fields[i] = g.fixedStructs(name, min(g.MaxDepth, 2))
			continue
		}
		fields[i] = g.field(name, g.MaxDepth, false)
	}
	return arrow.NewSchema(fields, nil)
}

func (g *Generator) field(name string, depth int, relax bool) arrow.Field {
	f := arrow.Field{Name: name, Nullable: g.R.IntN(3) > 0 || relax}
	relax = f.Nullable && g.Relaxed
	if g.Unwritten != "" && g.R.IntN(4) == 0 {
		return g.unwritten(f, depth, relax)
	}
	if g.FixedLists && g.R.IntN(8) == 0 {
		f.Type = g.fixedList(false)
		return f
	}
	switch choice := g.R.IntN(5); {
	case depth > 0 && choice <= 1:
		f.Type = arrow.ListOfField(g.field("item", depth-1, relax))
	case depth > 0 && choice <= 3:
		if g.ValidStructs {
			f.Nullable, relax = false, false
		}
		children := make([]arrow.Field, 1+g.R.IntN(3))
		for i := range children {
			children[i] = g.field(fmt.Sprintf("f%d", i), depth-1, relax)
		}
		f.Type = arrow.StructOf(children...)
	default:
		leaves := g.Leaves
		if leaves == nil {
			leaves = Leaves
		}
		f.Type = leaves[g.R.IntN(len(leaves))]
	}
	return f
}

// Batch makes n rows. Each column has its own share of nulls, sometimes none
// and sometimes all.
func (g *Generator) Batch(s *arrow.Schema, n int) arrow.RecordBatch {
	cols := make([]arrow.Array, s.NumFields())
	for i, f := range s.Fields() {
		b := array.NewBuilder(g.Mem, f.Type)
		fill := g.filler(f)
		g.left = maxItems
		for range n {
			fill(b)
		}
		cols[i] = b.NewArray()
		b.Release()
	}
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	return array.NewRecordBatch(s, cols, int64(n))
}

// filler returns a function that appends one random value of a field.
func (g *Generator) filler(f arrow.Field) func(array.Builder) {
	value := g.valueFiller(f.Type)
	if !f.Nullable {
		return value
	}
	share := []float64{0, 0, 0.05, 0.5, 0.95, 1}[g.R.IntN(6)]
	return func(b array.Builder) {
		if g.R.Float64() < share {
			b.AppendNull()
			return
		}
		value(b)
	}
}

func (g *Generator) valueFiller(dt arrow.DataType) func(array.Builder) {
	switch dt := dt.(type) {
	case *arrow.StructType:
		return g.structFiller(dt)
	case *arrow.ListType:
		item := g.filler(dt.ElemField())
		longest := []int{0, 1, 3, 20, 3000}[min(g.R.IntN(12), 4)]
		if g.R.IntN(3) > 0 {
			longest = min(longest, 20)
		}
		return func(b array.Builder) {
			l := b.(*array.ListBuilder)
			l.Append(true)
			n := min(g.R.IntN(longest+1), max(g.left, 0))
			g.left -= n
			for range n {
				item(l.ValueBuilder())
			}
		}
	case *arrow.MapType:
		return g.mapFiller(dt)
	case *arrow.FixedSizeListType:
		return g.fixedListFiller(dt)
	}
	small := uint64(1) << g.R.IntN(41)
	return func(b array.Builder) { g.scalar(b, small) }
}

func (g *Generator) structFiller(dt *arrow.StructType) func(array.Builder) {
	fields := make([]func(array.Builder), dt.NumFields())
	for i, f := range dt.Fields() {
		fields[i] = g.filler(f)
	}
	return func(b array.Builder) {
		s := b.(*array.StructBuilder)
		s.Append(true)
		for i, f := range fields {
			f(s.FieldBuilder(i))
		}
	}
}

// scalar appends a value below limit, where that has a meaning.
func (g *Generator) scalar(b array.Builder, limit uint64) {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(g.R.IntN(2) == 0)
	case *array.StringBuilder:
		b.Append(string(g.text(limit)))
	case *array.BinaryBuilder:
		b.Append(g.text(limit))
	case *array.LargeStringBuilder:
		b.Append(string(g.text(limit)))
	case *array.FixedSizeBinaryBuilder:
		v := make([]byte, b.Type().(*arrow.FixedSizeBinaryType).ByteWidth)
		for i := range v {
			v[i] = byte(g.R.IntN(256))
		}
		b.Append(v)
	case *array.Date32Builder:
		b.Append(arrow.Date32(g.R.IntN(40000)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(g.R.Uint64N(limit)))
	case *array.Decimal128Builder:
		b.Append(decimal128.New(int64(g.R.Uint64N(limit)), g.R.Uint64()))
	case *array.NullBuilder:
		b.AppendNull()
	default:
		g.number(b, limit)
	}
}

// text makes a value of letters; small limits give few distinct ones.
func (g *Generator) text(limit uint64) []byte {
	n := g.R.IntN(24)
	if g.LongValues && g.R.IntN(8) == 0 {
		n = g.R.IntN(20000)
	}
	if limit < 1<<10 {
		return fmt.Appendf(nil, "value-%d", g.R.Uint64N(min(limit, 20)))
	}
	out := make([]byte, n)
	for i := range out {
		out[i] = byte('a' + g.R.IntN(26))
	}
	return out
}

func (g *Generator) number(b array.Builder, limit uint64) {
	v := g.R.Uint64N(limit)
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(v))
	case *array.Int16Builder:
		b.Append(int16(v))
	case *array.Int32Builder:
		b.Append(int32(v))
	case *array.Int64Builder:
		b.Append(int64(v))
	case *array.Uint8Builder:
		b.Append(uint8(v))
	case *array.Uint16Builder:
		b.Append(uint16(v))
	case *array.Uint32Builder:
		b.Append(uint32(v))
	case *array.Uint64Builder:
		b.Append(v)
	case *array.Float16Builder:
		b.Append(float16.New(float32(v % 1000)))
	case *array.Float32Builder:
		b.Append(float32(v) / 8)
	case *array.Float64Builder:
		b.Append(float64(v) / 8)
	default:
		panic(fmt.Sprintf("no random values for %s", b.Type()))
	}
}
