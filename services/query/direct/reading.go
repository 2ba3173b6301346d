// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake/predicate"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/fold"
	"github.com/lakeplane/lake/services/query/rowfilter"
	"github.com/lakeplane/lake/services/query/tree"
)

// Reading is a statement over the columns of its table.
type Reading struct {
	// Where is what has to be true of the rows, all of it; empty means nothing.
	Where predicate.And

	columns       []int // that are read: those of the result, in its order, or the folding's
	folding       *folding
	schema        *arrow.Schema
	offset, limit int64
}

// Summary reports whether rows become groups, so that the answer is that of
// [Reading.Summarize] and not of [Reading.Scan].
func (r *Reading) Summary() bool { return r.folding != nil }

// folding is how a summary is made. Its places are those of Reading.columns.
type folding struct {
	spec fold.Spec
	// made are the fields of what the fold makes, and from tells for each column of
	// the result which of them it is.
	made  *arrow.Schema
	from  []int
	order []Order
}

// Resolve finds the columns that a statement names, given the table's schema,
// the one the result was planned to have, and the values of the placeholders,
// which may be nil. ok is false when reading the table would not be what the plan
// says, or compare what SQL compares.
func (s *Statement) Resolve(table, planned *arrow.Schema, params arrow.RecordBatch) (r *Reading, ok bool) {
	if !s.plainNames(table) {
		return nil, false
	}
	where, ok := s.resolveWhere(table, params)
	if !ok || !rowfilter.CanTell(where, table) {
		return nil, false
	}
	r = &Reading{Where: where, schema: planned, offset: s.Offset, limit: s.Limit}
	if s.Summary != nil {
		return r, s.resolveSummary(r, table)
	}
	r.columns, ok = s.resolveColumns(table, planned)
	return r, ok
}

// resolveColumns are the columns of the result, if they are delivered as they are
// stored.
func (s *Statement) resolveColumns(table, planned *arrow.Schema) (columns []int, ok bool) {
	columns, ok = s.columnsOf(table)
	if !ok || len(columns) != planned.NumFields() {
		return nil, false
	}
	for i, c := range columns {
		if !asStored(table.Field(c), planned.Field(i)) {
			return nil, false
		}
	}
	return columns, true
}

// asStored reports whether a column is delivered as it is.
func asStored(stored, wanted arrow.Field) bool {
	return sqlengine.SameType(stored.Type, wanted.Type) && sqlengine.SameType(sqlengine.Delivered(stored.Type), stored.Type) && (wanted.Nullable || !stored.Nullable)
}

// columnsOf finds the columns that the statement names, at least one, each once.
func (s *Statement) columnsOf(table *arrow.Schema) (columns []int, ok bool) {
	if s.Columns == nil {
		for i := range table.NumFields() {
			columns = append(columns, i)
		}
	}
	for _, column := range s.Columns {
		i, ok := columnNamed(table, column.Name)
		if !ok || slices.Contains(columns, i) {
			return nil, false
		}
		columns = append(columns, i)
	}
	return columns, len(columns) > 0
}

// plainNames reports whether names with a qualifier can only be of columns, and
// not of fields of a column.
func (s *Statement) plainNames(table *arrow.Schema) bool {
	return s.Qualifier == "" || !hasColumn(table, s.Qualifier)
}

// columnNamed finds a column as SQL does, see [tree.SameName]. Two that
// match are the engine's to tell apart.
func columnNamed(table *arrow.Schema, name string) (at int, ok bool) {
	for i := range table.NumFields() {
		if tree.SameName(table.Field(i).Name, name) {
			if ok {
				return 0, false
			}
			at, ok = i, true
		}
	}
	return at, ok
}

func hasColumn(table *arrow.Schema, name string) bool {
	for i := range table.NumFields() {
		if tree.SameName(table.Field(i).Name, name) {
			return true
		}
	}
	return false
}
