// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

// #include <stdlib.h>
// #include "scan.h"
import "C"

import (
	"regexp"
	"strings"
	"unsafe"
)

// onceGrouped finds the one column that a statement groups by, or the number of
// it in the list of what is selected. DuckDB uses dictionaries where it groups
// by one column alone.
var onceGrouped = regexp.MustCompile(`(?is)\bgroup\s+by\s+((?:(?:"[^"]+"|\w+)\s*\.\s*)*)("[^"]+"|\w+)\s*(?:$|[);]|(?:having|order|limit|offset|qualify|window|union|intersect|except|using)\b)` +
	`|\bdistinct\s+((?:(?:"[^"]+"|\w+)\s*\.\s*)*)("[^"]+"|\w+)\s*(?:$|[);]|from\b)`)

// maxHintText is how much of a statement is looked at.
const maxHintText = 64 << 10

// groupedBy reports which columns a statement probably groups by. It is a guess
// from the text, and nothing depends on it but the time that grouping takes: a
// column is filled with the same values, in one form or another.
func groupedBy(sql string) func(column string) bool {
	names := map[string]bool{}
	for _, found := range onceGrouped.FindAllStringSubmatch(sql[:min(len(sql), maxHintText)], -1) {
		name := found[2] + found[4]
		if strings.Trim(name, "0123456789") == "" {
			return func(string) bool { return true } // which one, only the binder knows
		}
		names[strings.ToLower(strings.Trim(name, `"`))] = true
	}
	return func(column string) bool { return len(names) > 0 && names[strings.ToLower(column)] }
}

// numbered lists the fixed-width types whose values are integers.
var numbered = map[typeID]bool{
	tSmallint: true, tInteger: true, tBigint: true, tUSmallint: true, tUInteger: true, tUBigint: true, tDate: true,
}

// addDictionaries gives the columns that the statement groups by a dictionary
// each, in C memory that close_local frees.
func (s *scan) addDictionaries(local *C.lake_local) {
	grouped := groupedBy(s.table.query.req.SQL)
	for i, c := range s.columns {
		if c < 0 {
			continue
		}
		col := s.table.columns[c]
		if !grouped(col.field.Name) || col.layout.kind == C.LAKE_FIXED && !numbered[col.typ.id] {
			continue
		}
		dict := C.lake_new_dict(C.int32_t(col.layout.kind), C.int32_t(col.layout.width))
		if dict == nil {
			continue
		}
		if local.dicts == nil {
			local.dicts = (**C.lake_dict)(C.calloc(C.size_t(len(s.columns)), C.size_t(unsafe.Sizeof(dict))))
		}
		unsafe.Slice(local.dicts, len(s.columns))[i] = dict
	}
}
