// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rowfilter

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake/predicate"
)

// Exact returns a source with exactly the rows for which the predicate is true,
// for readers that do not check rows themselves. [CanTell] must have agreed, and
// scans must read every column of the predicate.
func Exact(s Source, where predicate.And) *Table { return &Table{Source: s, where: where, exact: true} }

// CanTell reports whether [Exact] knows the rows of such a predicate: whether all
// of its constants are of their columns' types, and of types that are compared
// here.
func CanTell(where predicate.And, schema *arrow.Schema) bool {
	for _, p := range where {
		if !tells(p, schema) {
			return false
		}
	}
	return true
}

func tells(p predicate.Predicate, schema *arrow.Schema) bool {
	switch p := p.(type) {
	case predicate.And:
		return CanTell(p, schema)
	case predicate.Or:
		return CanTell(predicate.And(p), schema)
	case predicate.Null, predicate.NotNull:
		return true
	case predicate.Compare:
		_, ok := rangeOf(p, schema, []int{p.Column})
		return ok
	case predicate.In:
		return membership(p, schema, []int{p.Column}) != nil
	}
	return false
}
