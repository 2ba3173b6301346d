// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
)

// Batch returns the keys and then the aggregates, a row for each group, in no
// order, under a schema of the types of the keys' columns and of [Func.Type].
// Without keys there is exactly one row, also when no row was added. A text that
// is not UTF-8 is lake.Corrupt.
func (f *Fold) Batch(schema *arrow.Schema) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, 0, len(f.keys)+len(f.outputs))
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	if want := cap(columns); schema.NumFields() != want {
		return nil, lake.Errorf(lake.Invalid, "a result of %d columns, not %d", schema.NumFields(), want)
	}
	for i, numbers := range f.keyNumbers() {
		a, err := f.keys[i].array(f.schema.Field(f.spec.Keys[i]).Type, numbers)
		if err != nil {
			return nil, f.damaged(f.spec.Keys[i], err)
		}
		columns = append(columns, a)
	}
	for i, o := range f.outputs {
		a, err := f.output(o)
		if err != nil {
			return nil, f.damaged(f.spec.Aggregates[i].Column, err)
		}
		columns = append(columns, a)
	}
	for i, c := range columns {
		if !arrow.TypeEqual(c.DataType(), schema.Field(i).Type) {
			return nil, lake.Errorf(lake.Invalid, "column %s of the result is %s", schema.Field(i).Name, c.DataType())
		}
	}
	return array.NewRecordBatch(schema, columns, int64(f.groups)), nil
}

func (f *Fold) output(o output) (arrow.Array, error) {
	if o.part == nil {
		counts := array.NewInt64Builder(memory.DefaultAllocator)
		defer counts.Release()
		counts.Reserve(f.groups)
		for k := 1; k <= f.groups; k++ {
			counts.UnsafeAppend(o.rows.of(k))
		}
		return counts.NewArray(), nil
	}
	dt, _ := o.f.Type(f.schema.Field(o.part.of.column).Type)
	return o.part.result(o.f, dt, f.groups, o.rows)
}
