// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rowfilter

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake/predicate"
)

// TestExactlyTheWantedRowsAreKept compares predicates that [Exact] takes with what
// they mean row by row.
func TestExactlyTheWantedRowsAreKept(t *testing.T) {
	kept, total, told := 0, 0, 0
	for seed := range uint64(6000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		given := random(rng, rng.IntN(60))
		var where predicate.And
		for range 1 + rng.IntN(3) {
			where = append(where, randomPredicate(rng, given, rng.IntN(3)))
		}
		if !CanTell(where, schema) {
			continue
		}
		told++
		given.Retain()
		rows, err := Exact(&source{batches: []arrow.RecordBatch{given}}, where).Scan(t.Context(), storage.ScanOptions{})
		require.NoError(t, err)
		var came, want []string
		b, err := rows.Next(t.Context())
		if !errors.Is(err, io.EOF) {
			require.NoError(t, err)
			came = texts(b)
			b.Release()
		}
		for i, text := range texts(given) {
			if predicate.Holds(where, func(c int) any { return value(given.Column(c), i) }) {
				want = append(want, text)
			}
		}
		require.Equal(t, want, came, "seed %d: %+v", seed, where)
		kept, total = kept+len(want), total+int(given.NumRows())
		given.Release()
	}
	t.Logf("%d predicates, %d of %d rows were kept", told, kept, total)
	require.Greater(t, told, 2000)
	require.Greater(t, kept, total/10)
	require.Less(t, kept, total/2)
}

// TestEveryComparisonIsExact holds every pair of values of every column against
// each other, and sets, ranges and what they leave out of them.
func TestEveryComparisonIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	given := random(rng, 60)
	defer given.Release()
	told := map[string]int{}
	for column, field := range schema.Fields() {
		constants := []any{}
		for i := range int(given.NumRows()) {
			if v := value(given.Column(column), i); v != nil && !slices.ContainsFunc(constants, func(c any) bool { return fmt.Sprint(c) == fmt.Sprint(v) }) {
				constants = append(constants, v)
			}
		}
		at := func(row int) predicate.Row {
			return func(c int) any { return value(given.Column(c), row) }
		}
		check := func(p predicate.Predicate) {
			if !CanTell(predicate.And{p}, schema) {
				return
			}
			told[field.Name]++
			want := []int32{}
			for i := range int(given.NumRows()) {
				if predicate.Holds(p, at(i)) {
					want = append(want, int32(i))
				}
			}
			f := compile(p, schema, everyColumn())
			numbers := everyRow(int(given.NumRows()))
			got := slices.Clone(f.narrow(given, *numbers))
			spare.Put(numbers)
			require.True(t, slices.Equal(want, got), "%s: %+v\nwant %v\ngot  %v", field.Name, p, want, got)
			if none(f, given) {
				require.Empty(t, want, "%s: %+v", field.Name, p)
			}
		}
		for _, a := range constants {
			for op := predicate.Equal; op <= predicate.GreaterOrEqual; op++ {
				one := predicate.Compare{Column: column, Op: op, Value: a}
				check(one)
				for _, b := range constants {
					for other := predicate.Equal; other <= predicate.GreaterOrEqual; other++ {
						two := predicate.Compare{Column: column, Op: other, Value: b}
						check(predicate.And{one, two})
						check(predicate.Or{one, two})
					}
				}
			}
			for _, b := range constants {
				check(predicate.In{Column: column, Values: []any{a, b}})
				check(predicate.And{predicate.In{Column: column, Values: []any{a, b}}, predicate.Compare{Column: column, Op: predicate.Greater, Value: a}})
			}
		}
	}
	for _, field := range schema.Fields() {
		compared := field.Name != "list" && field.Name != "hash" && field.Name != "vector"
		require.Equal(t, compared, told[field.Name] > 100, "%s: %d", field.Name, told[field.Name])
	}
}

func TestWhatCannotBeTold(t *testing.T) {
	less := predicate.Compare{Column: 1, Op: predicate.Less, Value: int64(3)}
	require.True(t, CanTell(nil, schema))
	for _, p := range []predicate.Predicate{
		less,
		predicate.And{less, less},
		predicate.Or{less, predicate.Null{Column: 9}},
		predicate.Or{},
		predicate.And{},
		predicate.NotNull{Column: 11},
		predicate.In{Column: 1, Values: []any{int64(1)}},
		predicate.Compare{Column: 6, Op: predicate.Equal, Value: big.NewInt(150)},
		predicate.Compare{Column: 4, Op: predicate.NotEqual, Value: math.NaN()},
	} {
		require.True(t, CanTell(predicate.And{less, p}, schema), "%+v", p)
	}
	for _, p := range []predicate.Predicate{
		predicate.Compare{Column: 1, Op: predicate.Equal, Value: "3"},
		predicate.Compare{Column: 1, Op: predicate.Equal, Value: 3.0},
		predicate.Compare{Column: 1, Op: predicate.Equal, Value: nil},
		predicate.Compare{Column: 1, Op: 0, Value: int64(3)},
		predicate.Compare{Column: 1, Op: predicate.GreaterOrEqual + 1, Value: int64(3)},
		predicate.Compare{Column: 3, Op: predicate.Equal, Value: int64(3)},
		predicate.Compare{Column: 4, Op: predicate.Equal, Value: int64(1)},
		predicate.Compare{Column: 6, Op: predicate.Equal, Value: huge},
		predicate.Compare{Column: 7, Op: predicate.Equal, Value: int64(1)},
		predicate.Compare{Column: 9, Op: predicate.Equal, Value: int64(1)},
		predicate.In{Column: 1},
		predicate.In{Column: 1, Values: []any{int64(1), 1.0}},
		predicate.Or{less, predicate.In{Column: 9, Values: []any{int64(1)}}},
		nil,
	} {
		require.False(t, CanTell(predicate.And{less, p}, schema), "%+v", p)
	}
}

// TestExactKeepsRowsOfEveryColumnApart: columns that are put together of slices
// have no bound on these.
func TestExactKeepsRowsOfEveryColumnApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	b := random(rng, 8*maxRuns)
	where := predicate.And{predicate.Compare{Column: 2, Op: predicate.Equal, Value: int64(1)}}
	rows, err := Exact(&source{batches: []arrow.RecordBatch{b}}, where).Scan(t.Context(), storage.ScanOptions{})
	require.NoError(t, err)
	got, err := rows.Next(t.Context())
	require.NoError(t, err)
	defer got.Release()
	require.Greater(t, got.NumRows(), int64(maxRuns/2))
	require.Less(t, got.NumRows(), int64(2*maxRuns))
	for i := range int(got.NumRows()) {
		require.EqualValues(t, 1, value(got.Column(2), i))
	}
}

// TestNoneIsCertain compares what is said without a list of rows with the list.
func TestNoneIsCertain(t *testing.T) {
	said := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		given := random(rng, rng.IntN(6))
		f := compile(randomPredicate(rng, given, 1), schema, everyColumn())
		if f != nil && none(f, given) {
			said++
			numbers := everyRow(int(given.NumRows()))
			require.Empty(t, f.narrow(given, *numbers), "seed %d", seed)
		}
		given.Release()
	}
	require.Greater(t, said, 100)
}

func everyColumn() (out []int) {
	for i := range schema.NumFields() {
		out = append(out, i)
	}
	return out
}

func BenchmarkNone(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	batch := random(rng, 8192)
	defer batch.Release()
	f := compile(predicate.Compare{Column: 1, Op: predicate.Equal, Value: int64(99)}, schema, everyColumn())
	b.SetBytes(8 * 8192)
	for b.Loop() {
		if !none(f, batch) {
			b.Fatal("there is one")
		}
	}
}

// BenchmarkConditions is what a condition costs on a batch of which it keeps
// some rows.
func BenchmarkConditions(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	batch := random(rng, 65_536)
	defer batch.Release()
	for name, p := range map[string]predicate.Predicate{
		"integers": predicate.Compare{Column: 1, Op: predicate.Less, Value: int64(1)},
		"floats":   predicate.Compare{Column: 4, Op: predicate.Less, Value: 1.0},
		"unequal":  predicate.Compare{Column: 1, Op: predicate.NotEqual, Value: int64(1)},
		"texts":    predicate.Compare{Column: 7, Op: predicate.Less, Value: "b"},
		"set":      predicate.In{Column: 7, Values: []any{"a", "ba"}},
		"or":       predicate.Or{predicate.Compare{Column: 1, Op: predicate.Less, Value: int64(-1)}, predicate.Null{Column: 4}},
	} {
		b.Run(name, func(b *testing.B) {
			f := compile(p, schema, everyColumn())
			for b.Loop() {
				numbers := everyRow(65_536)
				f.narrow(batch, *numbers)
				spare.Put(numbers)
			}
		})
	}
}
