// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rowfilter

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake/predicate"
)

// TestExactlyTheWantedRowsAreKept compares conjunctions that [Exact] takes with
// what they mean row by row.
func TestExactlyTheWantedRowsAreKept(t *testing.T) {
	kept, total, told := 0, 0, 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		given := random(rng, rng.IntN(60))
		var where predicate.And
		for range 1 + rng.IntN(3) {
			where = append(where, randomPredicate(rng, given, 0))
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
	require.Greater(t, told, 100)
	require.Greater(t, kept, total/10)
}

func TestWhatCannotBeTold(t *testing.T) {
	ok := predicate.Compare{Column: 1, Op: predicate.Less, Value: int64(3)}
	require.True(t, CanTell(predicate.And{ok, ok}, schema))
	require.True(t, CanTell(nil, schema))
	for _, p := range []predicate.Predicate{
		predicate.Compare{Column: 1, Op: predicate.NotEqual, Value: int64(3)},
		predicate.Compare{Column: 1, Op: predicate.Less, Value: int64(math.MinInt64)},
		predicate.Compare{Column: 1, Op: predicate.Greater, Value: int64(math.MaxInt64)},
		predicate.Compare{Column: 1, Op: predicate.Equal, Value: "3"},
		predicate.Compare{Column: 3, Op: predicate.Equal, Value: int64(3)},
		predicate.Compare{Column: 4, Op: predicate.Equal, Value: 1.5},
		predicate.Compare{Column: 7, Op: predicate.Less, Value: "b"},
		predicate.Compare{Column: 7, Op: predicate.Equal, Value: int64(1)},
		predicate.Compare{Column: 9, Op: predicate.Equal, Value: int64(1)},
		predicate.Null{Column: 1},
		predicate.In{Column: 1, Values: []any{int64(1)}},
		predicate.And{ok},
		predicate.Or{ok},
	} {
		require.False(t, CanTell(predicate.And{ok, p}, schema), "%+v", p)
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
