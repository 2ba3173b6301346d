// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// Parquet's JSON and ENUM are UTF-8 text by its specification. The Arrow library
// reads them as binary, which SQL compares with no text.

// textType returns dt, the type of a field, with text for what is text.
func (r *parquetReader) textType(field *pqarrow.SchemaField, dt arrow.DataType) arrow.DataType {
	switch t := dt.(type) {
	case *arrow.BinaryType:
		if field.IsLeaf() && isTextLeaf(r.file.MetaData().Schema.Column(field.ColIndex)) {
			return arrow.BinaryTypes.String
		}
	case *arrow.ListType:
		if len(field.Children) == 1 {
			item := t.ElemField()
			item.Type = r.textType(&field.Children[0], item.Type)
			return arrow.ListOfField(item)
		}
	case *arrow.StructType:
		if len(field.Children) == t.NumFields() {
			fields := t.Fields()
			for i := range fields {
				fields[i].Type = r.textType(&field.Children[i], fields[i].Type)
			}
			return arrow.StructOf(fields...)
		}
	}
	return dt
}

func isTextLeaf(c *schema.Column) bool {
	switch c.LogicalType().(type) {
	case schema.JSONLogicalType, schema.EnumLogicalType:
		return true
	}
	return false
}

// asText gives arr the type to, where the two differ in text that is read as
// binary. That it is UTF-8 is checked with all text. It consumes arr.
func asText(arr arrow.Array, to arrow.DataType) arrow.Array {
	if arrow.TypeEqual(arr.DataType(), to) {
		return arr
	}
	defer arr.Release()
	data := textData(arr.Data(), to)
	defer data.Release()
	return array.MakeFromData(data)
}

// textData is data under type to, over the same buffers.
func textData(data arrow.ArrayData, to arrow.DataType) arrow.ArrayData {
	if arrow.TypeEqual(data.DataType(), to) {
		data.Retain()
		return data
	}
	var fields []arrow.Field
	switch t := to.(type) {
	case *arrow.StructType:
		fields = t.Fields()
	case *arrow.ListType:
		fields = []arrow.Field{t.ElemField()}
	}
	children := make([]arrow.ArrayData, len(fields))
	for i, f := range fields {
		children[i] = textData(data.Children()[i], f.Type)
		defer children[i].Release()
	}
	return array.NewData(to, data.Len(), data.Buffers(), children, data.NullN(), data.Offset())
}
