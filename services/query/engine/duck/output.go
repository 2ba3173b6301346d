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
