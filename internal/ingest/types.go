// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

// maxDepth bounds nesting, as the storage engine does.
const maxDepth = 32

// tableType is the type a table gets for a file's type, or an error that says
// why there is none. See the package comment for the rules.
func tableType(dt arrow.DataType) (arrow.DataType, error) { return tableTypeAt(dt, 0) }

func tableTypeAt(dt arrow.DataType, depth int) (arrow.DataType, error) {
	if depth > maxDepth {
		return nil, lake.Errorf(lake.Invalid, "it is nested deeper than %d levels", maxDepth)
	}
	switch dt := dt.(type) {
	case *arrow.DictionaryType:
		return tableTypeAt(dt.ValueType, depth)
	case arrow.ExtensionType:
		return tableTypeAt(dt.StorageType(), depth)
	case *arrow.TimestampType:
		if strings.ContainsAny(dt.TimeZone, "+-:") {
			return &arrow.TimestampType{Unit: dt.Unit, TimeZone: "UTC"}, nil
		}
		return dt, nil
	case arrow.DecimalType:
		return tableDecimal(dt)
	case *arrow.StructType:
		return tableStruct(dt, depth)
	case *arrow.FixedSizeListType:
		return tableFixedList(dt, depth)
	case *arrow.MapType:
		return nil, lake.Errorf(lake.Invalid, "type %s is not supported: a table has no maps", dt)
	case arrow.ListLikeType:
		return tableList(dt, depth)
	}
	return tableLeaf(dt)
}

func tableLeaf(dt arrow.DataType) (arrow.DataType, error) {
	switch dt.ID() {
	case arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64,
		arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT32, arrow.FLOAT64, arrow.STRING, arrow.BINARY,
		arrow.DATE32, arrow.TIME32, arrow.TIME64:
		return dt, nil
	case arrow.FLOAT16:
		return arrow.PrimitiveTypes.Float32, nil
	case arrow.LARGE_STRING, arrow.STRING_VIEW, arrow.NULL:
		return arrow.BinaryTypes.String, nil
	case arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY:
		return arrow.BinaryTypes.Binary, nil
	case arrow.DATE64:
		return arrow.FixedWidthTypes.Date32, nil
	}
	return nil, lake.Errorf(lake.Invalid, "type %s is not supported", dt)
}

func tableDecimal(dt arrow.DecimalType) (arrow.DataType, error) {
	p, s := dt.GetPrecision(), dt.GetScale()
	if p < 1 || p > 38 || s < 0 || s > p {
		return nil, lake.Errorf(lake.Invalid, "type %s is not supported: decimals have 1 to 38 digits, of which 0 to all are behind the point", dt)
	}
	return &arrow.Decimal128Type{Precision: p, Scale: s}, nil
}

func tableStruct(dt *arrow.StructType, depth int) (arrow.DataType, error) {
	if dt.NumFields() == 0 {
		return nil, lake.Errorf(lake.Invalid, "a struct without fields is not supported")
	}
	fields := make([]arrow.Field, dt.NumFields())
	seen := map[string]bool{}
	for i, f := range dt.Fields() {
		t, err := tableTypeAt(f.Type, depth+1)
		if err != nil {
			return nil, lake.Wrap("field "+f.Name, err)
		}
		if f.Name == "" || seen[strings.ToLower(f.Name)] {
			return nil, lake.Errorf(lake.Invalid, "struct field %d is named %q: names must not be empty nor differ only in case", i+1, f.Name)
		}
		seen[strings.ToLower(f.Name)] = true
		fields[i] = arrow.Field{Name: f.Name, Type: t, Nullable: f.Nullable || t != f.Type && f.Type.ID() == arrow.NULL}
	}
	return arrow.StructOf(fields...), nil
}

func tableFixedList(dt *arrow.FixedSizeListType, depth int) (arrow.DataType, error) {
	item, err := tableItem(dt.ElemField(), depth)
	if err != nil {
		return nil, err
	}
	if dt.Len() < 1 || !isNumber(item.Type) {
		return arrow.ListOfField(item), nil
	}
	return arrow.FixedSizeListOfField(dt.Len(), item), nil
}

func tableList(dt arrow.ListLikeType, depth int) (arrow.DataType, error) {
	switch dt.(type) {
	case *arrow.ListType, *arrow.LargeListType:
	default:
		return nil, lake.Errorf(lake.Invalid, "type %s is not supported", dt)
	}
	item, err := tableItem(dt.ElemField(), depth)
	if err != nil {
		return nil, err
	}
	return arrow.ListOfField(item), nil
}

// tableItem is the element of a list. Its name is not the file's: formats and
// writers disagree about it and it means nothing.
func tableItem(f arrow.Field, depth int) (arrow.Field, error) {
	t, err := tableTypeAt(f.Type, depth+1)
	return arrow.Field{Name: "item", Type: t, Nullable: f.Nullable}, err
}

func isNumber(dt arrow.DataType) bool {
	return arrow.IsInteger(dt.ID()) || arrow.IsFloating(dt.ID())
}
