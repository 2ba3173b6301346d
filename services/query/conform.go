// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/lake"
)

// conform returns the batch under the table's registered schema. Columns are
// matched by name, in any order; types must be equal; nullability may differ
// as long as no null meets a column without nulls. Drivers send every column
// as nullable and without metadata, so demanding equal fields would refuse
// them all. The caller releases the result.
func conform(rec arrow.RecordBatch, schema *arrow.Schema) (arrow.RecordBatch, error) {
	if int(rec.NumCols()) != schema.NumFields() {
		return nil, lake.Errorf(lake.Invalid, "ingest: %d columns, and the table has %d", rec.NumCols(), schema.NumFields())
	}
	columns := make([]arrow.Array, schema.NumFields())
	for i, want := range schema.Fields() {
		at := rec.Schema().FieldIndices(want.Name)
		switch len(at) {
		case 0:
			return nil, lake.Errorf(lake.Invalid, "ingest: the rows lack column %q of the table", want.Name)
		case 1:
		default:
			return nil, lake.Errorf(lake.Invalid, "ingest: the rows have column %q %d times", want.Name, len(at))
		}
		col := rec.Column(at[0])
		if !arrow.TypeEqual(col.DataType(), want.Type) {
			return nil, lake.Errorf(lake.Invalid, "ingest: column %q has type %s, and in the table %s", want.Name, col.DataType(), want.Type)
		}
		if !want.Nullable && col.NullN() > 0 {
			return nil, lake.Errorf(lake.Invalid, "ingest: column %q has nulls, and none are allowed in the table", want.Name)
		}
		columns[i] = col
	}
	return array.NewRecordBatch(schema, columns, rec.NumRows()), nil
}
