// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/literal"
)

// parameters are the placeholders, each of the type that SQL has for its column.
func (s *Statement) parameters(table *arrow.Schema) (*arrow.Schema, bool) {
	p := placeholders{table: table, types: map[int]arrow.DataType{}}
	if !p.all(s.Where) {
		return nil, false
	}
	fields := make([]arrow.Field, len(p.types))
	for number, dt := range p.types {
		if number > len(fields) {
			return nil, false
		}
		fields[number-1] = arrow.Field{Name: strconv.Itoa(number), Type: dt, Nullable: true}
	}
	return arrow.NewSchema(fields, nil), true
}

// placeholders are those of conditions, and their types.
type placeholders struct {
	table *arrow.Schema
	types map[int]arrow.DataType
}

func (p placeholders) all(conditions []Condition) bool {
	return !slices.ContainsFunc(conditions, func(c Condition) bool { return !p.of(c) })
}

// of takes the placeholders of a condition, and reports whether their types are
// known. A condition that has none has to be one that will be answered.
func (p placeholders) of(c Condition) bool {
	if len(c.Parts) > 0 {
		return p.all(c.Parts)
	}
	if !slices.ContainsFunc(c.Values, isPlaceholder) {
		_, ok := c.resolve(p.table, nil)
		return ok
	}
	column, ok := columnNamed(p.table, c.Column)
	if !ok {
		return false
	}
	stored := p.table.Field(column).Type
	dt, ok := parameterType(stored)
	for _, v := range c.Values {
		number, isOne := v.(literal.Placeholder)
		switch {
		case !isOne:
			ok = ok && indifferent(v, stored)
		case p.types[int(number)] != nil:
			return false // it stands in two places, which both have a say
		default:
			p.types[int(number)] = dt
		}
	}
	return ok
}

func isPlaceholder(v literal.Value) bool { _, ok := v.(literal.Placeholder); return ok }

// parameterType is the type of a placeholder that is compared with a column.
func parameterType(column arrow.DataType) (arrow.DataType, bool) {
	switch column.ID() {
	case arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT32, arrow.FLOAT64, arrow.STRING, arrow.DATE32:
		return column, true
	case arrow.LARGE_STRING:
		return arrow.BinaryTypes.String, true
	case arrow.TIMESTAMP:
		switch name, _ := timeTypeOf(column); name {
		case "TIMESTAMP_NS":
			return &arrow.TimestampType{Unit: arrow.Nanosecond}, true
		case "TIMESTAMP WITH TIME ZONE":
			return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, true
		}
		return column, true
	}
	return nil, false
}

// indifferent reports whether a constant changes nothing of the type that a
// parameter has beside it.
func indifferent(v literal.Value, column arrow.DataType) bool {
	switch v := v.(type) {
	case literal.Text:
		return isText(column)
	case literal.Number:
		return column.ID() == arrow.INT64 && v.Fraction == 0 && v.Float == 0
	}
	return false
}

// bind puts the values of parameters in the place of placeholders.
func bind(values []literal.Value, column arrow.DataType, params arrow.RecordBatch) ([]literal.Value, bool) {
	if !slices.ContainsFunc(values, isPlaceholder) {
		return values, true
	}
	out := make([]literal.Value, len(values))
	for i, v := range values {
		p, ok := v.(literal.Placeholder)
		switch {
		case !ok && !indifferent(v, column):
			return nil, false
		case !ok:
			out[i] = v
			continue
		case params == nil || int64(p) > params.NumCols() || !takes(column, params.Column(int(p)-1).DataType()):
			return nil, false
		}
		if out[i] = p.Parameter(params); out[i] == nil || out[i] == (literal.Null{}) {
			return nil, false
		}
	}
	return out, true
}

// takes reports whether SQL compares a parameter with a column as it is. One of
// another type it may make one of the column's first: only those are taken that
// lose nothing by it.
func takes(column, parameter arrow.DataType) bool {
	wanted, ok := parameterType(column)
	switch {
	case !ok:
		return false
	case isText(column):
		return isText(parameter)
	case column.ID() == arrow.INT64:
		return parameter.ID() == arrow.INT64 || parameter.ID() == arrow.INT32
	case column.ID() == arrow.FLOAT64:
		return parameter.ID() == arrow.FLOAT64 || parameter.ID() == arrow.FLOAT32 || parameter.ID() == arrow.INT64 || parameter.ID() == arrow.INT32
	}
	name, _ := timeTypeOf(column)
	other, _ := timeTypeOf(parameter)
	return name != "" && name == other || sqlengine.SameType(wanted, parameter)
}
