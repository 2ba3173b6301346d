// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package pool_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/engine/pool"
)

func TestStatements(t *testing.T) {
	e := newPool(t, pool.Options{})
	tab := numbers(300_000, 16_384)
	for _, c := range []struct{ sql, want string }{
		{"SELECT 1 AS x", `{"x":1}`},
		{"SELECT count(*) AS n FROM ns.t", `{"n":300000}`},
		{"SELECT sum(id) AS s, count(x) AS c, max(txt) AS m, sum(len(tags)) AS l FROM ns.t", `{"s":"44999850000","c":270000,"m":"episode-000299999","l":"600000"}`},
		{"SELECT id, txt, tags FROM ns.t WHERE id = 299999", `{"id":299999,"tags":[0,1,2,3],"txt":"episode-000299999"}`},
		{"SELECT count(*) AS n FROM ns.t a JOIN ns.u b ON a.id = b.id", `{"n":300000}`},
	} {
		require.JSONEq(t, c.want, text(t, collect(t, e, request(c.sql, "t", tab, "u", tab))), c.sql)
	}
	require.Eventually(t, func() bool { return tab.open.Load() == 0 }, 20*time.Second, time.Millisecond)
}

// What is planned is delivered, and all rows arrive.
func TestAWholeTable(t *testing.T) {
	e := newPool(t, pool.Options{})
	tab := numbers(200_000, 10_000)
	req := request("SELECT * FROM ns.t", "t", tab)
	plan, err := e.Plan(t.Context(), req)
	require.NoError(t, err)
	seen := make([]bool, 200_000)
	for _, b := range collect(t, e, req) {
		require.True(t, plan.Schema.Equal(b.Schema()), "%s\n%s", plan.Schema, b.Schema())
		for i := range int(b.NumRows()) {
			id := b.Column(0).(interface{ Value(int) int64 }).Value(i)
			require.False(t, seen[id])
			seen[id] = true
		}
	}
	require.NotContains(t, seen, false)
	require.False(t, plan.Schema.Field(0).Nullable, "registered fields come back as registered")
}

func TestParse(t *testing.T) {
	e := newPool(t, pool.Options{})
	tree, err := e.SerializeSQL(t.Context(), "SELECT 1")
	require.NoError(t, err)
	require.Contains(t, string(tree), `"SELECT_NODE"`)
	tree, err = e.SerializeSQL(t.Context(), "SELEC 1")
	require.NoError(t, err)
	require.Contains(t, string(tree), "syntax error")
}

func TestErrors(t *testing.T) {
	e := newPool(t, pool.Options{Memory: 64 << 20})
	tab := numbers(100_000, 10_000)
	down := lake.Errorf(lake.Unavailable, "object store is down")
	bad := numbers(100_000, 10_000)
	bad.onNext = func(_ context.Context, i int) error {
		if i == 5 {
			return down
		}
		return nil
	}
	broken := numbers(100_000, 10_000)
	broken.onNext = func(context.Context, int) error { panic("a bug") }
	for _, c := range []struct {
		sql, want string
		kind      lake.Kind
	}{
		{"SELECT nope FROM ns.t", `"nope" not found in FROM clause!`, lake.Invalid},
		{"SELECT * FROM ns.other", "does not exist", lake.Invalid},
		{"SELECT txt::INTEGER FROM ns.t", "Could not convert", lake.Invalid},
		{"SELECT list(range) FROM range(100000000)", "more memory", lake.Exhausted},
		{"SELECT repeat('x', 5000000)", "row of 5000", lake.Exhausted},
		{"SELECT sum(id) FROM ns.bad", "object store is down", lake.Unavailable},
		{"SELECT * FROM ns.bad", "object store is down", lake.Unavailable},
		{"SELECT * FROM ns.broken", "panic while reading a table: a bug", lake.Unknown},
		{"SELECT ?", "1 parameters and none is bound", lake.Invalid},
	} {
		_, err := try(t, e, request(c.sql, "t", tab, "bad", bad, "broken", broken))
		require.ErrorContains(t, err, c.want, c.sql)
		require.Equal(t, c.kind, lake.KindOf(err), "%s: %v", c.sql, err)
	}
	_, err := try(t, e, request("SELECT sum(id) FROM ns.bad", "bad", bad))
	require.ErrorIs(t, err, down, "the error itself, not its text")
	require.Equal(t, `{"x":1}`, text(t, collect(t, e, request("SELECT 1 AS x"))))
}

// A consumer that stops reading stops the scan.
func TestBackPressure(t *testing.T) {
	e := newPool(t, pool.Options{Threads: 2})
	tab := numbers(2_000_000, 16_384)
	taken := 0
	enough := errors.New("enough")
	err := e.Execute(context.Background(), request("SELECT * FROM ns.t", "t", tab), func(arrow.RecordBatch) error {
		if taken++; taken < 3 {
			return nil
		}
		time.Sleep(300 * time.Millisecond)
		require.Less(t, tab.served.Load(), int64(60), "batches read of %d", len(tab.batches))
		return enough
	})
	require.ErrorIs(t, err, enough)
	require.Zero(t, tab.open.Load())
	require.Equal(t, `{"x":1}`, text(t, collect(t, e, request("SELECT 1 AS x"))))
}

func TestLimitEndsTheScanEarly(t *testing.T) {
	e := newPool(t, pool.Options{Threads: 2})
	tab := numbers(1_000_000, 4096)
	got := collect(t, e, request("SELECT id FROM ns.t LIMIT 10", "t", tab))
	require.EqualValues(t, 10, got[0].NumRows())
	require.Less(t, tab.served.Load(), int64(100))
	require.Zero(t, tab.open.Load())
}

// A cancelled statement ends within a second wherever it is, and its slot
// serves the next one.
func TestCancel(t *testing.T) {
	e := newPool(t, pool.Options{Threads: 2})
	blocked := numbers(200_000, 16_384)
	blocked.onNext = func(ctx context.Context, i int) error {
		if i < 3 {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	for _, sql := range []string{
		"SELECT sum(id) FROM ns.t",
		"SELECT count(*) FROM range(100000000000) a WHERE hash(a.range) = 1",
		"SELECT * FROM range(100000000000)",
		"SELECT max(x) FROM (SELECT random() x FROM range(1000000000) ORDER BY 1)",
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
		start := time.Now()
		err := e.Execute(ctx, request(sql, "t", blocked), func(arrow.RecordBatch) error { return nil })
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded, sql)
		require.Less(t, time.Since(start), 5*time.Second, sql)
		require.Zero(t, blocked.open.Load(), sql)
		require.Equal(t, `{"x":1}`, text(t, collect(t, e, request("SELECT 1 AS x"))))
	}
}

func TestParameters(t *testing.T) {
	e := newPool(t, pool.Options{})
	req := request("SELECT ?::BIGINT + 1 AS x")
	plan, err := e.Plan(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, 1, plan.Parameters.NumFields())
	params := numbers(1, 1).batches[0]
	schema := arrow.NewSchema(numbersSchema.Fields()[:1], nil)
	_ = schema
	defer params.Release()
	row := first(params)
	defer row.Release()
	req.Params = row
	require.Equal(t, `{"x":1}`, text(t, collect(t, e, req)))
}

func first(b arrow.RecordBatch) arrow.RecordBatch {
	s := &memScan{table: &memTable{batches: []arrow.RecordBatch{b}}, columns: []int{0}}
	row, _ := s.Next(context.Background())
	return row
}

func TestOptionsSayWhatIsWrong(t *testing.T) {
	_, err := pool.New(pool.Options{Slots: 300, Memory: 1, Catalog: "no way", SpillDir: "/nowhere"})
	for _, want := range []string{"Slots is 300: want 1..256", "Memory is 1: want at least 32 MiB", `Catalog is "no way"`, `SpillDir "/nowhere" is not a directory`} {
		require.ErrorContains(t, err, want)
	}
}

var _ engine.Engine = (*pool.Engine)(nil)
