// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rowfilter

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake/predicate"
)

// Exact returns a source with exactly the rows for which the predicate is true,
// for readers that do not check rows themselves. [CanTell] must have agreed, and
// scans must read every column of the predicate.
func Exact(s Source, where predicate.And) *Table { return &Table{Source: s, where: where, exact: true} }

// CanTell reports whether [Exact] knows the rows of such a predicate: one that
// compares integers, and texts by what includes the constant.
func CanTell(where predicate.And, schema *arrow.Schema) bool {
	for _, p := range where {
		c, ok := p.(predicate.Compare)
		if !ok || !tells(c, schema.Field(c.Column).Type) {
			return false
		}
	}
	return true
}

func tells(c predicate.Compare, dt arrow.DataType) bool {
	d, ok := domainOf(dt)
	switch v := c.Value.(type) {
	case int64:
		// A range that is open at the last number would be empty, and is not.
		edge := c.Op == predicate.Less && v == math.MinInt64 || c.Op == predicate.Greater && v == math.MaxInt64
		return ok && d == integers && c.Op != predicate.NotEqual && !edge
	case string:
		return ok && d == sequences && (c.Op == predicate.Equal || c.Op == predicate.LessOrEqual || c.Op == predicate.GreaterOrEqual)
	}
	return false
}
