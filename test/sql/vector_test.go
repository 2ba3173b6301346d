// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sqltest

import (
	"strconv"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	duckdb "github.com/duckdb/duckdb-go-bindings"
)

// peerText writes one value of a DuckDB vector as text writes the same value
// of an Arrow array. A type it does not know is a mistake of the test.
func peerText(v duckdb.Vector, t duckdb.LogicalType, row int) string {
	if mask := duckdb.VectorGetValidity(v); mask != nil && !duckdb.ValidityRowIsValid(mask, duckdb.IdxT(row)) {
		return "NULL"
	}
	switch id := duckdb.GetTypeId(t); id {
	case duckdb.TypeBoolean:
		return strconv.FormatBool(at[bool](v, row))
	case duckdb.TypeTinyInt, duckdb.TypeSmallInt, duckdb.TypeInteger, duckdb.TypeBigInt:
		return strconv.FormatInt(integer(v, id, row), 10)
	case duckdb.TypeUTinyInt:
		return strconv.FormatUint(uint64(at[uint8](v, row)), 10)
	case duckdb.TypeUSmallInt:
		return strconv.FormatUint(uint64(at[uint16](v, row)), 10)
	case duckdb.TypeUInteger:
		return strconv.FormatUint(uint64(at[uint32](v, row)), 10)
	case duckdb.TypeUBigInt:
		return strconv.FormatUint(at[uint64](v, row), 10)
	case duckdb.TypeHugeInt:
		return at[decimal128.Num](v, row).ToString(0)
	case duckdb.TypeDecimal:
		return decimal(v, t, row).ToString(int32(duckdb.DecimalScale(t)))
	case duckdb.TypeFloat:
		return float(float64(at[float32](v, row)))
	case duckdb.TypeDouble:
		return float(at[float64](v, row))
	case duckdb.TypeVarchar:
		return strconv.Quote(duckdb.StringTData(address[duckdb.StringT](v, row)))
	case duckdb.TypeBlob:
		return blobText([]byte(duckdb.StringTData(address[duckdb.StringT](v, row))))
	case duckdb.TypeDate:
		return dateText(int64(at[int32](v, row)))
	case duckdb.TypeTime:
		return clockText(at[int64](v, row) * int64(time.Microsecond))
	case duckdb.TypeTimestamp, duckdb.TypeTimestampTZ:
		return timeText(time.UnixMicro(at[int64](v, row)))
	case duckdb.TypeTimestampMS:
		return timeText(time.UnixMilli(at[int64](v, row)))
	case duckdb.TypeTimestampNS:
		return timeText(time.Unix(0, at[int64](v, row)))
	case duckdb.TypeSQLNull:
		return "NULL"
	}
	return nestedText(v, t, row)
}

func nestedText(v duckdb.Vector, t duckdb.LogicalType, row int) string {
	switch duckdb.GetTypeId(t) {
	case duckdb.TypeList:
		return elements(v, duckdb.ListTypeChildType(t), row, false)
	case duckdb.TypeMap:
		return mapText(v, t, row)
	case duckdb.TypeStruct:
		parts := make([]string, duckdb.StructTypeChildCount(t))
		for i := range parts {
			n := duckdb.IdxT(i)
			child := duckdb.StructTypeChildType(t, n)
			parts[i] = member(duckdb.StructTypeChildName(t, n), peerText(duckdb.StructVectorGetChild(v, n), child, row))
			duckdb.DestroyLogicalType(&child)
		}
		return braces(parts)
	}
	panic("peerText: type " + strconv.Itoa(int(duckdb.GetTypeId(t))))
}

// span is where the elements of a list are in its child vector.
type span struct{ offset, length uint64 }

func elements(v duckdb.Vector, child duckdb.LogicalType, row int, sorted bool) string {
	defer duckdb.DestroyLogicalType(&child)
	s := at[span](v, row)
	inner := duckdb.ListVectorGetChild(v)
	var parts []string
	for i := s.offset; i < s.offset+s.length; i++ {
		parts = append(parts, peerText(inner, child, int(i)))
	}
	return brackets(parts, sorted)
}

// mapText writes a map, which is a list of structs of key and value.
func mapText(v duckdb.Vector, t duckdb.LogicalType, row int) string {
	k, e := duckdb.MapTypeKeyType(t), duckdb.MapTypeValueType(t)
	defer duckdb.DestroyLogicalType(&k)
	defer duckdb.DestroyLogicalType(&e)
	s := at[span](v, row)
	inner := duckdb.ListVectorGetChild(v)
	keys, values := duckdb.StructVectorGetChild(inner, 0), duckdb.StructVectorGetChild(inner, 1)
	var parts []string
	for i := int(s.offset); i < int(s.offset+s.length); i++ {
		parts = append(parts, braces([]string{member("key", peerText(keys, k, i)), member("value", peerText(values, e, i))}))
	}
	return brackets(parts, true)
}

// address is where the vector's value of a row lies.
func address[T any](v duckdb.Vector, row int) *T {
	var size T
	return (*T)(unsafe.Add(duckdb.VectorGetData(v), row*int(unsafe.Sizeof(size))))
}

func at[T any](v duckdb.Vector, row int) T { return *address[T](v, row) }

func integer(v duckdb.Vector, id duckdb.Type, row int) int64 {
	switch id {
	case duckdb.TypeTinyInt:
		return int64(at[int8](v, row))
	case duckdb.TypeSmallInt:
		return int64(at[int16](v, row))
	case duckdb.TypeInteger:
		return int64(at[int32](v, row))
	}
	return at[int64](v, row)
}

func decimal(v duckdb.Vector, t duckdb.LogicalType, row int) decimal128.Num {
	if id := duckdb.DecimalInternalType(t); id != duckdb.TypeHugeInt {
		return decimal128.FromI64(integer(v, id, row))
	}
	return at[decimal128.Num](v, row)
}
