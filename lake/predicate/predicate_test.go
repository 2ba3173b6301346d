// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package predicate_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/lake/predicate"
)

func TestPossible(t *testing.T) {
	ints := predicate.Stats{Rows: 10, Nulls: 2, Min: int64(5), Max: int64(9)}
	one := predicate.Stats{Rows: 10, Min: int64(7), Max: int64(7)}
	nulls := predicate.Stats{Rows: 10, Nulls: 10}
	text := predicate.Stats{Rows: 10, Min: "b"} // no upper bound
	nan := predicate.Stats{Rows: 10, Min: 1.0, Max: math.NaN()}
	money := predicate.Stats{Rows: 10, Min: big.NewInt(100), Max: big.NewInt(200)}
	compare := func(op predicate.Op, v any) predicate.Predicate { return predicate.Compare{Op: op, Value: v} }
	cases := []struct {
		name  string
		stats predicate.Stats
		p     predicate.Predicate
		want  bool
	}{
		{"equal below", ints, compare(predicate.Equal, int64(4)), false},
		{"equal at the edge", ints, compare(predicate.Equal, int64(5)), true},
		{"equal above", ints, compare(predicate.Equal, int64(10)), false},
		{"less than all", ints, compare(predicate.Less, int64(5)), false},
		{"at most the smallest", ints, compare(predicate.LessOrEqual, int64(5)), true},
		{"more than all", ints, compare(predicate.Greater, int64(9)), false},
		{"at least the largest", ints, compare(predicate.GreaterOrEqual, int64(9)), true},
		{"other than one of several", ints, compare(predicate.NotEqual, int64(5)), true},
		{"other than the only one", one, compare(predicate.NotEqual, int64(7)), false},
		{"a constant of another type", ints, compare(predicate.Equal, 4.0), true},
		{"nothing but nulls", nulls, compare(predicate.NotEqual, int64(7)), false},
		{"null among nulls", nulls, predicate.Null{}, true},
		{"null among values", one, predicate.Null{}, false},
		{"null among both", ints, predicate.Null{}, true},
		{"not null among nulls", nulls, predicate.NotNull{}, false},
		{"not null among values", ints, predicate.NotNull{}, true},
		{"without an upper bound", text, compare(predicate.Equal, "zz"), true},
		{"without an upper bound, below", text, compare(predicate.Equal, "a"), false},
		{"NaN is above", nan, compare(predicate.Greater, 1e300), true},
		{"NaN is not below", nan, compare(predicate.Less, 1.0), false},
		{"negative zero", predicate.Stats{Rows: 1, Min: math.Copysign(0, -1), Max: math.Copysign(0, -1)}, compare(predicate.Equal, 0.0), true},
		{"decimal", money, compare(predicate.Equal, big.NewInt(99)), false},
		{"decimal within", money, compare(predicate.Equal, big.NewInt(150)), true},
		{"in none", ints, predicate.In{Values: []any{int64(1), int64(12)}}, false},
		{"in one", ints, predicate.In{Values: []any{int64(1), int64(6)}}, true},
		{"and", ints, predicate.And{compare(predicate.Greater, int64(1)), compare(predicate.Less, int64(2))}, false},
		{"or", ints, predicate.Or{compare(predicate.Greater, int64(100)), compare(predicate.Less, int64(6))}, true},
		{"or of none", ints, predicate.Or{}, false},
		{"and of none", ints, predicate.And{}, true},
		{"no condition", nulls, nil, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, predicate.Possible(c.p, func(int) (predicate.Stats, bool) { return c.stats, true }))
			require.True(t, predicate.Possible(c.p, func(int) (predicate.Stats, bool) { return predicate.Stats{}, false }) ||
				c.name == "or of none", "nothing known rules nothing out")
		})
	}
}

func TestColumns(t *testing.T) {
	p := predicate.And{predicate.Null{Column: 3}, predicate.Or{predicate.In{Column: 1}, predicate.NotNull{Column: 3}}, predicate.Compare{Column: 2}}
	require.Equal(t, []int{3, 1, 2}, predicate.Columns(p))
	require.Empty(t, predicate.Columns(nil))
}

// TestPossibleRulesNothingOut: whatever rows there are, when one of them is
// wanted their statistics say so.
func TestPossibleRulesNothingOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.OneOf(value(), rapid.Just[any](nil)), 1, 6).Draw(t, "rows")
		s := predicate.Stats{Rows: uint64(len(rows))}
		for _, v := range rows {
			if v == nil {
				s.Nulls++
				continue
			}
			if s.Min == nil || predicate.Holds(predicate.Compare{Op: predicate.Less, Value: s.Min}, func(int) any { return v }) {
				s.Min = v
			}
			if s.Max == nil || predicate.Holds(predicate.Compare{Op: predicate.Greater, Value: s.Max}, func(int) any { return v }) {
				s.Max = v
			}
		}
		p := condition(2).Draw(t, "p")
		possible := predicate.Possible(p, func(int) (predicate.Stats, bool) { return s, true })
		for _, v := range rows {
			if predicate.Holds(p, func(int) any { return v }) {
				require.True(t, possible, "%v holds for %v of %v", p, v, rows)
			}
		}
	})
}

func value() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		return rapid.SampledFrom([]any{math.NaN(), math.Inf(-1), math.Inf(1), -1.0, math.Copysign(0, -1), 0.0, 1.0, 2.5}).Draw(t, "v")
	})
}

func condition(depth int) *rapid.Generator[predicate.Predicate] {
	return rapid.Custom(func(t *rapid.T) predicate.Predicate {
		kinds := 5
		if depth == 0 {
			kinds = 3
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			return predicate.Null{}
		case 1:
			return predicate.NotNull{}
		case 2:
			return predicate.In{Values: rapid.SliceOfN(value(), 0, 3).Draw(t, "in")}
		case 3:
			return predicate.Compare{Op: predicate.Op(rapid.IntRange(1, 6).Draw(t, "op")), Value: value().Draw(t, "v")}
		case 4:
			return predicate.And(rapid.SliceOfN(condition(depth-1), 0, 3).Draw(t, "and"))
		}
		return predicate.Or(rapid.SliceOfN(condition(depth-1), 0, 3).Draw(t, "or"))
	})
}
