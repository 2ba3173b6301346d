// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/lake"
)

// CheckNulls fails with [lake.Invalid], naming the column path, when a field of
// the schema that is not nullable holds a null in the batch. Nested fields
// count where everything around them is there: under a null struct or list
// there is no value to be null. The batch must have the schema's types.
func CheckNulls(schema *arrow.Schema, batch arrow.RecordBatch) error {
	for i, f := range schema.Fields() {
		if err := checkNulls(f.Name, f, batch.Column(i), nil); err != nil {
			return err
		}
	}
	return nil
}

// checkNulls looks at the positions of arr that present says are there; nil
// means all. Columns without any null cost only their counts.
func checkNulls(path string, f arrow.Field, arr arrow.Array, present []bool) error {
	if !f.Nullable && arr.NullN() > 0 {
		if n := countNulls(arr, present); n > 0 {
			return lake.Errorf(lake.Invalid, "column %s holds %d nulls and is not nullable", path, n)
		}
	}
	switch x := arr.(type) {
	case *array.Struct:
		return checkStruct(path, x, present)
	case array.ListLike:
		item := f.Type.(arrow.ListLikeType).ElemField()
		if !suspicious(item, x.ListValues()) {
			return nil
		}
		return checkNulls(path+"."+item.Name, item, x.ListValues(), presentItems(x, present))
	}
	return nil
}

func checkStruct(path string, x *array.Struct, present []bool) error {
	var inside []bool // built when it is needed
	for i, f := range x.DataType().(*arrow.StructType).Fields() {
		if !suspicious(f, x.Field(i)) {
			continue
		}
		if inside == nil {
			inside = make([]bool, x.Len())
			for j := range inside {
				inside[j] = x.IsValid(j) && (present == nil || present[j])
			}
		}
		if err := checkNulls(path+"."+f.Name, f, x.Field(i), inside); err != nil {
			return err
		}
	}
	return nil
}

// presentItems says which items belong to a list that is there.
func presentItems(x array.ListLike, present []bool) []bool {
	out := make([]bool, x.ListValues().Len())
	for i := range x.Len() {
		if x.IsNull(i) || present != nil && !present[i] {
			continue
		}
		start, end := x.ValueOffsets(i)
		for j := start; j < end; j++ {
			out[j] = true
		}
	}
	return out
}

// suspicious reports whether a field that is not nullable, here or below, has
// nulls at all.
func suspicious(f arrow.Field, arr arrow.Array) bool {
	if !f.Nullable && arr.NullN() > 0 {
		return true
	}
	switch x := arr.(type) {
	case *array.Struct:
		for i, c := range x.DataType().(*arrow.StructType).Fields() {
			if suspicious(c, x.Field(i)) {
				return true
			}
		}
	case array.ListLike:
		return suspicious(f.Type.(arrow.ListLikeType).ElemField(), x.ListValues())
	}
	return false
}

func countNulls(arr arrow.Array, present []bool) int {
	if present == nil {
		return arr.NullN()
	}
	n := 0
	for i := range arr.Len() {
		if present[i] && arr.IsNull(i) {
			n++
		}
	}
	return n
}
