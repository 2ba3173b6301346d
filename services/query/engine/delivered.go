// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package engine

import "github.com/apache/arrow-go/v18/arrow"

// Delivered is the type in which a registered type is delivered: dictionaries
// anywhere inside become their values, because the engine reads and joins
// values and rebuilding a dictionary a batch would make schemas differ between
// batches. All else stays.
func Delivered(dt arrow.DataType) arrow.DataType {
	switch t := dt.(type) {
	case *arrow.DictionaryType:
		return Delivered(t.ValueType)
	case *arrow.ListType:
		return arrow.ListOfField(deliveredField(t.ElemField()))
	case *arrow.LargeListType:
		return arrow.LargeListOfField(deliveredField(t.ElemField()))
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), deliveredField(t.ElemField()))
	case *arrow.MapType:
		if SameType(Delivered(t.Elem()), t.Elem()) {
			return t
		}
		m := arrow.MapOfFields(deliveredField(t.KeyField()), deliveredField(t.ItemField()))
		m.KeysSorted = t.KeysSorted
		return m
	case *arrow.StructType:
		fields := make([]arrow.Field, t.NumFields())
		for i, f := range t.Fields() {
			fields[i] = deliveredField(f)
		}
		return arrow.StructOf(fields...)
	}
	return dt
}

func deliveredField(f arrow.Field) arrow.Field {
	f.Type = Delivered(f.Type)
	return f
}

// SameType is equality down to the nullability and metadata of inner fields.
func SameType(a, b arrow.DataType) bool {
	return arrow.TypeEqual(a, b, arrow.CheckMetadata()) && a.String() == b.String()
}
