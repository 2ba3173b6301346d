// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// Old writers made lists of lists of two levels: a repeated group that is
// itself a list. Its rows are lists of lists, not of structs of lists, as the
// Parquet format's rules for such files say; the Arrow library reads structs.

// twoLevelType returns the type such a column has; other columns keep theirs.
func twoLevelType(node schema.Node, dt arrow.DataType) arrow.DataType {
	list, ok := dt.(*arrow.ListType)
	if !ok || !isListNode(node) {
		return dt
	}
	repeated := node.(*schema.GroupNode).Field(0)
	element, ok := list.Elem().(*arrow.StructType)
	if !ok || element.NumFields() != 1 || !isListNode(repeated) {
		return dt
	}
	return arrow.ListOfField(arrow.Field{Name: "item", Type: element.Field(0).Type, Nullable: element.Field(0).Nullable})
}

func isListNode(node schema.Node) bool {
	group, ok := node.(*schema.GroupNode)
	return ok && group.NumFields() == 1 && group.ConvertedType() == schema.ConvertedTypes.List
}

// unwrapTwoLevel takes the structs out of a list, when its type says so. It
// consumes arr.
func unwrapTwoLevel(arr arrow.Array, to arrow.DataType) arrow.Array {
	list, ok := arr.(*array.List)
	if !ok || arrow.TypeEqual(arr.DataType(), to) {
		return arr
	}
	structs, ok := list.ListValues().(*array.Struct)
	if !ok {
		return arr
	}
	defer arr.Release()
	d := arr.Data()
	out := array.NewData(to, d.Len(), d.Buffers(), []arrow.ArrayData{structs.Field(0).Data()}, d.NullN(), d.Offset())
	defer out.Release()
	return array.MakeFromData(out)
}
