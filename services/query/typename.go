// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// plainTypeNames are the SQL names of types without parameters.
var plainTypeNames = map[arrow.Type]string{
	arrow.BOOL: "BOOLEAN",
	arrow.INT8: "TINYINT", arrow.INT16: "SMALLINT", arrow.INT32: "INTEGER", arrow.INT64: "BIGINT",
	arrow.UINT8: "UTINYINT", arrow.UINT16: "USMALLINT", arrow.UINT32: "UINTEGER", arrow.UINT64: "UBIGINT",
	arrow.FLOAT16: "FLOAT", arrow.FLOAT32: "FLOAT", arrow.FLOAT64: "DOUBLE",
	arrow.STRING: "VARCHAR", arrow.LARGE_STRING: "VARCHAR", arrow.STRING_VIEW: "VARCHAR",
	arrow.BINARY: "BLOB", arrow.LARGE_BINARY: "BLOB", arrow.BINARY_VIEW: "BLOB", arrow.FIXED_SIZE_BINARY: "BLOB",
	arrow.DATE32: "DATE", arrow.DATE64: "DATE", arrow.TIME32: "TIME",
	arrow.DURATION: "BIGINT", arrow.NULL: "INTEGER",
}

var timestampNames = map[arrow.TimeUnit]string{
	arrow.Second: "TIMESTAMP_S", arrow.Millisecond: "TIMESTAMP_MS", arrow.Microsecond: "TIMESTAMP", arrow.Nanosecond: "TIMESTAMP_NS",
}

// typeName is how SQL spells a column's type. Types that SQL does not have are
// named as package carry carries them.
func typeName(t arrow.DataType) string {
	if name, ok := plainTypeNames[t.ID()]; ok {
		return name
	}
	switch t := t.(type) {
	case *arrow.Time64Type:
		if t.Unit == arrow.Nanosecond {
			return "TIME_NS"
		}
		return "TIME"
	case *arrow.TimestampType:
		if t.TimeZone != "" && t.Unit != arrow.Nanosecond {
			return "TIMESTAMP WITH TIME ZONE"
		}
		return timestampNames[t.Unit]
	case arrow.DecimalType:
		return fmt.Sprintf("DECIMAL(%d,%d)", min(t.GetPrecision(), 38), t.GetScale())
	case *arrow.FixedSizeListType:
		return fmt.Sprintf("%s[%d]", typeName(t.Elem()), t.Len())
	case arrow.ListLikeType:
		return typeName(t.Elem()) + "[]"
	case *arrow.StructType:
		return "STRUCT(" + fieldNames(t.Fields()) + ")"
	case *arrow.DictionaryType:
		return typeName(t.ValueType)
	case arrow.ExtensionType:
		return typeName(t.StorageType())
	}
	return strings.ToUpper(t.Name())
}

func fieldNames(fields []arrow.Field) string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = quoteName(f.Name) + " " + typeName(f.Type)
	}
	return strings.Join(out, ", ")
}

// quoteName writes an identifier, in quotes unless it is a plain word.
func quoteName(s string) string {
	plain := s != ""
	for i, r := range s {
		plain = plain && (r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9')
	}
	if plain {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
