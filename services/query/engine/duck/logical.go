// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

/*
#include <stdlib.h>
#include "duckdb_api.h"
*/
import "C"

import (
	"slices"
	"unsafe"
)

// typeID is DuckDB's number for a logical type (enum DUCKDB_TYPE).
type typeID int32

const (
	tInvalid     typeID = 0
	tBoolean     typeID = 1
	tTinyint     typeID = 2
	tSmallint    typeID = 3
	tInteger     typeID = 4
	tBigint      typeID = 5
	tUTinyint    typeID = 6
	tUSmallint   typeID = 7
	tUInteger    typeID = 8
	tUBigint     typeID = 9
	tFloat       typeID = 10
	tDouble      typeID = 11
	tTimestamp   typeID = 12
	tDate        typeID = 13
	tTime        typeID = 14
	tInterval    typeID = 15
	tHugeint     typeID = 16
	tVarchar     typeID = 17
	tBlob        typeID = 18
	tDecimal     typeID = 19
	tTimestampS  typeID = 20
	tTimestampMS typeID = 21
	tTimestampNS typeID = 22
	tEnum        typeID = 23
	tList        typeID = 24
	tStruct      typeID = 25
	tMap         typeID = 26
	tUUID        typeID = 27
	tUnion       typeID = 28
	tBit         typeID = 29
	tTimeTZ      typeID = 30
	tTimestampTZ typeID = 31
	tUHugeint    typeID = 32
	tArray       typeID = 33
	tAny         typeID = 34
	tBignum      typeID = 35
	tSQLNull     typeID = 36
	tTimeNS      typeID = 39
	tGeometry    typeID = 40
	tVariant     typeID = 41
)

var typeNames = map[typeID]string{
	tInvalid: "UNKNOWN", tUnion: "UNION", tBit: "BIT", tTimeTZ: "TIME WITH TIME ZONE",
	tBignum: "BIGNUM", tGeometry: "GEOMETRY", tVariant: "VARIANT", tAny: "ANY",
}

// logical is a DuckDB logical type as a Go value.
type logical struct {
	id           typeID
	width, scale uint8     // DECIMAL
	size         int       // ARRAY
	names        []string  // STRUCT
	children     []logical // LIST, ARRAY, MAP (key, value), STRUCT
	values       []string  // ENUM
}

func (l logical) equal(o logical) bool {
	return l.id == o.id && l.width == o.width && l.scale == o.scale && l.size == o.size &&
		slices.Equal(l.names, o.names) && slices.EqualFunc(l.children, o.children, logical.equal) &&
		slices.Equal(l.values, o.values)
}

// create makes the C type. The caller destroys it.
func (l logical) create() C.duckdb_logical_type {
	switch l.id {
	case tDecimal:
		return C.duckdb_create_decimal_type(C.uint8_t(l.width), C.uint8_t(l.scale))
	case tList, tArray, tMap, tStruct:
		return l.createNested()
	}
	return C.duckdb_create_logical_type(C.duckdb_type(l.id))
}

func (l logical) createNested() C.duckdb_logical_type {
	kids := make([]C.duckdb_logical_type, len(l.children))
	for i, c := range l.children {
		kids[i] = c.create()
		defer C.duckdb_destroy_logical_type(&kids[i])
	}
	switch l.id {
	case tList:
		return C.duckdb_create_list_type(kids[0])
	case tArray:
		return C.duckdb_create_array_type(kids[0], C.idx_t(l.size))
	case tMap:
		return C.duckdb_create_map_type(kids[0], kids[1])
	}
	names, free := cStrings(l.names)
	defer free()
	return C.duckdb_create_struct_type(&kids[0], names, C.idx_t(len(kids)))
}

// cStrings copies names into one C array.
func cStrings(names []string) (**C.char, func()) {
	size := C.size_t(len(names)) * C.size_t(unsafe.Sizeof((*C.char)(nil)))
	array := (**C.char)(C.malloc(size + 1))
	list := unsafe.Slice(array, len(names))
	for i, n := range names {
		list[i] = C.CString(n)
	}
	return array, func() {
		for _, p := range list {
			C.free(unsafe.Pointer(p))
		}
		C.free(unsafe.Pointer(array))
	}
}

// readLogical copies t into Go and destroys it.
func readLogical(t C.duckdb_logical_type) logical {
	if t == nil {
		return logical{}
	}
	defer C.duckdb_destroy_logical_type(&t)
	l := logical{id: typeID(C.duckdb_get_type_id(t))}
	switch l.id {
	case tDecimal:
		l.width, l.scale = uint8(C.duckdb_decimal_width(t)), uint8(C.duckdb_decimal_scale(t))
	case tList:
		l.children = []logical{readLogical(C.duckdb_list_type_child_type(t))}
	case tArray:
		l.size = int(C.duckdb_array_type_array_size(t))
		l.children = []logical{readLogical(C.duckdb_array_type_child_type(t))}
	case tMap:
		l.children = []logical{readLogical(C.duckdb_map_type_key_type(t)), readLogical(C.duckdb_map_type_value_type(t))}
	case tStruct:
		l.readStruct(t)
	case tEnum:
		l.readEnum(t)
	}
	return l
}

func (l *logical) readStruct(t C.duckdb_logical_type) {
	for i := range C.duckdb_struct_type_child_count(t) {
		l.names = append(l.names, takeString(C.duckdb_struct_type_child_name(t, i)))
		l.children = append(l.children, readLogical(C.duckdb_struct_type_child_type(t, i)))
	}
}

func (l *logical) readEnum(t C.duckdb_logical_type) {
	l.values = make([]string, C.duckdb_enum_dictionary_size(t))
	for i := range l.values {
		l.values[i] = takeString(C.duckdb_enum_dictionary_value(t, C.idx_t(i)))
	}
}

// takeString copies a string that DuckDB allocated and frees it.
func takeString(p *C.char) string {
	if p == nil {
		return ""
	}
	defer C.duckdb_free(unsafe.Pointer(p))
	return C.GoString(p)
}
