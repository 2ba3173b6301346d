// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/services/query/fold"
)

// reference computes a spec from rows of plain values.
func reference(in input, spec fold.Spec) map[string][]any {
	groups, first := map[string][][]any{}, map[string][]any{}
	if len(spec.Keys) == 0 {
		groups["[]interface {}{}"] = nil
	}
	for _, b := range in.batches {
		for i := range int(b.NumRows()) {
			row := make([]any, b.NumCols())
			for c := range row {
				row[c] = at(b.Column(c), i)
			}
			key := make([]any, 0)
			for _, k := range spec.Keys {
				key = append(key, row[k])
			}
			name := fmt.Sprintf("%#v", key)
			groups[name], first[name] = append(groups[name], row), key
		}
	}
	out := map[string][]any{}
	for name, rows := range groups {
		out[name] = append([]any{}, first[name]...)
		for _, a := range spec.Aggregates {
			out[name] = append(out[name], aggregate(a, rows))
		}
	}
	return out
}

func aggregate(a fold.Aggregate, rows [][]any) any {
	var values []any
	for _, row := range rows {
		if a.Filter >= 0 && row[a.Filter] != true {
			continue
		}
		if a.Func == fold.CountRows || row[a.Column] != nil {
			values = append(values, row[max(a.Column, 0)])
		}
	}
	switch {
	case a.Func == fold.CountRows || a.Func == fold.Count:
		return int64(len(values))
	case len(values) == 0:
		return nil
	case a.Func == fold.Min || a.Func == fold.Max:
		best := values[0]
		for _, v := range values[1:] {
			if order := compare(v, best); order < 0 && a.Func == fold.Min || order > 0 && a.Func == fold.Max {
				best = v
			}
		}
		return best
	case a.Func == fold.Sum:
		if _, float := values[0].(float64); !float {
			sum := new(big.Int)
			for _, v := range values {
				sum.Add(sum, whole(v))
			}
			return sum
		}
	}
	return moments(a.Func, values)
}

// moments computes with so many bits that nothing is lost.
func moments(f fold.Func, values []any) any {
	real := func(v float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(v) }
	n, sum := real(float64(len(values))), real(0)
	exact := make([]*big.Float, len(values))
	for i, v := range values {
		if float, ok := v.(float64); ok {
			exact[i] = real(float)
		} else {
			exact[i] = real(0).SetInt(whole(v))
		}
		sum.Add(sum, exact[i])
	}
	out := func(v *big.Float) any { f, _ := v.Float64(); return f }
	mean := real(0).Quo(sum, n)
	switch f {
	case fold.Sum:
		return out(sum)
	case fold.Avg:
		return out(mean)
	case fold.VarSamp, fold.StddevSamp:
		if n.Sub(n, real(1)); n.Sign() == 0 {
			return nil
		}
	}
	squares := real(0)
	for _, v := range exact {
		d := real(0).Sub(v, mean)
		squares.Add(squares, d.Mul(d, d))
	}
	variance := squares.Quo(squares, n)
	if f == fold.StddevSamp || f == fold.StddevPop {
		return out(variance.Sqrt(variance))
	}
	return out(variance)
}

func whole(v any) *big.Int {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v)
	case uint64:
		return new(big.Int).SetUint64(v)
	}
	return v.(*big.Int)
}

func compare(a, b any) int {
	switch a := a.(type) {
	case bool:
		if b := b.(bool); a != b {
			if b {
				return -1
			}
			return 1
		}
		return 0
	case string:
		return strings.Compare(a, b.(string))
	case float64:
		b := b.(float64)
		switch {
		case a < b || math.IsNaN(b) && !math.IsNaN(a):
			return -1
		case a > b || math.IsNaN(a) && !math.IsNaN(b):
			return 1
		}
		return 0
	}
	return whole(a).Cmp(whole(b))
}

// randomSpec has up to three keys and any aggregates that there are for the
// columns; the last column is a filter.
func randomSpec(t *rapid.T, dts []arrow.DataType) (spec fold.Spec) {
	for range rapid.IntRange(0, 3).Draw(t, "keys") {
		if k := rapid.IntRange(0, len(dts)-1).Draw(t, "key"); fold.Groups(dts[k]) {
			spec.Keys = append(spec.Keys, k)
		}
	}
	for range rapid.IntRange(1, 8).Draw(t, "aggregates") {
		a := fold.Aggregate{
			Func: rapid.SampledFrom(functions).Draw(t, "function"), Column: rapid.IntRange(0, len(dts)-1).Draw(t, "column"),
			Filter: rapid.SampledFrom([]int{-1, -1, len(dts)}).Draw(t, "filter"),
		}
		if _, ok := a.Func.Type(dts[a.Column]); ok {
			spec.Aggregates = append(spec.Aggregates, a)
		}
	}
	return spec
}

func TestSameAsByHand(t *testing.T) {
	refused, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		dts := rapid.SliceOfN(rapid.SampledFrom(types), 1, 4).Draw(t, "types")
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 200), rapid.IntRange(0, 200), rapid.IntRange(4000, 9000)), 1, 5).Draw(t, "rows")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		in := randomInput(t, r, dts, sizes, rapid.Bool().Draw(t, "wild"), rapid.SampledFrom([]float64{0, 0.1, 0.9, 1}).Draw(t, "nulls"))
		spec := randomSpec(t, dts)
		got, err := in.fold(t, spec, rapid.IntRange(1, 3).Draw(t, "folds"))
		all++
		if errors.Is(err, fold.ErrEngine) {
			refused++
			return
		}
		require.NoError(t, err)
		requireSame(t, reference(in, spec), rows(t, len(spec.Keys), got), spec)
	})
	require.Less(t, refused*4, all, "most are answered")
}
