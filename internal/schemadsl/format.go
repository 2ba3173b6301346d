// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package schemadsl

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/apache/arrow-go/v18/arrow"
)

// FormatColumn writes a field as [ParseColumn] reads it. ok is false when the
// type has no notation; the text then shows Arrow's own name for it and is
// only for people.
func FormatColumn(f arrow.Field) (text string, ok bool) {
	typeText, ok := FormatType(f.Type, f.Nullable)
	return formatName(f.Name) + ":" + typeText, ok
}

// FormatType writes a type as [ParseType] reads it; see [FormatColumn] for ok.
// Names of list items are not part of the notation.
func FormatType(dt arrow.DataType, nullable bool) (text string, ok bool) {
	text, ok = formatBase(dt)
	if nullable {
		text += "?"
	}
	return text, ok
}

func formatName(name string) string {
	plainName := name != "" && strings.TrimSpace(name) == name && !strings.ContainsAny(name, `:"`)
	for _, r := range name {
		plainName = plainName && unicode.IsPrint(r)
	}
	if plainName {
		return name
	}
	return strconv.Quote(name)
}

func formatBase(dt arrow.DataType) (string, bool) {
	for _, t := range plain {
		if arrow.TypeEqual(t.dt, dt) {
			return t.name, true
		}
	}
	switch dt := dt.(type) {
	case *arrow.TimestampType:
		if dt.TimeZone == "" {
			return "ts[" + dt.Unit.String() + "]", true
		}
		return "ts[" + dt.Unit.String() + "," + dt.TimeZone + "]", true
	case *arrow.Decimal128Type:
		return fmt.Sprintf("decimal(%d,%d)", dt.Precision, dt.Scale), dt.Scale >= 0 && dt.Scale <= dt.Precision
	case *arrow.ListType:
		item, ok := FormatType(dt.Elem(), dt.ElemField().Nullable)
		return "list<" + item + ">", ok
	case *arrow.FixedSizeListType:
		item, ok := FormatType(dt.Elem(), dt.ElemField().Nullable)
		return fmt.Sprintf("fsl<%s,%d>", item, dt.Len()), ok
	case *arrow.StructType:
		return formatStruct(dt)
	}
	return dt.String(), false
}

func formatStruct(dt *arrow.StructType) (string, bool) {
	parts := make([]string, dt.NumFields())
	known := dt.NumFields() > 0
	for i, f := range dt.Fields() {
		part, ok := FormatColumn(f)
		parts[i], known = part, known && ok
	}
	return "struct<" + strings.Join(parts, ",") + ">", known
}
