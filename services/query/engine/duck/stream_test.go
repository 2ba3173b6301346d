// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
)

// numbers is a table of n rows: id, a group of 0..99, a value and a text.
func numbers(n, batchRows int) *memTable {
	schema := arrow.NewSchema([]arrow.Field{
		nonNull("id", arrow.PrimitiveTypes.Int64), nonNull("grp", arrow.PrimitiveTypes.Int32),
		field("val", arrow.PrimitiveTypes.Float64), field("txt", arrow.BinaryTypes.String),
	}, nil)
	var batches []arrow.RecordBatch
	for from := 0; from < n; from += batchRows {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for i := from; i < min(n, from+batchRows); i++ {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
			b.Field(1).(*array.Int32Builder).Append(int32(i*7919) % 100)
			if i%10 == 3 {
				b.Field(2).AppendNull()
			} else {
				b.Field(2).(*array.Float64Builder).Append(float64(i%1000) / 4)
			}
			b.Field(3).(*array.StringBuilder).Append(fmt.Sprintf("episode-%09d", i))
		}
		batches = append(batches, b.NewRecordBatch())
		b.Release()
	}
	return newTable(schema, batches...)
}

func TestBatchSizes(t *testing.T) {
	e := newEngine(t, Options{Threads: 2})
	tab := numbers(300_000, 65_536)
	got, _ := ask(t, e, "SELECT id, txt FROM ns.t", "t", tab)
	require.LessOrEqual(t, got[0].NumRows(), int64(2048), "the first batch is small")
	seen := make([]bool, 300_000)
	for i, b := range got {
		require.Less(t, sizeOf(b), uint64(2<<20+64<<10))
		if i > 0 && i < len(got)-1 {
			require.GreaterOrEqual(t, b.NumRows(), int64(16_384))
		}
		for _, id := range b.Column(0).(*array.Int64).Int64Values() {
			require.False(t, seen[id])
			seen[id] = true
		}
	}
	require.NotContains(t, seen, false)
}

func sizeOf(b arrow.RecordBatch) (size uint64) {
	for _, c := range b.Columns() {
		size += c.Data().SizeInBytes()
	}
	return size
}

func TestOversizeRows(t *testing.T) {
	e := newEngine(t, Options{})
	got, _ := ask(t, e, "SELECT repeat('x', 900000) AS s FROM range(7)")
	require.Len(t, got, 4) // two fit below 2 MiB
	got, _ = ask(t, e, "SELECT repeat('x', 3000000) AS s FROM range(2)")
	require.Len(t, got, 2) // larger than a batch, smaller than a message
	got, _ = ask(t, e, "SELECT repeat('x', 4100000) AS s")
	require.Len(t, got, 1) // what bulk ingestion takes can be read
	err := e.Execute(context.Background(), engine.Request{SQL: "SELECT repeat('x', 5000000) AS s"}, discard)
	require.True(t, lake.Is(err, lake.Exhausted), "%v", err)
	require.ErrorContains(t, err, "row of 5000")
}

// A consumer that stops reading stops the scan: the engine must not run ahead
// by more than a few batches, and memory must stay bounded.
func TestBackPressure(t *testing.T) {
	e := newEngine(t, Options{Threads: 2})
	tab := numbers(2_000_000, 16_384)
	taken := 0
	enough := errors.New("enough")
	err := e.Execute(context.Background(), engine.Request{SQL: "SELECT * FROM ns.t", Tables: tables("t", tab)}, func(b arrow.RecordBatch) error {
		if taken++; taken < 3 {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
		require.Less(t, tab.served.Load(), int64(40), "batches read of %d", len(tab.batches))
		return enough
	})
	require.ErrorIs(t, err, enough)
	require.Zero(t, tab.open.Load())
}

func TestLimitEndsTheScanEarly(t *testing.T) {
	e := newEngine(t, Options{Threads: 2})
	tab := numbers(1_000_000, 4096)
	got, _ := ask(t, e, "SELECT id FROM ns.t LIMIT 10", "t", tab)
	require.EqualValues(t, 10, got[0].NumRows())
	require.Less(t, tab.served.Load(), int64(100))
	require.Zero(t, tab.open.Load())
}

func TestScansRunInParallel(t *testing.T) {
	e := newEngine(t, Options{Threads: 4})
	tab := numbers(1_000_000, 16_384)
	tab.onNext = func(context.Context, int) error { time.Sleep(time.Millisecond); return nil }
	got, _ := ask(t, e, "SELECT sum(id) FROM ns.t", "t", tab)
	require.Equal(t, []string{"499999500000"}, columnText(got, 0))
	require.Greater(t, tab.mostPulling.Load(), int64(1))
}

// A cancelled query ends within a second wherever it is, and its slot serves
// the next one.
func TestCancel(t *testing.T) {
	blocked := numbers(200_000, 16_384)
	blocked.onNext = func(ctx context.Context, i int) error {
		if i < 3 {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	for name, sql := range map[string]string{
		"in a table":    "SELECT sum(id) FROM ns.t",
		"in the engine": "SELECT count(*) FROM range(100000000000) a WHERE hash(a.range) = 1",
		"in a join":     "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 99",
		"in a stream":   "SELECT * FROM range(100000000000)",
		"in a sort":     "SELECT max(x) FROM (SELECT random() x FROM range(1000000000) ORDER BY 1)",
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, Options{Threads: 2})
			ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
			defer cancel()
			start := time.Now()
			err := e.Execute(ctx, engine.Request{SQL: sql, Tables: tables("t", blocked)}, discard)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Less(t, time.Since(start), 5*time.Second)
			require.Zero(t, blocked.open.Load())
			got, _ := ask(t, e, "SELECT 1")
			require.Len(t, got, 1)
		})
	}
}

func TestCancelBeforeASlotIsFree(t *testing.T) {
	e := newEngine(t, Options{Slots: 1})
	hold, held := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = e.Execute(context.Background(), engine.Request{SQL: "SELECT 1"}, func(arrow.RecordBatch) error {
			once.Do(func() { close(held) })
			<-hold
			return nil
		})
	})
	<-held
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := e.Plan(ctx, engine.Request{SQL: "SELECT 1"})
	require.ErrorIs(t, err, context.Canceled)
	close(hold)
	wg.Wait()
}

// A table that never answers, not even its context, costs its slot and not the
// caller.
func TestLostSlotIsReplaced(t *testing.T) {
	e := newEngine(t, Options{Threads: 1, Grace: 50 * time.Millisecond})
	tab := numbers(100, 10)
	stuck := make(chan struct{})
	tab.onNext = func(context.Context, int) error { <-stuck; return nil }
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := e.Execute(ctx, engine.Request{SQL: "SELECT * FROM ns.t", Tables: tables("t", tab)}, discard)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	got, _ := ask(t, e, "SELECT 1") // the only slot, again
	require.Len(t, got, 1)
	close(stuck)
}

func TestTableErrors(t *testing.T) {
	e := newEngine(t, Options{Threads: 2})
	broken := lake.Errorf(lake.Unavailable, "object store is down")
	for name, c := range map[string]struct {
		onNext func(context.Context, int) error
		want   string
		kind   lake.Kind
	}{
		"error":       {func(_ context.Context, i int) error { return broken }, "object store is down", lake.Unavailable},
		"late error":  {func(_ context.Context, i int) error { return onlyAt(i, 5, broken) }, "object store is down", lake.Unavailable},
		"panic":       {func(_ context.Context, i int) error { panic("a bug") }, "panic while reading a table: a bug", lake.Unknown},
		"late panic":  {func(_ context.Context, i int) error { return onlyAt(i, 5, nil) }, "panic while reading a table", lake.Unknown},
		"their abort": {func(context.Context, int) error { return context.Canceled }, "context canceled", lake.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			tab := numbers(100_000, 10_000)
			tab.onNext = c.onNext
			for _, sql := range []string{"SELECT * FROM ns.t", "SELECT sum(id) FROM ns.t", "SELECT * FROM ns.t ORDER BY val"} {
				err := e.Execute(context.Background(), engine.Request{SQL: sql, Tables: tables("t", tab)}, discard)
				require.ErrorContains(t, err, c.want)
				require.Equal(t, c.kind, lake.KindOf(err))
				require.Zero(t, tab.open.Load())
			}
		})
	}
}

func onlyAt(i, at int, err error) error {
	if i != at {
		return nil
	}
	if err == nil {
		panic("a late bug")
	}
	return err
}

func TestSQLErrors(t *testing.T) {
	e := newEngine(t, Options{Memory: 64 << 20})
	tab := numbers(100, 100)
	for _, c := range []struct {
		sql, want string
		kind      lake.Kind
	}{
		{"SELECT nope FROM ns.t", `"nope" not found in FROM clause!`, lake.Invalid},
		{"SELECT nope FROM ns.t", "at byte 7", lake.Invalid},
		{"SELEC 1", `syntax error at or near "SELEC" (at byte 0`, lake.Invalid},
		{"SELECT * FROM ns.other", "does not exist", lake.Invalid},
		{"SELECT * FROM other.t", "does not exist", lake.Invalid},
		{"SELECT 1 / 0 + 'x'::INTEGER", "Could not convert string 'x' to INT32", lake.Invalid},
		{"SELECT txt::INTEGER FROM ns.t", "Could not convert", lake.Invalid},
		{"SELECT error('mine')", "mine", lake.Invalid},
		{"SELECT list(range) FROM range(100000000)", "more memory", lake.Exhausted},
	} {
		err := e.Execute(context.Background(), engine.Request{SQL: c.sql, Tables: tables("t", tab)}, discard)
		require.ErrorContains(t, err, c.want, c.sql)
		require.Equal(t, c.kind, lake.KindOf(err), "%s: %v", c.sql, err)
	}
}

// Nothing of one query can be seen by the next, and settings stay locked.
func TestSlotsKeepNothing(t *testing.T) {
	e := newEngine(t, Options{Slots: 1})
	tab := numbers(100, 100)
	for range 3 {
		got, _ := ask(t, e, "SELECT count(*) FROM ns.t", "t", tab)
		require.Equal(t, []string{"100"}, columnText(got, 0))
		for _, sql := range []string{
			"SELECT * FROM ns.t", "SELECT * FROM lake_scan(1::UBIGINT)", "SELECT * FROM read_text('/etc/passwd')", "FROM '/etc/passwd'",
			"SET threads = 1", "SET enable_external_access = true", "ATTACH '/tmp/x.db'", "COPY (SELECT 1) TO '/tmp/x'", "INSTALL httpfs", "LOAD icu2",
		} {
			require.Error(t, e.Execute(context.Background(), engine.Request{SQL: sql}, discard), sql)
		}
	}
	views, err := e.Plan(context.Background(), engine.Request{SQL: "SELECT * FROM ns.t"})
	require.Error(t, err, "%v", views.Schema)
	names, _ := ask(t, e, "SELECT view_name FROM duckdb_views() WHERE NOT internal UNION SELECT schema_name FROM duckdb_schemas() WHERE NOT internal")
	require.Empty(t, columnText(names, 0))
}

// The same sort fails without a place to spill to and works with one.
func TestSpill(t *testing.T) {
	const sql = "SELECT count(*), max(s) FROM (SELECT range::VARCHAR || 'some padding so that it does not fit' AS s FROM range(1200000) ORDER BY hash(range))"
	small := Options{Threads: 1, Memory: 48 << 20}
	cramped := newEngine(t, small)
	err := cramped.Execute(context.Background(), engine.Request{SQL: sql}, discard)
	require.True(t, lake.Is(err, lake.Exhausted), "%v", err)
	require.NoError(t, cramped.Close())

	small.SpillDir = t.TempDir()
	e := newEngine(t, small)
	got, _ := ask(t, e, sql)
	require.Equal(t, []string{"1200000"}, columnText(got, 0))
	require.NoError(t, e.Close())
	left, err := os.ReadDir(small.SpillDir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Many small queries from many goroutines leave nothing behind: goroutines are
// checked by goleak, registries by newEngine, memory here.
func TestManyQueries(t *testing.T) {
	e := newEngine(t, Options{Slots: 2, Threads: 1})
	tab := numbers(5000, 1000)
	var failed atomic.Pointer[error]
	round := func(n int) {
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range n {
					sql := fmt.Sprintf("SELECT sum(id), count(txt) FROM ns.t WHERE grp < %d", (w*n+i)%100)
					if err := e.Execute(context.Background(), engine.Request{SQL: sql, Tables: tables("t", tab)}, discard); err != nil {
						failed.Store(&err)
					}
				}
			})
		}
		wg.Wait()
	}
	round(20)
	before := residentBytes(t)
	round(150)
	require.Nil(t, failed.Load())
	require.Less(t, residentBytes(t), before+64<<20)
	require.Zero(t, tab.open.Load())
}

func residentBytes(t testing.TB) int64 {
	t.Helper()
	runtime.GC()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("no /proc on this system: %v", err)
	}
	var size, resident int64
	_, err = fmt.Sscan(strings.TrimSpace(string(b)), &size, &resident)
	require.NoError(t, err)
	return resident * int64(os.Getpagesize())
}
