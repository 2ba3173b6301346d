// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/tree"
)

// Plan describes the result as the SQL engine would, given the table's schema and
// the values of the placeholders, which may be nil. ok is false where only the
// engine knows, or where the statement is its to refuse.
func (s *Statement) Plan(table *arrow.Schema, params arrow.RecordBatch) (plan sqlengine.Plan, ok bool) {
	fields, ok := s.fields(table)
	if !ok || !s.plainNames(table) {
		return plan, false
	}
	for i, f := range fields {
		same := func(other arrow.Field) bool { return tree.SameName(f.Name, other.Name) }
		if slices.ContainsFunc(fields[:i], same) {
			return plan, false
		}
	}
	plan.Schema = arrow.NewSchema(fields, nil)
	if plan.Parameters, ok = s.parameters(table); !ok {
		return plan, false
	}
	if params != nil && int(params.NumCols()) != plan.Parameters.NumFields() {
		return plan, false
	}
	if params != nil || plan.Parameters.NumFields() == 0 {
		_, ok = s.Resolve(table, plan.Schema, params)
	}
	return plan, ok
}

// fields are those of the result.
func (s *Statement) fields(table *arrow.Schema) ([]arrow.Field, bool) {
	if s.Columns == nil {
		strange := func(f arrow.Field) bool { return !inSQL(f.Type) }
		return table.Fields(), table.NumFields() > 0 && !slices.ContainsFunc(table.Fields(), strange)
	}
	fields := make([]arrow.Field, len(s.Columns))
	for i, c := range s.Columns {
		var stored arrow.DataType
		if c.Name != "" {
			at, ok := columnNamed(table, c.Name)
			if !ok {
				return nil, false
			}
			fields[i] = table.Field(at)
			stored = fields[i].Type
			if !inSQL(stored) && (c.Func == 0 || stored.ID() != arrow.DECIMAL128) {
				return nil, false
			}
		}
		if c.Func != 0 {
			var ok bool
			if fields[i], ok = c.called(stored); !ok {
				return nil, false
			}
		}
		if c.As != "" {
			fields[i].Name = c.As
		}
	}
	return fields, true
}

// inSQL reports whether SQL has values of a type as they are stored.
func inSQL(dt arrow.DataType) bool {
	switch dt.ID() {
	case arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT32, arrow.FLOAT64, arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.LARGE_BINARY, arrow.DATE32, arrow.TIMESTAMP:
		return true
	case arrow.LIST, arrow.LARGE_LIST, arrow.FIXED_SIZE_LIST, arrow.STRUCT:
		fields := dt.(arrow.NestedType).Fields()
		return len(fields) > 0 && !slices.ContainsFunc(fields, func(f arrow.Field) bool { return !inSQL(f.Type) })
	}
	return false
}
