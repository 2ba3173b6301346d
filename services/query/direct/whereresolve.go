// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake/predicate"
	"github.com/lakeplane/lake/services/query/literal"
)

// resolveWhere is the conditions over the columns of a table. ok is false where
// it is not certain what SQL would compare.
func (s *Statement) resolveWhere(table *arrow.Schema, params arrow.RecordBatch) (where predicate.And, ok bool) {
	return resolveAll(s.Where, table, params)
}

func resolveAll(conditions []Condition, table *arrow.Schema, params arrow.RecordBatch) (all predicate.And, ok bool) {
	for _, c := range conditions {
		p, ok := c.resolve(table, params)
		if !ok {
			return nil, false
		}
		all = append(all, p)
	}
	return all, true
}

func (c Condition) resolve(table *arrow.Schema, params arrow.RecordBatch) (p predicate.Predicate, ok bool) {
	if c.Test == All || c.Test == Any {
		parts, ok := resolveAll(c.Parts, table, params)
		if c.Test == Any {
			return predicate.Or(parts), ok
		}
		return parts, ok
	}
	column, ok := columnNamed(table, c.Column)
	if !ok {
		return nil, false
	}
	dt := table.Field(column).Type
	switch c.Test {
	case Null:
		return predicate.Null{Column: column}, inSQL(dt) || dt.ID() == arrow.DECIMAL128
	case NotNull:
		return predicate.NotNull{Column: column}, inSQL(dt) || dt.ID() == arrow.DECIMAL128
	}
	values, ok := bind(c.Values, dt, params)
	if !ok {
		return nil, false
	}
	spots, ok := spotsOf(values, dt)
	if !ok {
		return nil, false
	}
	return c.Test.of(column, spots), true
}

// of is the test as a predicate.
func (t Test) of(column int, spots []spot) predicate.Predicate {
	switch t {
	case Between:
		return predicate.And{spots[0].compare(column, predicate.GreaterOrEqual), spots[1].compare(column, predicate.LessOrEqual)}
	case NotBetween:
		return predicate.Or{spots[0].compare(column, predicate.Less), spots[1].compare(column, predicate.Greater)}
	case In:
		return oneOf(column, spots)
	case NotIn:
		none := predicate.And{}
		for _, s := range spots {
			none = append(none, s.compare(column, predicate.NotEqual))
		}
		return none
	}
	return spots[0].compare(column, predicate.Op(t))
}

func oneOf(column int, spots []spot) predicate.Predicate {
	in := predicate.In{Column: column}
	for _, s := range spots {
		if s.exact {
			in.Values = append(in.Values, s.value)
		}
	}
	if len(in.Values) == 0 {
		return predicate.Or{} // which holds for no row
	}
	return in
}

// spot is where a constant lies among the values of a column, as predicates have
// them: at one or, if it is not exact, above it and below the next.
type spot struct {
	value any
	exact bool
}

// compare is what has to hold of a column that compares with the constant.
func (s spot) compare(column int, op predicate.Op) predicate.Predicate {
	if !s.exact {
		switch op {
		case predicate.Equal:
			return predicate.Or{}
		case predicate.NotEqual:
			return predicate.NotNull{Column: column}
		case predicate.Less:
			op = predicate.LessOrEqual
		case predicate.GreaterOrEqual:
			op = predicate.Greater
		}
	}
	return predicate.Compare{Column: column, Op: op, Value: s.value}
}

// spotsOf are those of constants that SQL compares a column with at once, for
// which it makes all of them one type.
func spotsOf(values []literal.Value, dt arrow.DataType) (spots []spot, ok bool) {
	numbers := make([]literal.Number, 0, len(values))
	for _, v := range values {
		s, ok := spot{}, false
		switch v := v.(type) {
		case literal.Number:
			numbers = append(numbers, v)
			continue
		case literal.Text:
			s, ok = spotOfText(v, dt)
		case literal.Moment:
			s, ok = spotOfMoment(v.At, dt)
		case literal.Boolean:
			s, ok = spotOfBoolean(bool(v)), dt.ID() == arrow.BOOL
		}
		if !ok {
			return nil, false
		}
		spots = append(spots, s)
	}
	if len(numbers) == 0 {
		return spots, true
	}
	of, ok := spotsOfNumbers(numbers, dt)
	return slices.Concat(spots, of), ok && len(spots) == 0
}

func spotOfBoolean(b bool) spot {
	if b {
		return spot{int64(1), true}
	}
	return spot{int64(0), true}
}

func spotOfText(t literal.Text, dt arrow.DataType) (spot, bool) {
	if isText(dt) {
		return spot{t.Value, true}, t.As == "" || t.As == "VARCHAR"
	}
	return spotOfClock(t, dt)
}

func isText(dt arrow.DataType) bool { return dt.ID() == arrow.STRING || dt.ID() == arrow.LARGE_STRING }
