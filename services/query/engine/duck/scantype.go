// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

// #include "scan.h"
import "C"

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

// layout says how the array of one Arrow type fills a DuckDB vector. It is the
// type's half of a C.lake_node; a batch supplies the buffers.
type layout struct {
	kind     int32
	width    int32
	factor   int64
	children []layout
}

func (l layout) nodes() int {
	n := 1
	for _, c := range l.children {
		n += c.nodes()
	}
	return n
}

// maxArraySize is DuckDB's limit on a fixed-size list.
const maxArraySize = 100_000

// scanType maps an Arrow type to the DuckDB type its values get and the layout
// that carries them across.
//
// The mapping is exact except where DuckDB has no such type: timestamps with a
// time zone in s or ms become TIMESTAMPTZ (µs), and those in ns become
// TIMESTAMP_NS, which keeps every nanosecond and reads as UTC; dictionaries are
// their value type; an extension type is its storage.
func scanType(dt arrow.DataType) (logical, layout, error) {
	if l, ok := fixedTypes[dt.ID()]; ok {
		return logical{id: l.id}, layout{kind: C.LAKE_FIXED, width: l.width}, nil
	}
	switch t := dt.(type) {
	case *arrow.BooleanType:
		return logical{id: tBoolean}, layout{kind: C.LAKE_BOOL}, nil
	case *arrow.StringType:
		return logical{id: tVarchar}, layout{kind: C.LAKE_TEXT32}, nil
	case *arrow.LargeStringType:
		return logical{id: tVarchar}, layout{kind: C.LAKE_TEXT64}, nil
	case *arrow.BinaryType:
		return logical{id: tBlob}, layout{kind: C.LAKE_BLOB32}, nil
	case *arrow.LargeBinaryType:
		return logical{id: tBlob}, layout{kind: C.LAKE_BLOB64}, nil
	case *arrow.FixedSizeBinaryType:
		return logical{id: tBlob}, layout{kind: C.LAKE_BLOBFIXED, width: int32(t.ByteWidth)}, nil
	case *arrow.NullType:
		return logical{id: tInteger}, layout{kind: C.LAKE_NULLS}, nil
	case arrow.ExtensionType:
		return scanType(t.StorageType())
	}
	return scanTimeType(dt)
}

type fixedType struct {
	id    typeID
	width int32
}

var fixedTypes = map[arrow.Type]fixedType{
	arrow.INT8: {tTinyint, 1}, arrow.INT16: {tSmallint, 2}, arrow.INT32: {tInteger, 4}, arrow.INT64: {tBigint, 8},
	arrow.UINT8: {tUTinyint, 1}, arrow.UINT16: {tUSmallint, 2}, arrow.UINT32: {tUInteger, 4}, arrow.UINT64: {tUBigint, 8},
	arrow.FLOAT32: {tFloat, 4}, arrow.FLOAT64: {tDouble, 8}, arrow.DATE32: {tDate, 4},
}

func scanTimeType(dt arrow.DataType) (logical, layout, error) {
	switch t := dt.(type) {
	case *arrow.TimestampType:
		return scanTimestamp(t)
	case *arrow.Date64Type:
		return logical{id: tDate}, layout{kind: C.LAKE_DATE64}, nil
	case *arrow.Time32Type:
		factor := int64(t.Unit.Multiplier()) / int64(arrow.Microsecond.Multiplier())
		return logical{id: tTime}, layout{kind: C.LAKE_SCALE32, factor: factor}, nil
	case *arrow.Time64Type:
		if t.Unit == arrow.Nanosecond {
			return logical{id: tTimeNS}, layout{kind: C.LAKE_FIXED, width: 8}, nil
		}
		return logical{id: tTime}, layout{kind: C.LAKE_FIXED, width: 8}, nil
	}
	return scanNestedType(dt)
}

func scanTimestamp(t *arrow.TimestampType) (logical, layout, error) {
	plain := layout{kind: C.LAKE_FIXED, width: 8}
	if t.Unit == arrow.Nanosecond {
		return logical{id: tTimestampNS}, plain, nil
	}
	if t.TimeZone == "" {
		ids := map[arrow.TimeUnit]typeID{arrow.Second: tTimestampS, arrow.Millisecond: tTimestampMS, arrow.Microsecond: tTimestamp}
		return logical{id: ids[t.Unit]}, plain, nil
	}
	if t.Unit == arrow.Microsecond {
		return logical{id: tTimestampTZ}, plain, nil
	}
	factor := int64(t.Unit.Multiplier()) / int64(arrow.Microsecond.Multiplier())
	return logical{id: tTimestampTZ}, layout{kind: C.LAKE_SCALE64, factor: factor}, nil
}

func scanNestedType(dt arrow.DataType) (logical, layout, error) {
	switch t := dt.(type) {
	case *arrow.Decimal128Type:
		return scanDecimal(t)
	case *arrow.ListType:
		return scanChild(tList, layout{kind: C.LAKE_LIST32}, t.Elem())
	case *arrow.LargeListType:
		return scanChild(tList, layout{kind: C.LAKE_LIST64}, t.Elem())
	case *arrow.FixedSizeListType:
		return scanArray(t)
	case *arrow.MapType:
		return scanMap(t)
	case *arrow.StructType:
		return scanStruct(t)
	case *arrow.DictionaryType:
		return scanDictionary(t)
	}
	return logical{}, layout{}, lake.Errorf(lake.Unsupported, "SQL has no type for Arrow %s", dt)
}

func scanDecimal(t *arrow.Decimal128Type) (logical, layout, error) {
	if t.Precision < 1 || t.Precision > 38 || t.Scale < 0 || t.Scale > t.Precision {
		return logical{}, layout{}, lake.Errorf(lake.Unsupported, "SQL has no type for Arrow %s: want scale 0..precision", t)
	}
	l := logical{id: tDecimal, width: uint8(t.Precision), scale: uint8(t.Scale)}
	return l, layout{kind: C.LAKE_DECIMAL, width: decimalBytes(l.width)}, nil
}

// decimalBytes is the size of DuckDB's integer behind a DECIMAL of that width.
func decimalBytes(width uint8) int32 {
	switch {
	case width <= 4:
		return 2
	case width <= 9:
		return 4
	case width <= 18:
		return 8
	}
	return 16
}

func scanChild(id typeID, outer layout, elem arrow.DataType) (logical, layout, error) {
	l, inner, err := scanType(elem)
	outer.children = []layout{inner}
	return logical{id: id, children: []logical{l}}, outer, err
}

func scanArray(t *arrow.FixedSizeListType) (logical, layout, error) {
	n := int(t.Len())
	if n < 1 || n > maxArraySize {
		return logical{}, layout{}, lake.Errorf(lake.Unsupported, "SQL has no type for Arrow %s: want 1..%d values", t, maxArraySize)
	}
	l, lay, err := scanChild(tArray, layout{kind: C.LAKE_ARRAY, width: int32(n)}, t.Elem())
	l.size = n
	return l, lay, err
}

// scanMap treats a map as what it is in both systems: a list of key and value.
func scanMap(t *arrow.MapType) (logical, layout, error) {
	l, lay, err := scanStruct(t.Elem().(*arrow.StructType))
	return logical{id: tMap, children: l.children}, layout{kind: C.LAKE_LIST32, children: []layout{lay}}, err
}

func scanStruct(t *arrow.StructType) (logical, layout, error) {
	if t.NumFields() == 0 {
		return logical{}, layout{}, lake.Errorf(lake.Unsupported, "SQL has no type for a struct without fields")
	}
	l, lay := logical{id: tStruct}, layout{kind: C.LAKE_STRUCT}
	if err := checkDistinct("struct field", t.Fields()); err != nil {
		return l, lay, err
	}
	for _, f := range t.Fields() {
		child, inner, err := scanType(f.Type)
		if err != nil {
			return l, lay, lake.Wrap("field "+f.Name, err)
		}
		l.names = append(l.names, f.Name)
		l.children = append(l.children, child)
		lay.children = append(lay.children, inner)
	}
	return l, lay, nil
}

func scanDictionary(t *arrow.DictionaryType) (logical, layout, error) {
	width := int32(t.IndexType.(arrow.FixedWidthDataType).BitWidth() / 8)
	if arrow.IsUnsignedInteger(t.IndexType.ID()) {
		width = -width
	}
	l, inner, err := scanType(t.ValueType)
	return l, layout{kind: C.LAKE_DICT, width: width, children: []layout{inner}}, err
}
