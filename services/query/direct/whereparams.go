// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// parameters are the placeholders, each of its column's type.
func (s *Statement) parameters(table *arrow.Schema) (*arrow.Schema, bool) {
	var fields []arrow.Field
	for _, c := range s.Where {
		if c.Parameter == 0 {
			continue
		}
		column, ok := columnNamed(table, c.Column)
		if !ok || c.Parameter > len(s.Where) {
			return nil, false
		}
		for len(fields) < c.Parameter {
			fields = append(fields, arrow.Field{Nullable: true})
		}
		f := &fields[c.Parameter-1]
		if f.Type != nil {
			return nil, false // it stands in two places, which both have a say
		}
		f.Name, f.Type = strconv.Itoa(c.Parameter), table.Field(column).Type
	}
	for _, f := range fields {
		if f.Type == nil || !wholeNumbers(f.Type) && f.Type.ID() != arrow.STRING {
			return nil, false
		}
	}
	return arrow.NewSchema(fields, nil), true
}

// parameter is the value of a placeholder. One that is compared with a narrow
// integer would be made one: only 64 bits hold any number.
func parameter(params arrow.RecordBatch, number int, column arrow.DataType) (any, bool) {
	if params == nil || int64(number) > params.NumCols() || params.Column(number-1).IsNull(0) {
		return nil, false
	}
	switch a := params.Column(number - 1).(type) {
	case *array.Int64:
		return a.Value(0), column.ID() == arrow.INT64
	case *array.Int32:
		return int64(a.Value(0)), column.ID() == arrow.INT64
	case *array.String:
		return a.Value(0), true
	}
	return nil, false
}
