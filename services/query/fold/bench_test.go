// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/services/query/fold"
)

// The columns of the rows that are measured.
const (
	benchInt8 = iota
	benchInt32
	benchName // ~50 names
	benchReal
	benchInt64
	benchText // ~12 bytes
	benchHoles
	benchYes
	benchLong // ~50 names of more than 16 bytes
	benchRuns // as benchName, in runs
	benchMany // 50,000 values, far apart
)

// benchRows are 5 M rows in batches of a size that scans deliver.
func benchRows(t testing.TB) input {
	t.Helper()
	const rows, batch = 5_000_000, 64 << 10
	field := func(name string, dt arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: dt, Nullable: true}
	}
	in := input{schema: arrow.NewSchema([]arrow.Field{
		field("small", arrow.PrimitiveTypes.Int8), field("int", arrow.PrimitiveTypes.Int32), field("name", arrow.BinaryTypes.String),
		field("real", arrow.PrimitiveTypes.Float64), field("id", arrow.PrimitiveTypes.Int64), field("text", arrow.BinaryTypes.String),
		field("holes", arrow.PrimitiveTypes.Float64), field("yes", arrow.FixedWidthTypes.Boolean), field("long", arrow.BinaryTypes.String),
		field("runs", arrow.BinaryTypes.String), field("many", arrow.PrimitiveTypes.Int64),
	}, nil)}
	r := rand.New(rand.NewPCG(1, 2))
	names := make([]string, 50)
	for i := range names {
		names[i] = fmt.Sprintf("robot-%d", i*37)
	}
	for from := 0; from < rows; from += batch {
		rb := array.NewRecordBuilder(memory.DefaultAllocator, in.schema)
		for i := from; i < min(from+batch, rows); i++ {
			k := r.IntN(100)
			rb.Field(benchInt8).(*array.Int8Builder).Append(int8(k))
			rb.Field(benchInt32).(*array.Int32Builder).Append(int32(k) * 7)
			rb.Field(benchName).(*array.StringBuilder).Append(names[k%50])
			rb.Field(benchReal).(*array.Float64Builder).Append(r.NormFloat64()*10 + 1000)
			rb.Field(benchInt64).(*array.Int64Builder).Append(int64(i))
			rb.Field(benchText).(*array.StringBuilder).Append(fmt.Sprintf("item-%07d", r.IntN(10_000_000)))
			if r.IntN(10) == 0 {
				rb.Field(benchHoles).AppendNull()
			} else {
				rb.Field(benchHoles).(*array.Float64Builder).Append(r.Float64())
			}
			rb.Field(benchYes).(*array.BooleanBuilder).Append(r.IntN(2) == 0)
			rb.Field(benchLong).(*array.StringBuilder).Append("warehouse/north/" + names[k%50])
			rb.Field(benchRuns).(*array.StringBuilder).Append(names[i/1000%50])
			rb.Field(benchMany).(*array.Int64Builder).Append(int64(r.IntN(50_000)) * 1_000_003)
		}
		in.batches = append(in.batches, rb.NewRecordBatch())
	}
	return in
}

// cpuTime is what the process has used so far, in user and system mode.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measured are the specs that are measured, by what they are about.
func measured() []struct {
	name string
	spec fold.Spec
} {
	of := func(f fold.Func, column int) fold.Aggregate {
		return fold.Aggregate{Func: f, Column: column, Filter: -1}
	}
	three := []fold.Aggregate{of(fold.CountRows, 0), of(fold.Avg, benchReal), of(fold.Sum, benchInt64)}
	return []struct {
		name string
		spec fold.Spec
	}{
		{"sum/float64", fold.Spec{Aggregates: []fold.Aggregate{of(fold.Sum, benchReal)}}},
		{"sum/int64", fold.Spec{Aggregates: []fold.Aggregate{of(fold.Sum, benchInt64)}}},
		{"sum/int32", fold.Spec{Aggregates: []fold.Aggregate{of(fold.Sum, benchInt32)}}},
		{"sum/nulls", fold.Spec{Aggregates: []fold.Aggregate{of(fold.Sum, benchHoles)}}},
		{"sum/filter", fold.Spec{Aggregates: []fold.Aggregate{{Func: fold.Sum, Column: benchReal, Filter: benchYes}}}},
		{"max/float64", fold.Spec{Aggregates: []fold.Aggregate{of(fold.Max, benchReal)}}},
		{"max/text", fold.Spec{Aggregates: []fold.Aggregate{of(fold.Max, benchText)}}},
		{"stddev", fold.Spec{Aggregates: []fold.Aggregate{of(fold.StddevSamp, benchReal)}}},
		{"by/int8", fold.Spec{Keys: []int{benchInt8}, Aggregates: three}},
		{"by/int32", fold.Spec{Keys: []int{benchInt32}, Aggregates: three}},
		{"by/many", fold.Spec{Keys: []int{benchMany}, Aggregates: three}},
		{"by/text", fold.Spec{Keys: []int{benchName}, Aggregates: three}},
		{"by/longtext", fold.Spec{Keys: []int{benchLong}, Aggregates: three}},
		{"by/runs", fold.Spec{Keys: []int{benchRuns}, Aggregates: three}},
		{"by/runs/stddev", fold.Spec{Keys: []int{benchRuns}, Aggregates: []fold.Aggregate{of(fold.StddevSamp, benchReal), of(fold.Min, benchHoles)}}},
		{"by/text,int8", fold.Spec{Keys: []int{benchName, benchInt8}, Aggregates: three}},
		{"by/text/filter", fold.Spec{Keys: []int{benchName}, Aggregates: []fold.Aggregate{{Func: fold.Sum, Column: benchReal, Filter: benchYes}, of(fold.Sum, benchHoles)}}},
		{"by/text/stddev", fold.Spec{Keys: []int{benchName}, Aggregates: []fold.Aggregate{of(fold.StddevSamp, benchReal)}}},
		{"by/text/max", fold.Spec{Keys: []int{benchName}, Aggregates: []fold.Aggregate{of(fold.Max, benchText), of(fold.Min, benchReal)}}},
	}
}

// BenchmarkFold folds 5 M rows. What counts is the processor's time, the median
// and the least of all runs.
func BenchmarkFold(b *testing.B) {
	in := benchRows(b)
	for _, c := range measured() {
		b.Run(c.name, func(b *testing.B) {
			var used []time.Duration
			for b.Loop() {
				before := cpuTime(b)
				_, err := in.fold(b, c.spec, 1)
				require.NoError(b, err)
				used = append(used, cpuTime(b)-before)
			}
			slices.Sort(used)
			b.ReportMetric(float64(used[len(used)/2].Microseconds())/1000, "cpu-ms/op")
			b.ReportMetric(float64(used[0].Microseconds())/1000, "least-cpu-ms/op")
		})
	}
}

// TestSpeed compares with the engine, which is handed the same batches, in one
// run on one machine. It is asked for by name:
//
//	LAKE_SPEED=1 go test -run TestSpeed -v ./services/query/fold
func TestSpeed(t *testing.T) {
	if os.Getenv("LAKE_SPEED") == "" {
		t.Skip("set LAKE_SPEED=1 to run: it needs a quiet machine and a minute")
	}
	e, in := newEngine(t), benchRows(t)
	for _, c := range measured() {
		var own, peer []time.Duration
		for range 5 {
			before := cpuTime(t)
			_, err := in.fold(t, c.spec, 1)
			require.NoError(t, err)
			between := cpuTime(t)
			_, err = in.ask(e, c.spec)
			require.NoError(t, err)
			own, peer = append(own, between-before), append(peer, cpuTime(t)-between)
		}
		slices.Sort(own)
		slices.Sort(peer)
		ratio := float64(own[2]) / float64(peer[2])
		t.Logf("%-16s fold %6.1f ms  engine %6.1f ms (%.2fx)", c.name, own[2].Seconds()*1000, peer[2].Seconds()*1000, ratio)
		require.Less(t, ratio, 1.0, "%s: the engine is faster", c.name)
	}
}
