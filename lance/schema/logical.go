// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// plainTypes are the logical types without parameters.
var plainTypes = map[string]arrow.DataType{
	"null":         arrow.Null,
	"bool":         arrow.FixedWidthTypes.Boolean,
	"int8":         arrow.PrimitiveTypes.Int8,
	"uint8":        arrow.PrimitiveTypes.Uint8,
	"int16":        arrow.PrimitiveTypes.Int16,
	"uint16":       arrow.PrimitiveTypes.Uint16,
	"int32":        arrow.PrimitiveTypes.Int32,
	"uint32":       arrow.PrimitiveTypes.Uint32,
	"int64":        arrow.PrimitiveTypes.Int64,
	"uint64":       arrow.PrimitiveTypes.Uint64,
	"halffloat":    arrow.FixedWidthTypes.Float16,
	"float":        arrow.PrimitiveTypes.Float32,
	"double":       arrow.PrimitiveTypes.Float64,
	"string":       arrow.BinaryTypes.String,
	"binary":       arrow.BinaryTypes.Binary,
	"large_string": arrow.BinaryTypes.LargeString,
	"large_binary": arrow.BinaryTypes.LargeBinary,
	"date32:day":   arrow.FixedWidthTypes.Date32,
	"date64:ms":    arrow.FixedWidthTypes.Date64,
	"time32:s":     arrow.FixedWidthTypes.Time32s,
	"time32:ms":    arrow.FixedWidthTypes.Time32ms,
	"time64:us":    arrow.FixedWidthTypes.Time64us,
	"time64:ns":    arrow.FixedWidthTypes.Time64ns,
	"duration:s":   arrow.FixedWidthTypes.Duration_s,
	"duration:ms":  arrow.FixedWidthTypes.Duration_ms,
	"duration:us":  arrow.FixedWidthTypes.Duration_us,
	"duration:ns":  arrow.FixedWidthTypes.Duration_ns,
}

// plainNames is the inverse of plainTypes, by Arrow fingerprint.
var plainNames = func() map[string]string {
	names := make(map[string]string, len(plainTypes))
	for name, dt := range plainTypes {
		names[dt.Fingerprint()] = name
	}
	return names
}()

var units = map[string]arrow.TimeUnit{
	"s": arrow.Second, "ms": arrow.Millisecond, "us": arrow.Microsecond, "ns": arrow.Nanosecond,
}

// leafName returns the logical type of a type without child fields, or a text
// that says why Lance cannot hold it.
func leafName(dt arrow.DataType) (name, refusal string) {
	if name, ok := plainNames[dt.Fingerprint()]; ok {
		return name, ""
	}
	switch dt := dt.(type) {
	case *arrow.TimestampType:
		return timestampName(dt)
	case *arrow.Decimal128Type:
		return fmt.Sprintf("decimal:128:%d:%d", dt.Precision, dt.Scale), ""
	case *arrow.Decimal256Type:
		return fmt.Sprintf("decimal:256:%d:%d", dt.Precision, dt.Scale), ""
	case *arrow.FixedSizeBinaryType:
		return fixedBinaryName(dt)
	case *arrow.FixedSizeListType:
		return fixedListName(dt)
	}
	return "", "the type cannot be stored"
}

func timestampName(dt *arrow.TimestampType) (name, refusal string) {
	zone := dt.TimeZone
	if strings.Contains(zone, ":") {
		// Other implementations split the logical type at colons and stop at a
		// fourth part.
		return "", "a time zone with ':' cannot be stored, use an IANA zone name"
	}
	if zone == "" {
		zone = "-"
	}
	return "timestamp:" + dt.Unit.String() + ":" + zone, ""
}

func fixedBinaryName(dt *arrow.FixedSizeBinaryType) (name, refusal string) {
	if dt.ByteWidth < 1 {
		return "", "the width must be at least 1 byte"
	}
	return fmt.Sprintf("fixed_size_binary:%d", dt.ByteWidth), ""
}

func fixedListName(dt *arrow.FixedSizeListType) (name, refusal string) {
	if dt.Len() < 1 {
		return "", "the list size must be at least 1"
	}
	item := dt.Elem()
	if !isItem(item, false) {
		return "", "only lists of numbers, decimals, dates, times, fixed size binary or such lists can have a fixed size"
	}
	name, refusal = leafName(item)
	return fmt.Sprintf("fixed_size_list:%s:%d", name, dt.Len()), refusal
}

// isItem reports whether values of dt may be the items of a fixed size list:
// values of whole bytes, or bits where they are only read, and fixed size lists
// of them, as deep as anything nests.
func isItem(dt arrow.DataType, bits bool) bool {
	for range MaxDepth {
		inner, ok := dt.(*arrow.FixedSizeListType)
		if !ok {
			return hasWidth(dt) || bits && dt.ID() == arrow.BOOL
		}
		dt = inner.Elem()
	}
	return false
}

func hasWidth(dt arrow.DataType) bool {
	switch dt.ID() {
	case arrow.DECIMAL128, arrow.DECIMAL256, arrow.FIXED_SIZE_BINARY,
		arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return true
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64,
		arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64:
		return true
	}
	return false
}

// leafType is the inverse of leafName; ok is false for a name it does not know.
func leafType(name string) (dt arrow.DataType, ok bool) {
	if dt, ok := plainTypes[name]; ok {
		return dt, true
	}
	kind, rest, _ := strings.Cut(name, ":")
	switch kind {
	case "timestamp":
		return timestampType(rest)
	case "decimal":
		return decimalType(rest)
	case "fixed_size_binary":
		width, err := strconv.ParseInt(rest, 10, 32)
		return &arrow.FixedSizeBinaryType{ByteWidth: int(width)}, err == nil && width > 0
	case "fixed_size_list":
		return fixedListType(rest)
	}
	return nil, false
}

func timestampType(params string) (arrow.DataType, bool) {
	unitName, zone, found := strings.Cut(params, ":")
	unit, known := units[unitName]
	if zone == "-" {
		zone = ""
	}
	return &arrow.TimestampType{Unit: unit, TimeZone: zone}, found && known
}

func decimalType(params string) (arrow.DataType, bool) {
	parts := strings.Split(params, ":")
	if len(parts) != 3 {
		return nil, false
	}
	precision, perr := strconv.ParseInt(parts[1], 10, 32)
	scale, serr := strconv.ParseInt(parts[2], 10, 32)
	if perr != nil || serr != nil || precision < 1 {
		return nil, false
	}
	switch {
	case parts[0] == "128" && precision <= 38:
		return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)}, true
	case parts[0] == "256" && precision <= 76:
		return &arrow.Decimal256Type{Precision: int32(precision), Scale: int32(scale)}, true
	}
	return nil, false
}

func fixedListType(params string) (arrow.DataType, bool) {
	if strings.Count(params, "fixed_size_list") >= MaxDepth {
		return nil, false
	}
	cut := strings.LastIndexByte(params, ':')
	if cut < 0 {
		return nil, false
	}
	size, err := strconv.ParseInt(params[cut+1:], 10, 32)
	item, known := leafType(params[:cut])
	if err != nil || size < 1 || !known || !isItem(item, true) {
		return nil, false
	}
	return arrow.FixedSizeListOf(int32(size), item), true
}

// structsIn returns the size of a fixed size list of structs, which has the
// struct as a child field.
func structsIn(name string) (size int32, ok bool) {
	digits, ok := strings.CutPrefix(name, "fixed_size_list:struct:")
	n, err := strconv.ParseInt(digits, 10, 32)
	return int32(n), ok && err == nil && n > 0
}
