// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
)

// window is a named crash window of an append. durable says that the append is
// committed when the member is there.
type window struct {
	name    string
	at      point
	durable bool
}

// windows are in the order in which an append passes them.
var windows = []window{
	{"AfterStagingData", dataStaged, false},
	{"AfterStagingManifest", manifestStaged, false},
	{"AfterCommitBeforeFinalManifest", committed, true},
	{"AfterFinalManifestBeforeAck", published, true},
}

// config lets rows be written to the object store where they are staged; else
// those of a small append are not written before the manifest.
func (w window) config(cfg *memberConfig) {
	if w.at == dataStaged {
		cfg.Hold = -1
	}
}

// answer is what the one attempt of a client got.
type answer struct {
	result *lakepb.AppendResult
	err    error
}

// inWindow brings the leader to a point in the middle of the append o, which is
// sent to it once. The answer arrives on the channel. On a busy machine the
// leader found may have lost its lease meanwhile; then it is another's turn.
func (c *cluster) inWindow(at point, o *operation) (leader *process, got <-chan answer) {
	c.t.Helper()
	c.ledger.open(o)
	for end := time.Now().Add(patience); time.Now().Before(end); {
		leader := c.leader()
		leader.arm(at, 1)
		got := c.send(leader, o)
		if c.stopsAt(leader, at, got) {
			return leader, got
		}
		leader.arm(at, 0)
	}
	require.FailNow(c.t, "no leader gets to "+string(at))
	return nil, nil
}

// send sends the append to a member once.
func (c *cluster) send(p *process, o *operation) chan answer {
	got, put := make(chan answer, 1), c.way(p)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		result, err := put(ctx, o)
		if err == nil {
			c.ledger.ack(o, result)
		}
		got <- answer{result, err}
	}()
	return got
}

// stopsAt waits until the member stops at the point; false when it answers
// that it does not lead. Any other answer is not expected.
func (c *cluster) stopsAt(p *process, at point, got chan answer) bool {
	c.t.Helper()
	for {
		select {
		case a := <-got:
			require.True(c.t, lake.Is(a.err, lake.Unavailable), "an answer before %s: %v", at, a)
			return false
		default:
		}
		if p.awaitFor(10*time.Millisecond, func(r *reported) bool { return r.waiting[at] }) == nil {
			return true
		}
	}
}

// watch runs a reader of the tables until the function returned is called.
func (c *cluster) watch(tables ...lake.TableName) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	w := &watcher{cluster: c, tables: tables}
	go func() { failed <- w.run(ctx) }()
	return func() {
		c.t.Helper()
		cancel()
		require.NoError(c.t, <-failed)
	}
}

// mustAppend makes an append that must succeed.
func (c *cluster) mustAppend(table lake.TableName, rows int) *lakepb.AppendResult {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	r, err := c.append(ctx, newOperation(c.t, table, rows))
	require.NoError(c.t, err)
	return r
}

// retry sends the operation to whoever answers, as its client would.
func (c *cluster) retry(o *operation) *lakepb.AppendResult {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	r, err := c.append(ctx, o)
	require.NoError(c.t, err)
	return r
}

// TestKilledInWindow kills the leader in each window. Whoever comes next, the
// other member or the same one started again, must give the client that tries
// again the one version that its rows are in.
func TestKilledInWindow(t *testing.T) {
	for _, b := range backends {
		for _, w := range windows {
			t.Run(string(b)+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				c := newCluster(t, b, w.config)
				c.startAll()
				table := c.create("t")
				stop := c.watch(table)
				before := c.mustAppend(table, 3)
				o := newOperation(t, table, 5)
				leader, got := c.inWindow(w.at, o)
				leader.kill()
				killed := time.Now()
				require.True(t, mayHaveApplied((<-got).err), "the client cannot know")
				c.succeed(leader, killed)
				again := c.retry(o)
				require.Equal(t, w.durable, again.GetReplayed())
				require.Equal(t, before.GetVersion()+1, again.GetVersion())
				require.Equal(t, again.GetVersion()+1, c.mustAppend(table, 2).GetVersion())
				stop()
				c.check(table)
			})
		}
	}
}

// succeed waits for the successor of a leader that was killed: on Pebble the
// same member started again, at once; on Postgres the other one, not before the
// lease is over and not long after.
func (c *cluster) succeed(leader *process, killed time.Time) {
	c.t.Helper()
	if c.backend == onPebble {
		c.start(leader.name).leading(c.t)
		return
	}
	was := c.lease()
	require.Equal(c.t, leader.name, was.member())
	next := c.leader()
	c.checkBound(was, next, killed)
}

// checkBound checks when the lease was taken over.
func (c *cluster) checkBound(was leaseRecord, next *process, killed time.Time) {
	c.t.Helper()
	now := c.lease()
	require.Equal(c.t, was.Epoch+1, now.Epoch)
	require.Equal(c.t, next.name, now.member())
	since := ask(next, func(r *reported) time.Time { return r.since })
	l := c.config.Lease
	// The record's times are cut to milliseconds.
	require.False(c.t, since.Before(was.Deadline.Add(l.Skew-time.Millisecond)), "taken over %s before the lease was over", was.Deadline.Add(l.Skew).Sub(since))
	const busy = 3 * time.Second // of a machine that runs other tests
	require.Less(c.t, since.Sub(killed), l.TTL+l.Skew+2*l.Poll+busy, "nobody took over for long")
}

// TestPausedInWindow stops the leader's process in each window for longer than
// its lease. Meanwhile the other member takes over and answers the client's
// retry. Then the old leader goes on where it was: it must not be able to
// publish anything, and must know at once that it does not lead.
func TestPausedInWindow(t *testing.T) {
	for _, w := range windows {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, onPostgres, w.config)
			c.startAll()
			table := c.create("t")
			stop := c.watch(table)
			before := c.mustAppend(table, 3)
			o := newOperation(t, table, 5)
			stale, got := c.inWindow(w.at, o)
			stale.pause(t)
			next := c.usurp(stale)
			again := c.retry(o)
			require.Equal(t, w.durable, again.GetReplayed())
			require.Equal(t, before.GetVersion()+1, again.GetVersion())
			newest := c.mustAppend(table, 2)

			advanced := stale.commits(advanceCommit + " ok")
			stale.resume(t)
			c.checkDethroned(stale, table)
			stale.release(w.at)
			c.checkStaleAnswer(<-got, again, w.durable)
			if w.at == manifestStaged {
				stale.await(t, "is fenced", func(r *reported) bool { return r.conflicts(advanceCommit) > 0 })
			}
			require.Equal(t, advanced, stale.commits(advanceCommit+" ok"), "the stale leader published a version")
			require.Equal(t, newest.GetVersion()+2, c.mustAppend(table, 1).GetVersion(), "the one refused above came next")
			require.True(t, next.alive())
			stop()
			c.check(table)
		})
	}
}

// TestFencedAlone: when nothing but the lease has changed hands, it is the fence
// alone that keeps the old leader's staged version out.
func TestFencedAlone(t *testing.T) {
	t.Parallel()
	c := newCluster(t, onPostgres)
	c.startAll()
	table := c.create("t")
	before := c.mustAppend(table, 3)
	o := newOperation(t, table, 5)
	stale, got := c.inWindow(manifestStaged, o)
	stale.pause(t)
	c.usurp(stale)
	stale.resume(t)
	stale.release(manifestStaged)
	a := <-got
	require.Error(t, a.err)
	require.Contains(t, []lake.Kind{lake.Unavailable, lake.Undetermined, lake.Fenced}, lake.KindOf(a.err), "%v", a.err)
	stale.await(t, "is fenced", func(r *reported) bool { return r.conflicts(advanceCommit) > 0 })
	c.audit([]lake.TableName{table})
	again := c.retry(o)
	require.False(t, again.GetReplayed())
	require.Equal(t, before.GetVersion()+1, again.GetVersion())
	c.check(table)
}

// usurp waits until the other member has taken over from a paused one.
func (c *cluster) usurp(stale *process) *process {
	c.t.Helper()
	was, paused := c.lease(), time.Now()
	require.Equal(c.t, stale.name, was.member())
	for _, p := range c.running() {
		if p != stale {
			p.leading(c.t)
			c.checkBound(was, p, paused)
			return p
		}
	}
	require.FailNow(c.t, "there is no other member")
	return nil
}

// checkDethroned sends an append to a resumed leader that was replaced. Its
// clock tells it at once that its lease is over, before it has heard of its
// successor: it must refuse, or pass the append on.
func (c *cluster) checkDethroned(stale *process, table lake.TableName) {
	c.t.Helper()
	advanced := stale.commits(advanceCommit + " ok")
	o := newOperation(c.t, table, 1)
	c.ledger.open(o)
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	result, err := stale.put(ctx, o)
	if err == nil {
		c.ledger.ack(o, result)
	} else {
		require.Contains(c.t, []lake.Kind{lake.Unavailable, lake.Undetermined, lake.Fenced}, lake.KindOf(err), "%v", err)
	}
	require.Equal(c.t, advanced, stale.commits(advanceCommit+" ok"), "it wrote without a lease")
	c.retry(o)
}

// checkStaleAnswer checks what the stale leader tells the client that waited
// all the time: that it cannot say, or, when the append had been committed, the
// same version that the retry was told.
func (c *cluster) checkStaleAnswer(got answer, again *lakepb.AppendResult, durable bool) {
	c.t.Helper()
	if got.err == nil {
		require.Equal(c.t, again.GetVersion(), got.result.GetVersion())
		return
	}
	require.False(c.t, durable, "a committed append: %v", got.err)
	require.Contains(c.t, []lake.Kind{lake.Unavailable, lake.Undetermined, lake.Fenced}, lake.KindOf(got.err), "%v", got.err)
}

// TestPausedAlone stops the only member of an embedded metastore in each window
// for longer than its lease. Nobody can take its place, so it goes on, its
// clients get their answers and its renewals continue.
func TestPausedAlone(t *testing.T) {
	for _, w := range windows {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, onPebble, w.config)
			c.startAll()
			table := c.create("t")
			before := c.mustAppend(table, 3)
			o := newOperation(t, table, 5)
			only, got := c.inWindow(w.at, o)
			only.pause(t)
			c.checkLocked()
			time.Sleep(c.config.Lease.TTL + c.config.Lease.Skew)
			only.resume(t)
			only.release(w.at)
			a := <-got
			require.NoError(t, a.err)
			require.Equal(t, before.GetVersion()+1, a.result.GetVersion())
			require.Equal(t, a.result.GetVersion()+1, c.mustAppend(table, 2).GetVersion())
			renewals := only.commits(renewCommit + " ok")
			only.await(t, "renews", func(r *reported) bool { return r.commits[renewCommit+" ok"] > renewals })
			require.Zero(t, only.conflicts(advanceCommit))
			require.Zero(t, only.conflicts(renewCommit))
			c.check(table)
		})
	}
}

// checkLocked starts a second process on the embedded metastore, which must
// end and name the directory.
func (c *cluster) checkLocked() {
	c.t.Helper()
	cfg := c.config
	cfg.Name = "intruder"
	p := spawn(c.t, cfg)
	select {
	case <-p.exited:
	case <-time.After(patience):
		require.FailNow(c.t, "a second process has the metastore open")
	}
	require.True(c.t, strings.Contains(p.stderr.String(), "in use"), p.stderr.String())
}
