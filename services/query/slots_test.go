// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/services/query"
	"github.com/lakeplane/lake/services/query/admission"
	"github.com/lakeplane/lake/services/query/engine/duck"
	"github.com/lakeplane/lake/services/query/engine/pool"
	"github.com/lakeplane/lake/services/query/engine/slot"
	"github.com/lakeplane/lake/services/query/gate"
)

// children are the processes that this one started.
func children(t testing.TB) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, stat := range stats {
		text, _ := os.ReadFile(stat)
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) > 2 && f[1] == strconv.Itoa(os.Getpid()) && f[0] != "Z" {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

// footprint is what a replica holds of the machine.
type footprint struct {
	goroutines, files, children, spill int
	resident                           int64 // of the replica, bytes
}

func measure(t testing.TB, spill string) (f footprint) {
	t.Helper()
	runtime.GC()
	f.goroutines = runtime.NumGoroutine()
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	f.files, f.children = len(fds), len(children(t))
	require.NoError(t, filepath.WalkDir(spill, func(string, os.DirEntry, error) error { f.spill++; return nil }))
	statm, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var size int64
	_, err = fmt.Sscan(string(statm), &size, &f.resident)
	require.NoError(t, err)
	f.resident *= int64(os.Getpagesize())
	return f
}

// leakSlots is how many statements run at once in the test below.
const leakSlots = 4

// A thousand queries whose clients leave at all kinds of moments leave nothing
// behind, in slots and in process.
func TestAThousandCancelledQueriesLeaveNothing(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skipf("no /proc on this system: %v", err)
	}
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			if !m.inProcess && pool.Supported() != nil {
				t.Skip(pool.Supported())
			}
			spill := t.TempDir()
			e := spillingSQL(t, m.inProcess, spill)
			l := newLake(t)
			name := l.authority.create(t, "lab.wide", wideSchema)
			rec := measured(200_000, wideSchema)
			defer rec.Release()
			l.authority.insert(t, name, rec)
			r := l.replica(using(e), func(o *query.Options) {
				o.Admission = admission.Options{PerTenant: 16, Queue: 20 * time.Second}
			})
			c := r.client("ann-token")
			texts := []string{
				"SELECT * FROM lab.wide", "SELECT x + 1, episode FROM lab.wide", "SELECT bucket, sum(x) FROM lab.wide GROUP BY bucket",
				"SELECT count(*) FROM range(100000000000) WHERE hash(range) = 1",
				"SELECT max(s) FROM (SELECT range::VARCHAR || 'padding so that it does not fit into memory' AS s FROM range(30000000) ORDER BY hash(range))",
				"SELECT count(*) FROM lab.wide a, lab.wide b WHERE a.x * b.x = 3.25",
			}
			var infos []*flight.FlightInfo
			for _, sql := range texts {
				info, err := c.Execute(t.Context(), sql)
				require.NoError(t, err)
				infos = append(infos, info)
			}
			storm := func(n int) {
				var wg sync.WaitGroup
				for w := range 8 {
					wg.Go(func() {
						for i := range n / 8 {
							ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i*7%23)*time.Millisecond)
							drop(ctx, c, infos[(w+i)%len(infos)])
							cancel()
						}
					})
				}
				wg.Wait()
			}
			storm(100)
			require.EqualValues(t, 1, mustRun(t, c, "SELECT 1").rows())
			before := settled(t, spill)
			storm(1000)
			require.EqualValues(t, 1, mustRun(t, c, "SELECT 1").rows())
			// A slot that was killed is there for as long as the machine takes to end it.
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				after := measure(t, spill)
				assert.LessOrEqual(c, after.goroutines, before.goroutines+5)
				assert.LessOrEqual(c, after.files, before.files+5)
				// Those of the test, and of the engine all tests share: either may have started fewer before.
				assert.LessOrEqual(c, after.children, max(before.children, leakSlots+sharedSlots))
				// A directory, and for each slot that is there its own and the engine's in it.
				assert.LessOrEqual(c, after.spill, 1+2*leakSlots, "spill files")
				assert.Less(c, after.resident, before.resident+128<<20)
			}, time.Minute, 300*time.Millisecond)
		})
	}
}

// drop reads a result as far as it comes and keeps nothing of it.
func drop(ctx context.Context, c *flightsql.Client, info *flight.FlightInfo) {
	for _, e := range info.GetEndpoint() {
		r, err := c.DoGet(ctx, e.GetTicket())
		if err != nil {
			return
		}
		for r.Next() { //nolint:revive // only what it leaves is of interest
		}
		r.Release()
	}
}

// settled measures when nothing changes any more.
func settled(t testing.TB, spill string) (f footprint) {
	t.Helper()
	last := footprint{}
	require.Eventually(t, func() bool {
		f = measure(t, spill)
		same := f.goroutines == last.goroutines && f.files == last.files && f.children == last.children && f.spill == last.spill
		last = f
		return same
	}, 20*time.Second, 300*time.Millisecond)
	return f
}

func spillingSQL(t testing.TB, inProcess bool, dir string) slot.Engine {
	t.Helper()
	var e slot.Engine
	var err error
	if inProcess {
		e, err = duck.New(duck.Options{Slots: leakSlots, Threads: 1, Memory: 64 << 20, SpillDir: dir})
	} else {
		e, err = pool.New(pool.Options{Slots: leakSlots, Threads: 1, Memory: 64 << 20, SpillDir: dir, Log: slog.New(slog.DiscardHandler)})
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, e.Close())
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left, "spill directories")
	})
	return e
}

// A slot that is killed under a query is the trouble of that query's client
// alone, who may repeat it.
func TestAKilledSlotIsUnavailable(t *testing.T) {
	if err := pool.Supported(); err != nil {
		t.Skip(err)
	}
	metrics := prometheus.NewRegistry()
	e, err := pool.New(pool.Options{Slots: 1, Warm: 1, Metrics: metrics, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	l := newLake(t)
	r := l.replica(func(o *query.Options) {
		o.SQL, o.Planner, o.Gate = e, sharedSQL, gate.New(sharedSQL, gate.DefaultLimits())
		o.Metrics = metrics
	})
	c := r.client("ann-token")
	mustRun(t, c, "SELECT 1")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	info, err := c.Execute(ctx, "SELECT count(*) FROM range(100000000000) WHERE hash(range) = 1")
	require.NoError(t, err)
	killed := make(chan struct{})
	go func() { defer close(killed); killBusiest(t) }()
	_, err = fetch(t, ctx, c, info)
	<-killed
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "the engine process running the query was killed: run it again")
	require.EqualValues(t, 1, mustRun(t, c, "SELECT 1").rows())
	families, err := metrics.Gather()
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, label := range m.GetLabel() {
				seen[f.GetName()+" "+label.GetValue()] = true
			}
		}
	}
	for _, want := range []string{
		"lake_query_slot_restarts_total killed", "lake_query_slots idle", "lake_query_slots busy",
		"lake_query_stage_seconds queue", "lake_query_stage_seconds gate", "lake_query_stage_seconds plan",
		"lake_query_stage_seconds first_batch", "lake_query_stage_seconds stream",
	} {
		require.True(t, seen[want], want)
	}
}

// killBusiest kills the child that uses the processor.
func killBusiest(t testing.TB) {
	used := func(pid int) int {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, _ := strings.Cut(string(text), ") ")
		f := strings.Fields(rest)
		if len(f) < 13 {
			return 0
		}
		ticks, _ := strconv.Atoi(f[11])
		return ticks
	}
	before := map[int]int{}
	for _, pid := range children(t) {
		before[pid] = used(pid)
	}
	time.Sleep(500 * time.Millisecond)
	busiest := slices.MaxFunc(children(t), func(a, b int) int { return used(a) - before[a] - used(b) + before[b] })
	_ = syscall.Kill(busiest, syscall.SIGKILL)
}
