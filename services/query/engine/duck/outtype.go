// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

// arrowTypes are the types of computed columns. Sums of integers are HUGEINT
// in DuckDB; decimal128(38,0) holds all but the last of its 39 digits, and
// larger values are an error rather than a rounded number. ENUM and UUID are
// their text.
var arrowTypes = map[typeID]arrow.DataType{
	tBoolean: arrow.FixedWidthTypes.Boolean,
	tTinyint: arrow.PrimitiveTypes.Int8, tSmallint: arrow.PrimitiveTypes.Int16,
	tInteger: arrow.PrimitiveTypes.Int32, tBigint: arrow.PrimitiveTypes.Int64,
	tUTinyint: arrow.PrimitiveTypes.Uint8, tUSmallint: arrow.PrimitiveTypes.Uint16,
	tUInteger: arrow.PrimitiveTypes.Uint32, tUBigint: arrow.PrimitiveTypes.Uint64,
	tHugeint:  &arrow.Decimal128Type{Precision: 38},
	tUHugeint: &arrow.Decimal128Type{Precision: 38},
	tFloat:    arrow.PrimitiveTypes.Float32, tDouble: arrow.PrimitiveTypes.Float64,
	tVarchar: arrow.BinaryTypes.String, tEnum: arrow.BinaryTypes.String, tUUID: arrow.BinaryTypes.String,
	tBlob: arrow.BinaryTypes.Binary,
	tDate: arrow.FixedWidthTypes.Date32,
	tTime: arrow.FixedWidthTypes.Time64us, tTimeNS: arrow.FixedWidthTypes.Time64ns,
	tTimestamp:   &arrow.TimestampType{Unit: arrow.Microsecond},
	tTimestampS:  &arrow.TimestampType{Unit: arrow.Second},
	tTimestampMS: &arrow.TimestampType{Unit: arrow.Millisecond},
	tTimestampNS: &arrow.TimestampType{Unit: arrow.Nanosecond},
	tTimestampTZ: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
	tInterval:    arrow.FixedWidthTypes.MonthDayNanoInterval,
	tSQLNull:     arrow.PrimitiveTypes.Int32,
}

// arrowType is the Arrow type of a computed column.
func arrowType(l logical) (arrow.DataType, error) {
	if dt, ok := arrowTypes[l.id]; ok {
		return dt, nil
	}
	kids := make([]arrow.DataType, len(l.children))
	for i, c := range l.children {
		var err error
		if kids[i], err = arrowType(c); err != nil {
			return nil, err
		}
	}
	switch l.id {
	case tDecimal:
		return &arrow.Decimal128Type{Precision: int32(l.width), Scale: int32(l.scale)}, nil
	case tList:
		return arrow.ListOf(kids[0]), nil
	case tArray:
		return arrow.FixedSizeListOf(int32(l.size), kids[0]), nil
	case tMap:
		return arrow.MapOf(kids[0], kids[1]), nil
	case tStruct:
		fields := make([]arrow.Field, len(kids))
		for i, k := range kids {
			fields[i] = arrow.Field{Name: l.names[i], Type: k, Nullable: true}
		}
		return arrow.StructOf(fields...), nil
	}
	return nil, lake.Errorf(lake.Unsupported, "a result of type %s has no Arrow type: cast it to VARCHAR", typeNames[l.id])
}
