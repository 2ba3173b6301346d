// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"math/big"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake/predicate"
	"github.com/lakeplane/lake/services/query/literal"
	"github.com/lakeplane/lake/services/query/rowfilter"
	"github.com/lakeplane/lake/services/query/tree"
)

var whereTable = arrow.NewSchema([]arrow.Field{
	{Name: "i", Type: arrow.PrimitiveTypes.Int32},
	{Name: "u", Type: arrow.PrimitiveTypes.Uint64},
	{Name: "f", Type: arrow.PrimitiveTypes.Float32},
	{Name: "g", Type: arrow.PrimitiveTypes.Float64},
	{Name: "m", Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}},
	{Name: "ok", Type: arrow.FixedWidthTypes.Boolean},
	{Name: "t", Type: arrow.BinaryTypes.LargeString},
	{Name: "day", Type: arrow.FixedWidthTypes.Date32},
	{Name: "ms", Type: &arrow.TimestampType{Unit: arrow.Millisecond}},
	{Name: "d", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}},
	{Name: "big", Type: &arrow.Decimal128Type{Precision: 38, Scale: 10}},
}, nil)

// decimal is one as it is written with so many digits behind the point.
func decimal(unscaled, scale int64) literal.Number {
	return literal.Number{Value: new(big.Rat).SetFrac(big.NewInt(unscaled), literal.Pow10(int(scale))), Whole: 10, Fraction: int(scale)}
}

func double(v float64) literal.Number {
	return literal.Number{Value: new(big.Rat).SetFloat64(v), Float: 64}
}

// TestWhatConditionsMean over the columns of a table: nil is left to the engine.
func TestWhatConditionsMean(t *testing.T) {
	is := func(column int, op predicate.Op, v any) predicate.Predicate {
		return predicate.Compare{Column: column, Op: op, Value: v}
	}
	tenth := float64(float32(0.1))
	for _, c := range []struct {
		test   Test
		column string
		values []literal.Value
		want   predicate.Predicate
	}{
		{Less, "I", []literal.Value{decimal(5, 0)}, is(0, predicate.Less, int64(5))},
		{Less, "i", []literal.Value{decimal(-5, 1)}, is(0, predicate.LessOrEqual, int64(-1))},
		{GreaterOrEqual, "i", []literal.Value{decimal(5, 1)}, is(0, predicate.Greater, int64(0))},
		{Equal, "i", []literal.Value{decimal(5, 1)}, predicate.Or{}},
		{NotEqual, "i", []literal.Value{decimal(5, 1)}, predicate.NotNull{Column: 0}},
		{In, "i", []literal.Value{decimal(5, 1), decimal(20, 1)}, predicate.In{Column: 0, Values: []any{int64(2)}}},
		{In, "i", []literal.Value{decimal(5, 1)}, predicate.Or{}},
		{NotIn, "i", []literal.Value{decimal(5, 1), decimal(1, 0)}, predicate.And{predicate.NotNull{Column: 0}, is(0, predicate.NotEqual, int64(1))}},
		{NotBetween, "i", []literal.Value{decimal(5, 1), decimal(2, 0)}, predicate.Or{is(0, predicate.LessOrEqual, int64(0)), is(0, predicate.Greater, int64(2))}},
		{LessOrEqual, "i", []literal.Value{double(2.5)}, is(0, predicate.LessOrEqual, int64(2))},
		{LessOrEqual, "i", []literal.Value{double(1 << 53)}, nil},
		{LessOrEqual, "i", []literal.Value{decimal(5, 29)}, nil},
		{Equal, "u", []literal.Value{decimal(5, 0)}, is(1, predicate.Equal, uint64(5))},
		{Greater, "u", []literal.Value{decimal(-1, 0)}, nil},
		{Equal, "f", []literal.Value{decimal(1, 1)}, is(2, predicate.Equal, tenth)},
		{Equal, "f", []literal.Value{double(0.1)}, is(2, predicate.Equal, 0.1)},
		{Between, "f", []literal.Value{decimal(1, 1), double(1)}, predicate.And{is(2, predicate.GreaterOrEqual, 0.1), is(2, predicate.LessOrEqual, 1.0)}},
		{Equal, "f", []literal.Value{decimal(1<<24+1, 1)}, nil},
		{Equal, "f", []literal.Value{decimal(1, 11)}, nil},
		{Equal, "g", []literal.Value{decimal(1, 1)}, is(3, predicate.Equal, 0.1)},
		{Equal, "g", []literal.Value{decimal(1<<53+1, 1)}, nil},
		{Equal, "g", []literal.Value{decimal(1<<53+1, 0)}, is(3, predicate.Equal, float64(1<<53))},
		{Less, "m", []literal.Value{decimal(1505, 3)}, is(4, predicate.LessOrEqual, big.NewInt(150))},
		{Less, "m", []literal.Value{double(1.5)}, nil},
		{Less, "big", []literal.Value{decimal(15, 11)}, nil},
		{Less, "big", []literal.Value{decimal(15, 1)}, is(10, predicate.Less, big.NewInt(15_000_000_000))},
		{Equal, "ok", []literal.Value{literal.Boolean(true)}, is(5, predicate.Equal, int64(1))},
		{Equal, "i", []literal.Value{literal.Boolean(true)}, nil},
		{Less, "t", []literal.Value{literal.Text{Value: "m"}}, is(6, predicate.Less, "m")},
		{Less, "t", []literal.Value{literal.Text{Value: "m", As: "BLOB"}}, nil},
		{Less, "t", []literal.Value{decimal(1, 0)}, nil},
		{Less, "i", []literal.Value{literal.Text{Value: "1"}}, nil},
		{Less, "day", []literal.Value{literal.Text{Value: "1970-01-03"}}, is(7, predicate.Less, int64(2))},
		{Less, "day", []literal.Value{literal.Text{Value: "1970-01-03 12:00:00", As: "TIMESTAMP"}}, is(7, predicate.LessOrEqual, int64(2))},
		{Less, "day", []literal.Value{literal.Text{Value: "1970-01-03 12:00:00"}}, nil},
		{Greater, "ms", []literal.Value{literal.Text{Value: "1969-12-31 23:59:59.9995", As: "TIMESTAMP"}}, is(8, predicate.Greater, int64(-1))},
		{Equal, "ms", []literal.Value{literal.Text{Value: "1970-01-01T00:00:00.005Z"}}, is(8, predicate.Equal, int64(5))},
		{Equal, "ms", []literal.Value{literal.Text{Value: "1970-01-01T00:00:00.005+01"}}, nil},
		{Equal, "ms", []literal.Value{literal.Text{Value: "1970-01-01 00:00:00.0055"}}, nil},
		{Equal, "ms", []literal.Value{literal.Text{Value: "1970-01-01", As: "TIMESTAMP_NS"}}, nil},
		{Equal, "ms", []literal.Value{literal.Text{Value: "1970-01-01", As: "TIMESTAMP WITH TIME ZONE"}}, nil},
		{Equal, "ms", []literal.Value{decimal(5, 0)}, nil},
		{Equal, "ms", []literal.Value{literal.Placeholder(1)}, nil},
		{Null, "ms", nil, predicate.Null{Column: 8}},
		{NotNull, "m", nil, predicate.NotNull{Column: 4}},
		{NotNull, "d", nil, nil},
		{Equal, "d", []literal.Value{literal.Text{Value: "m"}}, nil},
		{Equal, "none", []literal.Value{decimal(5, 0)}, nil},
	} {
		s := &Statement{Where: []Condition{{Test: c.test, Column: c.column, Values: c.values}}}
		where, ok := s.resolveWhere(whereTable, nil)
		require.Equal(t, c.want != nil, ok, "%+v", c)
		if !ok {
			continue
		}
		require.Equal(t, predicate.And{c.want}, where, "%+v", c)
		require.True(t, rowfilter.CanTell(where, whereTable), "%+v", c)
		either := &Statement{Where: []Condition{{Test: Any, Parts: []Condition{s.Where[0], {Test: All, Parts: s.Where}}}}}
		where, ok = either.resolveWhere(whereTable, nil)
		require.True(t, ok)
		require.Equal(t, predicate.And{predicate.Or{c.want, predicate.And{c.want}}}, where)
	}
}

// TestUnknownConditionsAreNotRead: what no parser writes yet.
func TestUnknownConditionsAreNotRead(t *testing.T) {
	column := tree.Object{"class": "COLUMN_REF", "column_names": []any{"x"}}
	null := tree.Object{"class": "OPERATOR", "type": "OPERATOR_IS_NULL", "children": []any{column}}
	for _, good := range []any{
		nil, column, null,
		tree.Object{"class": "OPERATOR", "type": "OPERATOR_NOT", "children": []any{null}},
		tree.Object{"class": "CONJUNCTION", "type": "CONJUNCTION_OR", "children": []any{null, column}},
	} {
		require.True(t, reader{&Statement{}, &names{}}.readWhere(good), good)
	}
	for _, bad := range []any{
		"x",
		tree.Object{},
		tree.Object{"class": "NEW"},
		tree.Object{"class": "OPERATOR", "type": "OPERATOR_IS_NULL", "children": []any{column, column}},
		tree.Object{"class": "OPERATOR", "type": "OPERATOR_IS_NULL", "children": []any{}},
		tree.Object{"class": "OPERATOR", "type": "OPERATOR_IS_NULL", "children": []any{column}, "new": "x"},
		tree.Object{"class": "OPERATOR", "type": "OPERATOR_NOT", "children": []any{null, null}},
		tree.Object{"class": "OPERATOR", "type": "OPERATOR_NEW", "children": []any{column}},
		tree.Object{"class": "OPERATOR", "type": "COMPARE_IN", "children": []any{column}},
		tree.Object{"class": "OPERATOR", "type": "COMPARE_NOT_IN", "children": []any{column}},
		tree.Object{"class": "CONJUNCTION", "type": "CONJUNCTION_XOR", "children": []any{null, column}},
		tree.Object{"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "children": []any{}},
		tree.Object{"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "children": []any{null, nil}},
		tree.Object{"class": "BETWEEN", "type": "COMPARE_NEW", "input": column, "lower": column, "upper": column},
		tree.Object{"class": "COMPARISON", "type": "COMPARE_NEW", "left": column, "right": column},
	} {
		require.False(t, reader{&Statement{}, &names{}}.readWhere(bad), "%v", bad)
	}
}
