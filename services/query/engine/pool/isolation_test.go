// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package pool_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine/pool"
	"github.com/lakeplane/lake/services/query/engine/slot"
)

// slots are the processes that this one started, by their command line.
func slots(t testing.TB) (pids []int) {
	t.Helper()
	return slotsOf(t, os.Getpid())
}

func slotsOf(t testing.TB, parent int) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, stat := range all {
		b, err := os.ReadFile(stat)
		if err != nil {
			continue // gone
		}
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if fields[1] != strconv.Itoa(parent) || fields[0] == "Z" {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(stat), "cmdline"))
		if strings.Contains(string(command), "\x00"+slot.Argument) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

func onlySlot(t testing.TB) int {
	t.Helper()
	require.Eventually(t, func() bool { return len(slots(t)) == 1 }, 10*time.Second, 5*time.Millisecond)
	return slots(t)[0]
}

func works(t testing.TB, e *pool.Engine) {
	t.Helper()
	require.Equal(t, `{"x":1}`, text(t, collect(t, e, request("SELECT 1 AS x"))))
}

// restarts are the slots that ended, by reason.
func restarts(t testing.TB, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	require.NoError(t, err)
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "lake_query_slot_restarts_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "reason" {
					got[l.GetValue()] = m.GetCounter().GetValue()
				}
			}
		}
	}
	return got
}

// begin runs a statement that ends only with the test, and returns once it
// runs.
func begin(t testing.TB, e *pool.Engine) (ended chan error) {
	t.Helper()
	running := make(chan struct{})
	ended = make(chan error, 1)
	go func() {
		first := true
		ended <- e.Execute(t.Context(), request("SELECT range FROM range(100000000000) WHERE hash(range) % 3 = 1"), func(arrow.RecordBatch) error {
			if first {
				close(running)
			}
			first = false
			return nil
		})
	}()
	select {
	case <-running:
	case err := <-ended:
		t.Fatalf("it did not run: %v", err)
	}
	return ended
}

func await(t testing.TB, ended chan error, within time.Duration) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(within):
		t.Fatalf("still running after %s", within)
		return nil
	}
}

// A slot that is killed takes its own statement along and no other, and
// another takes its place.
func TestAKilledSlot(t *testing.T) {
	metrics := prometheus.NewRegistry()
	e := newPool(t, pool.Options{Slots: 2, Warm: 2, Metrics: metrics})
	require.Eventually(t, func() bool { return len(slots(t)) == 2 }, 10*time.Second, 5*time.Millisecond)
	before := slots(t)
	doomed := begin(t, e)
	victim := busy(t, before)
	other := begin(t, e)
	require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
	err := await(t, doomed, 10*time.Second)
	require.ErrorContains(t, err, "the engine process running the query was killed: run it again")
	require.Equal(t, lake.Unavailable, lake.KindOf(err))
	works(t, e)
	select {
	case err := <-other:
		t.Fatalf("the other statement ended: %v", err)
	default:
	}
	require.Equal(t, map[string]float64{"killed": 1}, restarts(t, metrics))
	for _, pid := range slots(t) {
		if pid != victim {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	require.Error(t, await(t, other, 10*time.Second))
	works(t, e)
}

// busy is the process that works: the first to use a tenth of a second of
// processor time from now on. What it used before says nothing, because
// starting takes more than a short statement.
func busy(t testing.TB, pids []int) (pid int) {
	t.Helper()
	const tenth = 10 // clock ticks
	before := map[int]int64{}
	for _, p := range pids {
		before[p] = ticks(t, p)
	}
	require.Eventually(t, func() bool {
		for _, p := range pids {
			if ticks(t, p) >= before[p]+tenth {
				pid = p
			}
		}
		return pid != 0
	}, 20*time.Second, 5*time.Millisecond, "no slot works")
	return pid
}

// ticks is the processor time a process used.
func ticks(t testing.TB, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	used, err := strconv.ParseInt(fields[11], 10, 64)
	require.NoError(t, err)
	return used
}

// An idle slot that dies is replaced and no statement notices.
func TestAnIdleSlotThatDies(t *testing.T) {
	e := newPool(t, pool.Options{})
	for range 3 {
		pid := onlySlot(t)
		works(t, e)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		require.Eventually(t, func() bool { s := slots(t); return len(s) == 1 && s[0] != pid }, 10*time.Second, 5*time.Millisecond)
		works(t, e)
	}
}

// A slot may die, and all that was its be cleared away, while its client takes
// its time with the first rows.
func TestASlotThatDiesBeforeItsRowsAreRead(t *testing.T) {
	metrics := prometheus.NewRegistry()
	e := newPool(t, pool.Options{Metrics: metrics})
	pid := onlySlot(t)
	begun, buried := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	batches := 0
	go func() {
		ended <- e.Execute(t.Context(), request("SELECT range FROM range(100000000000)"), func(arrow.RecordBatch) error {
			if batches++; batches == 1 {
				close(begun)
				<-buried
			}
			return nil
		})
	}()
	<-begun
	used := int64(-1)
	require.Eventually(t, func() bool { // it has gone as far ahead as it may
		before := used
		used = ticks(t, pid)
		return used == before
	}, 20*time.Second, 100*time.Millisecond)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.Eventually(t, func() bool { s := slots(t); return len(s) == 1 && s[0] != pid }, 10*time.Second, 5*time.Millisecond, "another takes its place")
	close(buried)
	require.ErrorContains(t, await(t, ended, 10*time.Second), "was killed")
	works(t, e)
}

// A stopped process is not dead, but its client must not wait for ever.
func TestAStoppedSlot(t *testing.T) {
	metrics := prometheus.NewRegistry()
	e := newPool(t, pool.Options{Silence: 500 * time.Millisecond, Metrics: metrics})
	ended := begin(t, e)
	require.NoError(t, syscall.Kill(onlySlot(t), syscall.SIGSTOP))
	err := await(t, ended, 10*time.Second)
	require.ErrorContains(t, err, "gave no sign of life for 500ms")
	require.Equal(t, lake.Unavailable, lake.KindOf(err))
	works(t, e)

	// A client that leaves is let go at once, whatever the slot does.
	ctx, cancel := context.WithCancel(context.Background())
	pid := onlySlot(t)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	time.AfterFunc(50*time.Millisecond, cancel)
	start := time.Now()
	_, err = e.Plan(ctx, request("SELECT 1"))
	require.Error(t, err)
	require.Less(t, time.Since(start), 5*time.Second)
	works(t, e)
}

func TestBombs(t *testing.T) {
	metrics := prometheus.NewRegistry()
	e := newPool(t, pool.Options{Slots: 2, Warm: 2, Metrics: metrics})
	for _, c := range []struct {
		sql, want, reason string
		kind              lake.Kind
	}{
		{"BOMB abort", "the engine process running the query failed (", "crash", lake.Unknown},
		{"BOMB panic", "failed (exit status 2)", "crash", lake.Unknown},
		{"BOMB exit", "failed (exit status 7)", "crash", lake.Unknown},
		{"BOMB noise", "failed (exit status 1)", "crash", lake.Unknown},
		{"BOMB internal", "rotten: the query engine failed inside", "internal", lake.Unknown},
	} {
		before := restarts(t, metrics)[c.reason]
		other := make(chan error, 1)
		go func() {
			_, err := try(t, e, request("SELECT count(*) FROM range(30000000) WHERE hash(range) = 1"))
			other <- err
		}()
		_, err := try(t, e, request(c.sql))
		require.ErrorContains(t, err, c.want, c.sql)
		require.Equal(t, c.kind, lake.KindOf(err), "%s: %v", c.sql, err)
		require.NoError(t, await(t, other, 20*time.Second), "the other statement, beside %s", c.sql)
		works(t, e)
		require.Equal(t, before+1, restarts(t, metrics)[c.reason], c.sql)
	}
}

// A statement that cannot be interrupted ends with its process.
func TestAStatementThatHangs(t *testing.T) {
	metrics := prometheus.NewRegistry()
	e := newPool(t, pool.Options{Metrics: metrics})
	works(t, e)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	err := e.Execute(ctx, request("BOMB hang"), nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(start), 5*time.Second)
	require.Equal(t, 1.0, restarts(t, metrics)["stuck"])
	works(t, e)
}

// What the engine does not account for is bounded as well.
func TestMemoryStaysInBudget(t *testing.T) {
	metrics := prometheus.NewRegistry()
	const budget = 256 << 20
	e := newPool(t, pool.Options{Memory: 64 << 20, Resident: budget, Metrics: metrics})
	pid := onlySlot(t)
	var most int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
			var size, resident, shared int64
			if err == nil {
				_, _ = fmt.Sscan(string(b), &size, &resident, &shared)
			}
			most = max(most, (resident-shared)*int64(os.Getpagesize()))
		}
	}()
	_, err := try(t, e, request("BOMB hoard"))
	close(stop)
	<-done
	require.ErrorContains(t, err, "the query needs more memory than it is allowed: its engine process took")
	require.Equal(t, lake.Exhausted, lake.KindOf(err))
	require.Greater(t, most, int64(budget))
	require.Less(t, most, int64(budget+160<<20), "noticed in time")
	require.Equal(t, 1.0, restarts(t, metrics)["memory"])
	works(t, e)
}

// A slot has nothing worth stealing and no way out.
func TestWhatASlotCannotDo(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
	secret := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(secret, []byte("a-secret"), 0o600))
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = tcp.Close() }()
	unixPath := filepath.Join(t.TempDir(), "sock")
	local, err := net.Listen("unix", unixPath)
	require.NoError(t, err)
	defer func() { _ = local.Close() }()
	spill := t.TempDir()

	e := newPool(t, pool.Options{SpillDir: spill})
	pid := onlySlot(t)
	ask := func(what string) string { return text(t, collect(t, e, request("BOMB "+what))) }
	require.Equal(t, `{"text":"[]"}`, ask("environ"))
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	require.NoError(t, err)
	require.Empty(t, environ)
	for what, want := range map[string]string{
		"socket":                            "operation not permitted",
		"dial " + tcp.Addr().String():       "operation not permitted",
		"unix " + unixPath:                  "operation not permitted",
		"exec":                              "operation not permitted",
		"raise":                             "operation not permitted",
		"kill " + strconv.Itoa(os.Getpid()): "operation not permitted",
		"write " + filepath.Join(t.TempDir(), "x"):        "",
		"write " + secret:                                 "",
		"read " + secret:                                  "",
		"read /etc/passwd":                                "",
		fmt.Sprintf("read /proc/%d/environ", os.Getpid()): "",
	} {
		if want == "" {
			if landlock() < 1 {
				t.Logf("this kernel has no Landlock: %s is not refused", what)
				continue
			}
			want = "permission denied"
		}
		assert.Contains(t, ask(what), want, what)
	}
	mine, err := filepath.Glob(filepath.Join(spill, "slot-*"))
	require.NoError(t, err)
	require.Len(t, mine, 1)
	require.Equal(t, `{"text":"done"}`, ask("write "+filepath.Join(mine[0], "x")), "its own directory it can use")
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	require.NoError(t, err)
	require.Regexp(t, `Max core file size +0 +0 `, string(limits))
	require.Regexp(t, `Max open files +512 +512 `, string(limits))
	require.NotRegexp(t, `Max data size +unlimited`, string(limits))
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	require.Contains(t, string(status), "NoNewPrivs:\t1")
	require.Contains(t, string(status), "Seccomp:\t2")
	require.Contains(t, string(status), "CapEff:\t0000000000000000", "also where the replica is root")
	require.Contains(t, string(status), "CapBnd:\t0000000000000000")
}

func landlock() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// The same sort fails without a place to spill to and works with one, which is
// gone with its slot.
func TestSpill(t *testing.T) {
	const sql = "SELECT count(*) AS n, max(s) AS m FROM (SELECT range::VARCHAR || 'some padding so that it does not fit' AS s FROM range(1200000) ORDER BY hash(range))"
	small := pool.Options{Slots: 1, Threads: 1, Memory: 48 << 20, Resident: 512 << 20}
	_, err := try(t, newPool(t, small), request(sql))
	require.Equal(t, lake.Exhausted, lake.KindOf(err), "%v", err)
	small.SpillDir = t.TempDir()
	e := newPool(t, small)
	require.Contains(t, text(t, collect(t, e, request(sql))), `"n":1200000`)
	require.NoError(t, e.Close())
	left, err := os.ReadDir(small.SpillDir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A killed slot's spill files go too.
func TestSpillOfAKilledSlot(t *testing.T) {
	dir := t.TempDir()
	e := newPool(t, pool.Options{SpillDir: dir, Memory: 48 << 20, Threads: 1})
	pid := onlySlot(t)
	first, err := os.ReadDir(dir)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := try(t, e, request(spillForever))
		ended <- err
	}()
	require.Eventually(t, func() bool {
		inside, _ := filepath.Glob(filepath.Join(dir, first[0].Name(), "*", "*"))
		return len(inside) > 0
	}, 20*time.Second, 5*time.Millisecond, "spill files")
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.Error(t, await(t, ended, 10*time.Second))
	works(t, e)
	_, err = os.Stat(filepath.Join(dir, first[0].Name()))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A table that never answers, not even its context, costs its slot and not the
// caller.
func TestATableThatHangs(t *testing.T) {
	e := newPool(t, pool.Options{Grace: 100 * time.Millisecond})
	tab := numbers(100, 10)
	works(t, e)
	stuck := make(chan struct{})
	tab.onNext = func(context.Context, int) error { <-stuck; return nil }
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	err := e.Execute(ctx, request("SELECT * FROM ns.t", "t", tab), func(arrow.RecordBatch) error { return nil })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(start), 5*time.Second)
	works(t, e)
	close(stuck)
	require.Eventually(t, func() bool { return tab.open.Load() == 0 }, 20*time.Second, time.Millisecond)
}

func TestSlotsGrowOld(t *testing.T) {
	metrics := prometheus.NewRegistry()
	e := newPool(t, pool.Options{Statements: 5, Metrics: metrics})
	for range 12 {
		works(t, e)
	}
	require.Equal(t, map[string]float64{"age": 2}, restarts(t, metrics))
}

// Planning runs parts of a statement and cannot be interrupted.
func TestPlanningEnds(t *testing.T) {
	e := newPool(t, pool.Options{PlanTimeout: 300 * time.Millisecond})
	start := time.Now()
	_, err := e.Plan(context.Background(), request("SELECT list_sum(list_transform(range(100000000), x -> hash(x) % 7)) AS s"))
	if err != nil {
		require.ErrorContains(t, err, "planning the statement took longer than 300ms")
	}
	require.Less(t, time.Since(start), 5*time.Second)
	works(t, e)
}

func TestClosedAndUnstartable(t *testing.T) {
	e := newPool(t, pool.Options{})
	works(t, e)
	require.NoError(t, e.Close())
	_, err := try(t, e, request("SELECT 1"))
	require.ErrorContains(t, err, "the query engine is closed")
	require.Empty(t, slots(t))

	for _, command := range [][]string{{"/nowhere/lake"}, {"/bin/true"}} {
		e := newPool(t, pool.Options{Command: command})
		_, err := try(t, e, request("SELECT 1"))
		require.Equal(t, lake.Unavailable, lake.KindOf(err), "%v", err)
		require.ErrorContains(t, err, "start", command)
	}
}

// Slots end with a replica that is killed, and leave no spill files.
func TestAKilledReplica(t *testing.T) {
	dir := t.TempDir()
	replica := exec.Command(os.Args[0])
	replica.Env = append(os.Environ(), parentEnv+"="+dir)
	require.NoError(t, replica.Start())
	files := func() []string {
		inside, err := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
		require.NoError(t, err)
		return inside
	}
	require.Eventually(t, func() bool { return len(files()) > 0 }, 20*time.Second, 5*time.Millisecond, "spill files")
	orphans := slotsOf(t, replica.Process.Pid)
	require.NotEmpty(t, orphans)
	require.NoError(t, replica.Process.Kill())
	_ = replica.Wait()
	for _, pid := range orphans {
		require.Eventually(t, func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || strings.Contains(string(stat), ") Z ")
		}, 20*time.Second, 5*time.Millisecond, "slot %d", pid)
	}
	require.Empty(t, files())
}
