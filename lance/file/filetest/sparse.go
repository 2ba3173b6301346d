// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package filetest

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// SparseColumn is a column of lists with few values among many lists that are
// null or empty, or with values too large for a chunk: what a page of the
// mini-block layout holds least easily.
type SparseColumn struct {
	Name  string
	Field arrow.Field
	fill  func(b array.Builder)
}

// Array makes the values.
func (c SparseColumn) Array(mem memory.Allocator) arrow.Array {
	b := array.NewBuilder(mem, c.Field.Type)
	defer b.Release()
	c.fill(b)
	return b.NewArray()
}

// SparseColumns are the columns that went wrong once, or nearly so.
var SparseColumns = []SparseColumn{
	{"null rows between values", listField(arrow.PrimitiveTypes.Int64), func(b array.Builder) {
		for i := range 300_000 {
			if i%70_001 == 5 {
				appendList(b, func(items array.Builder) { items.(*array.Int64Builder).Append(int64(i)) })
				continue
			}
			b.AppendNull()
		}
	}},
	{"empty lists of booleans", listField(arrow.FixedWidthTypes.Boolean), func(b array.Builder) {
		for i := range 100_000 {
			appendList(b, func(items array.Builder) {
				if i%33_333 == 0 {
					items.(*array.BooleanBuilder).AppendValues([]bool{true, false, true}, nil)
				}
			})
		}
	}},
	{"null structs before a value, in one row", nestedField(arrow.PrimitiveTypes.Int64), func(b array.Builder) {
		for i := range 12 {
			sparseRow(b, 2500*i, func(items array.Builder) { items.(*array.Int64Builder).Append(int64(i)) })
		}
	}},
	{"null structs beside texts", nestedField(arrow.BinaryTypes.String), func(b array.Builder) {
		for i := range 12 {
			sparseRow(b, 1200*i, func(items array.Builder) { items.(*array.StringBuilder).Append("some text") })
		}
	}},
	{"large values below null structs", nestedField(arrow.BinaryTypes.Binary), func(b array.Builder) {
		for i := range 60 {
			sparseRow(b, 3, func(items array.Builder) {
				items.(*array.BinaryBuilder).Append(bytes.Repeat([]byte{byte(i)}, 1000*i))
				items.AppendNull()
			})
		}
	}},
	{"large texts of wide offsets below null structs", nestedField(arrow.BinaryTypes.LargeString), func(b array.Builder) {
		for i := range 40 {
			sparseRow(b, 3, func(items array.Builder) {
				items.(*array.LargeStringBuilder).Append(string(bytes.Repeat([]byte{'a' + byte(i%20)}, 1700*i)))
			})
		}
	}},
}

// UnreadableColumn is a column that no mini-block holds, so that stock LanceDB
// 0.31.0 does not read it: one row has too many null structs before a value.
var UnreadableColumn = SparseColumn{"too many null structs in one row", nestedField(arrow.PrimitiveTypes.Int64), func(b array.Builder) {
	sparseRow(b, 80_000, func(items array.Builder) { items.(*array.Int64Builder).Append(7) })
}}

func listField(item arrow.DataType) arrow.Field {
	return arrow.Field{Name: "c", Type: arrow.ListOf(item), Nullable: true}
}

// nestedField is a list of structs, which may be null, around a list.
func nestedField(item arrow.DataType) arrow.Field {
	inner := arrow.StructOf(arrow.Field{Name: "f", Type: arrow.ListOf(item), Nullable: true})
	return arrow.Field{Name: "c", Type: arrow.ListOf(inner), Nullable: true}
}

func appendList(b array.Builder, fill func(items array.Builder)) {
	l := b.(*array.ListBuilder)
	l.Append(true)
	fill(l.ValueBuilder())
}

// sparseRow appends a list of that many null structs, a third as many with a
// null and an empty list each, and one with values.
func sparseRow(b array.Builder, nulls int, fill func(items array.Builder)) {
	appendList(b, func(items array.Builder) {
		s := items.(*array.StructBuilder)
		list := s.FieldBuilder(0).(*array.ListBuilder)
		for range nulls {
			s.AppendNull()
		}
		for range nulls / 3 {
			s.Append(true)
			list.AppendNull()
			s.Append(true)
			list.Append(true)
		}
		s.Append(true)
		appendList(list, fill)
	})
}
