// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
)

// output is a planned result: the Arrow schema promised to the client and the
// DuckDB types that will be turned into it.
type output struct {
	schema *arrow.Schema
	types  []logical
}

// describe plans the output of a statement's columns. origins has one entry a
// column; else nothing is known of where columns come from.
func describe(columns []outColumn, origins []origin) (output, error) {
	if len(origins) != len(columns) {
		origins = nil
	}
	out := output{types: make([]logical, len(columns))}
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		out.types[i] = c.typ
		f, ok := registered(c, i, origins)
		if !ok {
			dt, err := arrowType(c.typ)
			if err != nil {
				return output{}, lake.Wrap("column "+c.name, err)
			}
			f = arrow.Field{Name: c.name, Type: dt, Nullable: true}
		}
		fields[i] = f
	}
	out.schema = arrow.NewSchema(fields, nil)
	return out, nil
}

// promised is the output of a statement whose schema was planned before, and
// false where its columns are not of types that can be delivered so.
func promised(columns func() []outColumn, planned *arrow.Schema) (out output, ok bool) {
	if planned == nil {
		return out, false
	}
	of := columns()
	if len(of) != planned.NumFields() {
		return out, false
	}
	out = output{schema: planned, types: make([]logical, len(of))}
	for i, c := range of {
		if f := planned.Field(i); f.Name != c.name || !c.typ.deliverable(f.Type) {
			return output{}, false
		}
		out.types[i] = c.typ
	}
	return out, true
}

// deliverable reports whether values become the Arrow type, be it that of a
// computed column or of a plain reference.
func (l logical) deliverable(dt arrow.DataType) bool {
	if computed, err := arrowType(l); err == nil && engine.SameType(computed, dt) {
		return true
	}
	scanned, _, err := scanType(dt)
	return err == nil && scanned.equal(l)
}

// registered is the field of a column that is a plain reference. The type is
// compared as well: should the lineage ever be wrong, the column counts as
// computed instead of being misread.
func registered(c outColumn, i int, origins []origin) (arrow.Field, bool) {
	if i >= len(origins) || origins[i].column == nil || !origins[i].column.typ.equal(c.typ) {
		return arrow.Field{}, false
	}
	f := origins[i].column.field
	f.Type = engine.Delivered(f.Type)
	f.Name = c.name
	f.Nullable = f.Nullable || origins[i].nullable
	return f, true
}

// unremarkable reports whether the field of a plain reference to the column
// would be the same as that of a computed one, so that lineage is not needed.
func (c column) unremarkable() bool {
	if !c.field.Nullable || c.field.Metadata.Len() > 0 {
		return false
	}
	dt, err := arrowType(c.typ)
	return err == nil && engine.SameType(dt, c.field.Type)
}
