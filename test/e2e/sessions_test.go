// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// stopsWithin is how long a process that is told to stop may take while sessions
// of appends are open: far less than its grace of 20 s, or than the minute after
// which an idle session ends.
const stopsWithin = 5 * time.Second

// sessionCluster is a cluster without TLS: two members on one PostgreSQL and two
// replicas, the first of which knows one of the members only.
type sessionCluster struct {
	*cluster
	metas, queries []*server
}

// TestSessionsOnPostgres: writers of small appends, which share calls, through
// either replica and straight at a member, while what serves them is killed,
// hangs or is told to stop. No writer may notice.
func TestSessionsOnPostgres(t *testing.T) {
	d := &sessionCluster{cluster: newCluster(t)}
	store := d.postgres(t)
	for range 2 {
		d.metas = append(d.metas, d.start(t, "meta", slices.Concat(store, []string{"--listen", "127.0.0.1:0"})...))
	}
	leader, followers := leaderOf(t, d.metas...)
	for _, known := range []string{followers[0].address, leader.address + "," + followers[0].address} {
		d.queries = append(d.queries, d.start(t, "query", "--meta", known, "--listen", "127.0.0.1:0"))
	}
	for _, s := range slices.Concat(d.metas, d.queries) {
		s.awaitReady(t)
	}
	t.Run("the leader is killed", d.testLeaderKilled)
	t.Run("the leader is told to stop", d.testLeaderTold)
	t.Run("the leader is paused past its lease", d.testLeaderPaused)
	t.Run("a follower is told to stop", d.testFollowerTold)
	t.Run("a replica is killed", d.testReplicaKilled)
	t.Run("a replica is told to stop", d.testReplicaTold)
}

// testLeaderKilled also moves the leadership to the member that some writers use,
// and that the first replica knows.
func (d *sessionCluster) testLeaderKilled(t *testing.T) {
	leader, followers := leaderOf(t, d.metas...)
	load := d.load(t, "killed", d.queries[0].address, d.queries[1].address, followers[0].address)
	leader.kill()
	load.goesOn(t)
	d.metas = []*server{followers[0], d.again(t, leader).awaitReady(t)}
	load.end(t)
}

// testLeaderTold moves the leadership away from the member that some writers use.
func (d *sessionCluster) testLeaderTold(t *testing.T) {
	leader, followers := leaderOf(t, d.metas...)
	load := d.load(t, "told", d.queries[0].address, d.queries[1].address, leader.address)
	idle := openSession(t, dialPlain(t, leader.address), load.tables[0])
	requireStops(t, leader)
	idle.requireEnded(t)
	d.metas = []*server{followers[0], d.again(t, leader).awaitReady(t)}
	load.goesOn(t)
	load.end(t)
}

func (d *sessionCluster) testLeaderPaused(t *testing.T) {
	leader, followers := leaderOf(t, d.metas...)
	load := d.load(t, "paused", d.queries[0].address, d.queries[1].address, followers[0].address)
	require.NoError(t, leader.cmd.Process.Signal(syscall.SIGSTOP))
	require.Eventually(t, func() bool { return followers[0].gauge(t, "lake_metasrv_write_ready") == 1 }, waitLong, tick)
	require.NoError(t, leader.cmd.Process.Signal(syscall.SIGCONT))
	load.goesOn(t)
	require.Zero(t, leader.gauge(t, "lake_metasrv_write_ready"))
	load.end(t)
}

func (d *sessionCluster) testFollowerTold(t *testing.T) {
	leader, followers := leaderOf(t, d.metas...)
	load := d.load(t, "follower", d.queries[0].address, d.queries[1].address, followers[0].address)
	idle := openSession(t, dialPlain(t, followers[0].address), load.tables[0])
	requireStops(t, followers[0])
	idle.requireEnded(t)
	d.metas = []*server{leader, d.again(t, followers[0]).awaitReady(t)}
	load.goesOn(t)
	load.end(t)
}

func (d *sessionCluster) testReplicaKilled(t *testing.T) {
	load := d.load(t, "replica_killed", d.queries[0].address, d.queries[1].address)
	d.queries[0].kill()
	d.queries[0] = d.again(t, d.queries[0]).awaitReady(t)
	load.goesOn(t)
	load.end(t)
}

func (d *sessionCluster) testReplicaTold(t *testing.T) {
	load := d.load(t, "replica_told", d.queries[0].address, d.queries[1].address)
	idle := openSession(t, dialPlain(t, d.queries[0].address), load.tables[0])
	requireStops(t, d.queries[0])
	idle.requireEnded(t)
	d.queries[0] = d.again(t, d.queries[0]).awaitReady(t)
	load.goesOn(t)
	load.end(t)
}

// requireStops tells a process to stop and waits until it has, soon and well.
func requireStops(t *testing.T, s *server) {
	t.Helper()
	began := time.Now()
	require.Zero(t, s.terminate(t), "%s", s.log)
	took := time.Since(began)
	t.Logf("lake %s stopped in %s", s.name, took.Round(time.Millisecond))
	require.Less(t, took, stopsWithin)
}

// sessionLoad are writers, each of numbers of its own, at each address to each
// table.
type sessionLoad struct {
	cluster *sessionCluster
	tables  []lake.TableName
	writers []*writer
	calls   *putCalls
	stop    chan struct{}
	running sync.WaitGroup
}

// load makes two tables and starts the writers; it returns when all of them use
// sessions.
func (d *sessionCluster) load(t *testing.T, namespace string, addresses ...string) *sessionLoad {
	t.Helper()
	l := &sessionLoad{cluster: d, calls: new(putCalls), stop: make(chan struct{})}
	admin := d.user(t, d.queries[1].address)
	for _, name := range []string{"a", "b"} {
		table := lake.TableName{Namespace: namespace, Name: name}
		_, err := admin.CreateTable(t.Context(), table, numbers)
		require.NoError(t, err)
		l.tables = append(l.tables, table)
	}
	for _, address := range addresses {
		client := d.user(t, address, l.calls.option())
		for _, table := range l.tables {
			w := &writer{client: client, name: table}
			first := int64(len(l.writers)) * 1_000_000
			l.writers = append(l.writers, w)
			l.running.Go(func() { w.run(context.WithoutCancel(t.Context()), first, l.stop) })
		}
	}
	t.Cleanup(sync.OnceFunc(func() { l.halt() }))
	l.each(t, 10)
	require.GreaterOrEqual(t, l.calls.sessions.Load(), int64(len(l.writers)), "every writer appends in a session")
	return l
}

func (l *sessionLoad) halt() {
	select {
	case <-l.stop:
	default:
		close(l.stop)
	}
	l.running.Wait()
}

// goesOn waits until every writer has been acknowledged some more appends.
func (l *sessionLoad) goesOn(t *testing.T) {
	t.Helper()
	began := time.Now()
	l.each(t, 10)
	t.Logf("every writer went on within %s", time.Since(began).Round(time.Millisecond))
}

// each waits until every writer has been acknowledged n appends from now on.
func (l *sessionLoad) each(t *testing.T, n int) {
	t.Helper()
	for i, w := range l.writers {
		was, _ := w.progress()
		require.Eventually(t, func() bool {
			now, failed := w.progress()
			return failed != nil || now >= was+n
		}, 40*time.Second, tick, "writer %d of %s does not go on", i, w.name)
		_, failed := w.progress()
		require.NoError(t, failed)
	}
}

// progress is how many appends were acknowledged, and why there are no more.
func (w *writer) progress() (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acked), w.failed
}

// end stops the writers and checks that every table has what was acknowledged,
// once, in versions without gaps, and nothing else.
func (l *sessionLoad) end(t *testing.T) {
	t.Helper()
	l.halt()
	total := 0
	reader := l.cluster.user(t, l.cluster.queries[1].address)
	for _, table := range l.tables {
		var acked []int64
		newest := lake.Version(0)
		versions := map[lake.Version]bool{1: true} // of the create
		for _, w := range l.writers {
			require.NoError(t, w.failed)
			if w.name == table {
				acked, newest = append(acked, w.acked...), max(newest, w.version)
				for _, v := range w.versions {
					versions[v] = true
				}
			}
		}
		slices.Sort(acked)
		require.Equal(t, acked, valuesOf(t, atLeast(t.Context(), table, newest), reader, table), "nothing lost, nothing twice")
		now, err := reader.Table(t.Context(), table)
		require.NoError(t, err)
		require.Equal(t, newest, now.Snapshot.Version, "nobody else appends")
		require.Len(t, versions, int(newest), "every version is of an append that was acknowledged")
		total += len(acked)
	}
	t.Logf("%d appends by %d sessions with %d of them, and by %d calls", total, l.calls.sessions.Load(), l.calls.items.Load(), l.calls.alone.Load())
	require.Greater(t, l.calls.items.Load(), int64(5*len(l.writers)), "appends went in sessions")
}

// putCalls counts how a client's appends are sent.
type putCalls struct{ sessions, items, alone atomic.Int64 }

func (c *putCalls) option() sdk.Option {
	return sdk.WithDialOptions(grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		s, err := streamer(ctx, desc, cc, method, opts...)
		sent, _ := metadata.FromOutgoingContext(ctx)
		switch {
		case err != nil:
		case len(sent.Get(appendwire.SessionHeader)) > 0:
			c.sessions.Add(1)
			s = &countedSession{ClientStream: s, calls: c}
		case len(sent.Get(appendwire.SizeHeader)) > 0:
			c.alone.Add(1)
		}
		return s, err
	}))
}

type countedSession struct {
	grpc.ClientStream
	calls *putCalls
	open  bool
}

func (s *countedSession) SendMsg(m any) error {
	if s.open {
		s.calls.items.Add(1)
	}
	s.open = true
	return s.ClientStream.SendMsg(m)
}
