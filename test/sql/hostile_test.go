// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sqltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// hostileTime is how long the server lets one statement run. With
// LAKE_SQL_HOSTILE_TIME it is longer: every statement of the corpus that is to
// meet its deadline has to do so at ten times the usual time as well, or the
// corpus holds only on machines as slow as the one it was written on.
var hostileTime = time.Second

const (
	// hostileMemory is what it may give to all statements together.
	hostileMemory = 640 << 20
	// patience is how long after its time a client waits for a statement to
	// come to its end: one that takes longer was not stopped.
	patience = 6 * time.Second
	// hostileSlots is how many statements it runs at once.
	hostileSlots = 8
	// hostileBound is what server and slots may have together, as the manual
	// tells operators to allow for: a slot is ended when it has outgrown its
	// share, not before.
	hostileBound = hostileMemory*14/10 + hostileSlots*64<<20 + 256<<20
)

// outcome is what became of one statement.
type outcome struct {
	hostile
	verdict string
	err     error
	took    time.Duration
}

// TestHostileStatementsHarmNobody runs the corpus with three clients at once,
// while a fourth asks a small question again and again. LAKE_SQL_HOSTILE names
// a part of the corpus, such as "stuck.sql" or "stuck.sql:11".
func TestHostileStatementsHarmNobody(t *testing.T) {
	if set := os.Getenv("LAKE_SQL_HOSTILE_TIME"); set != "" {
		var err error
		hostileTime, err = time.ParseDuration(set)
		require.NoError(t, err, "LAKE_SQL_HOSTILE_TIME")
	}
	p, l := newPeer(t), startLake(t)
	server := l.query(t, "--query-slots", fmt.Sprint(hostileSlots), "--query-memory-bytes", fmt.Sprint(hostileMemory), "--query-spill-bytes", fmt.Sprint(256<<20),
		"--query-execution-timeout", hostileTime.String())
	loadSample(t, p, server)
	corpus := readCorpus(t)
	require.GreaterOrEqual(t, len(corpus), 200)
	corpus = slices.DeleteFunc(corpus, func(h hostile) bool {
		only := os.Getenv("LAKE_SQL_HOSTILE")
		return only != "" && h.name != only && !strings.HasPrefix(h.name, only+":")
	})
	isolated := len(children(server.cmd.Process.Pid)) > 0
	if !isolated {
		t.Log("the server runs statements in its own process: those that need one of their own are left out")
		corpus = slices.DeleteFunc(corpus, func(h hostile) bool { return h.isolate })
	}
	warm(t, server)
	w := watch(t, server)
	quiet := w.phase(t, 2*time.Second)
	results := attack(t, server, corpus)
	busy := w.stop(t)
	t.Logf("%d statements; a small query took %s before and %s meanwhile; at most %d MiB resident", len(results), quiet, busy, w.peak.Load()>>20)
	for _, r := range results {
		r.check(t)
	}
	require.True(t, server.alive(), "the server died")
	require.Less(t, busy.p50, 10*quiet.p50+100*time.Millisecond, "other clients suffered")
	require.Less(t, busy.worst, 5*time.Second, "other clients suffered")
	require.Less(t, w.peak.Load(), int64(hostileBound), "memory")
	require.Eventually(t, func() bool { return server.gauge(t, "lake_query_inflight_requests") == 0 }, 15*time.Second, 100*time.Millisecond, "requests left")
	w = watch(t, server)
	time.Sleep(time.Second)
	after := w.stop(t)
	require.Less(t, after.p50, 3*quiet.p50+20*time.Millisecond, "the server does not recover")
}

// check compares the outcome with the corpus.
func (o outcome) check(t *testing.T) {
	t.Helper()
	bad := func(format string, args ...any) {
		t.Errorf("%s: %s\n\twant %s, got %s after %s: %v\n\t%.200s", o.name, fmt.Sprintf(format, args...), strings.Join(o.verdicts, " or "), o.verdict, o.took.Round(time.Millisecond), o.err, o.sql)
	}
	switch {
	case !slices.Contains(o.verdicts, o.verdict):
		bad("another verdict")
	case o.says != "" && o.verdict == o.verdicts[0] && o.err != nil && !strings.Contains(o.err.Error(), o.says):
		bad("the error does not say %q", o.says)
	case o.verdict == refused && !strings.Contains(o.err.Error(), "at byte "):
		bad("a refusal without a position")
	}
}

// attack runs the corpus with three clients.
func attack(t *testing.T, server *process, corpus []hostile) []outcome {
	next, results := make(chan hostile), make([]outcome, 0, len(corpus))
	var mu sync.Mutex
	var clients sync.WaitGroup
	attackers := 3
	if os.Getenv("LAKE_SQL_HOSTILE") != "" {
		attackers = 1 // so that what each does can be seen
	}
	for range attackers {
		c := rawClient(t, server)
		clients.Go(func() {
			for h := range next {
				before := server.resident()
				server.resetPeak()
				o := h.run(t.Context(), c)
				if attackers == 1 {
					t.Logf("%s: %s after %s, %d MiB more: %.300v", h.name, o.verdict, o.took.Round(time.Millisecond), (server.peak()-before)>>20, o.err)
				}
				mu.Lock()
				results = append(results, o)
				mu.Unlock()
			}
		})
	}
	for _, h := range corpus {
		if !server.alive() {
			t.Errorf("the server died before %s", h.name)
			break
		}
		next <- h
	}
	close(next)
	clients.Wait()
	slices.SortFunc(results, func(a, b outcome) int { return strings.Compare(a.name, b.name) })
	return results
}

func rawClient(t *testing.T, server *process) *flightsql.Client {
	c, err := flightsql.NewClient(server.address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// run executes the statement and reads all of its result.
func (h hostile) run(ctx context.Context, c *flightsql.Client) outcome {
	ctx, cancel := context.WithTimeout(ctx, hostileTime+patience)
	defer cancel()
	began := time.Now()
	planned, err := execute(ctx, c, h.sql)
	o := outcome{hostile: h, err: err, took: time.Since(began)}
	switch code := status.Code(err); {
	case err == nil:
		o.verdict = fine
	case ctx.Err() != nil || o.took >= hostileTime+patience:
		o.verdict = "not stopped"
	case code == codes.InvalidArgument && !planned && strings.Contains(err.Error(), "at byte "):
		o.verdict = refused
	case code == codes.InvalidArgument || code == codes.Unimplemented || code == codes.NotFound:
		o.verdict = invalid
	case code == codes.DeadlineExceeded:
		o.verdict = deadline
	case code == codes.ResourceExhausted:
		o.verdict = memory
	case h.isolate && strings.Contains(err.Error(), "other queries go on"):
		o.verdict = contained
	default:
		o.verdict = code.String()
	}
	return o
}

// execute reports beside the error whether the statement was planned.
func execute(ctx context.Context, c *flightsql.Client, sql string) (planned bool, err error) {
	info, err := c.Execute(ctx, sql)
	if err != nil {
		return false, err
	}
	for _, e := range info.GetEndpoint() {
		r, err := c.DoGet(ctx, e.GetTicket())
		if errors.Is(err, io.EOF) {
			continue
		}
		if err != nil {
			return true, err
		}
		for r.Next() { //nolint:revive // the rows are of no interest
		}
		err = r.Err()
		r.Release()
		if err != nil && !errors.Is(err, io.EOF) {
			return true, err
		}
	}
	return true, nil
}

// smallQuery asks for the time, so that it is run each time: an answer that does
// not change would be remembered.
const smallQuery = "SELECT count(*), sum(id), now() FROM lab.robots WHERE id % 7 = 3"

// warm waits until every place in the engine has started.
func warm(t *testing.T, server *process) {
	t.Helper()
	c := rawClient(t, server)
	for good, end := 0, time.Now().Add(30*time.Second); good < 20; good++ {
		ctx, cancel := context.WithTimeout(t.Context(), hostileTime+patience)
		_, err := execute(ctx, c, smallQuery)
		cancel()
		if err != nil {
			require.True(t, time.Now().Before(end), "the small query keeps failing: %v", err)
			good = -1
		}
	}
}

// watcher asks a small question all the time and looks at the memory.
type watcher struct {
	end   context.CancelFunc
	done  chan struct{}
	peak  atomic.Int64
	mu    sync.Mutex
	times []time.Duration
	// failed counts the questions without an answer, of which err is the last.
	failed int
	err    error
}

// latency sums up how long the small question took.
type latency struct{ p50, p95, worst time.Duration }

func (l latency) String() string {
	r := func(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
	return fmt.Sprintf("p50 %s, p95 %s, worst %s", r(l.p50), r(l.p95), r(l.worst))
}

func watch(t *testing.T, server *process) *watcher {
	ctx, cancel := context.WithCancel(t.Context())
	w := &watcher{end: cancel, done: make(chan struct{})}
	c := rawClient(t, server)
	go func() {
		defer close(w.done)
		var looked time.Time
		for ctx.Err() == nil {
			began := time.Now()
			if _, err := execute(ctx, c, smallQuery); err != nil && ctx.Err() == nil {
				w.mu.Lock()
				w.failed, w.err = w.failed+1, err
				w.mu.Unlock()
			}
			w.mu.Lock()
			w.times = append(w.times, time.Since(began))
			w.mu.Unlock()
			if time.Since(looked) > 200*time.Millisecond { // it takes a while itself
				looked = time.Now()
				w.peak.Store(max(w.peak.Load(), server.resident()))
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { cancel(); <-w.done })
	return w
}

// phase watches for a while and starts anew.
func (w *watcher) phase(t *testing.T, d time.Duration) latency {
	time.Sleep(d)
	return w.take(t)
}

func (w *watcher) take(t *testing.T) latency {
	w.mu.Lock()
	defer w.mu.Unlock()
	// Starting a place in the engine anew may take longer than a statement may.
	require.LessOrEqual(t, 100*w.failed, len(w.times), "of %d small queries %d failed, last: %v", len(w.times), w.failed, w.err)
	require.NotEmpty(t, w.times)
	slices.Sort(w.times)
	n := len(w.times)
	l := latency{w.times[n/2], w.times[n*95/100], w.times[n-1]}
	w.times, w.failed = nil, 0
	return l
}

func (w *watcher) stop(t *testing.T) latency {
	w.end()
	<-w.done
	return w.take(t)
}
