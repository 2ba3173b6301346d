// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/lake"
)

// convertDictionary converts the values, then puts one in each row.
func convertDictionary(a *array.Dictionary, to arrow.DataType) (arrow.Array, error) {
	values, err := convert(a.Dictionary(), to)
	if err != nil {
		return nil, err
	}
	defer values.Release()
	out := array.NewBuilder(allocator, to)
	defer out.Release()
	put := caster(values, to, out)
	if put == nil {
		return nil, lake.Errorf(lake.Invalid, "type %s is not supported", a.DataType())
	}
	out.Reserve(a.Len())
	for i := range a.Len() {
		if a.IsNull(i) {
			out.AppendNull()
			continue
		}
		at := a.GetValueIndex(i)
		if at < 0 || at >= values.Len() {
			return nil, lake.Errorf(lake.Invalid, "row %d points outside its dictionary", i)
		}
		if values.IsNull(at) {
			out.AppendNull()
		} else if !put(at) {
			return nil, lake.Errorf(lake.Invalid, "value %s does not fit %s", values.ValueStr(at), to)
		}
	}
	return out.NewArray(), nil
}
