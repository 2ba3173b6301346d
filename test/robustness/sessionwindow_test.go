// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
)

// behind is how many appends follow the one in the window in its session.
const behind = 12

// crowd brings the leader to a point in the middle of the append o, as inWindow
// does, and then sends more appends in the same session. What becomes of those
// before the leader is harmed is left open: they may be staged, wait for the
// version of the first, or for a place.
func (c *cluster) crowd(at point, o *operation) (leader *process, got <-chan answer, others []*operation, answers []<-chan answer) {
	c.t.Helper()
	leader, got = c.inWindow(at, o)
	for i := range behind {
		other := newOperation(c.t, o.command.Table, 1+i)
		c.ledger.open(other)
		others, answers = append(others, other), append(answers, c.send(leader, other))
	}
	return leader, got, others, answers
}

// retryAll sends the operations to whoever answers, all at once.
func (c *cluster) retryAll(ops []*operation) {
	c.t.Helper()
	var running sync.WaitGroup
	for _, o := range ops {
		running.Go(func() { c.retry(o) })
	}
	running.Wait()
}

func always() bool { return true }

// TestSessionKilledInWindow kills the leader in each window while a session has
// many appends under way. Its clients learn of the end only, send all of them
// again, in sessions, and each is there once.
func TestSessionKilledInWindow(t *testing.T) {
	for _, b := range backends {
		for _, w := range windows {
			t.Run(string(b)+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				c := newCluster(t, b, w.config)
				c.inSessions = always
				c.startAll()
				table := c.create("t")
				stop := c.watch(table)
				c.mustAppend(table, 3)
				o := newOperation(t, table, 5)
				leader, got, others, answers := c.crowd(w.at, o)
				leader.kill()
				for _, a := range append(answers, got) {
					if a := <-a; a.err != nil {
						require.True(t, mayHaveApplied(a.err), "the client cannot know: %v", a.err)
					}
				}
				if b == onPebble {
					c.start(leader.name).leading(t)
				}
				again := c.retry(o)
				require.Equal(t, w.durable, again.GetReplayed())
				c.retryAll(others)
				stop()
				c.check(table)
			})
		}
	}
}

// TestSessionPausedInWindow stops the leader's process in each window while a
// session has many appends under way, for longer than its lease, and lets it go
// on: it applies none of them, and tells of none what is not so.
func TestSessionPausedInWindow(t *testing.T) {
	for _, w := range windows {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, onPostgres, w.config)
			c.inSessions = always
			c.startAll()
			table := c.create("t")
			stop := c.watch(table)
			c.mustAppend(table, 3)
			o := newOperation(t, table, 5)
			stale, got, others, answers := c.crowd(w.at, o)
			stale.pause(t)
			// The retries meet the paused member too, and giving up there would end
			// the session.
			c.inSessions = nil
			c.usurp(stale)
			again := c.retry(o)
			require.Equal(t, w.durable, again.GetReplayed())
			advanced := stale.commits(advanceCommit + " ok")
			stale.resume(t)
			stale.release(w.at)
			c.checkStaleAnswer(<-got, again, w.durable)
			for _, a := range answers {
				if a := <-a; a.err != nil {
					require.Contains(t, []lake.Kind{lake.Unavailable, lake.Undetermined, lake.Fenced, lake.Exhausted}, lake.KindOf(a.err), "%v", a.err)
				}
			}
			require.Equal(t, advanced, stale.commits(advanceCommit+" ok"), "the stale leader published a version")
			c.inSessions = always
			c.retryAll(others)
			stop()
			c.check(table)
		})
	}
}
